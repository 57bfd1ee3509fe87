/* expected: safety failure */
/* The owner takes the last item without checking whether it was stolen. */

#define BUG 1
#define ITEMS 2
#define THIEVES 2

short top = 0, bottom = ITEMS;
byte taken[ITEMS];
byte ended = 0;

inline exchange(place, old, new, done) {
  atomic {
    done = (place == old);
    if
    :: done -> place = new
    :: else
    fi
  }
}

inline take(item) {
  atomic { taken[item] = taken[item] + 1; assert(taken[item] == 1) }
}

inline end() {
  atomic {
    ended++;
    if
    :: ended == THIEVES + 1 -> assert(taken[0] == 1 && taken[1] == 1)
    :: else
    fi
  }
}

active proctype owner() {
  short b, t;
  bool last;
  do
  :: b = bottom - 1;
    bottom = b;
    t = top;
    if
    :: t < b -> take(b)
    :: else ->
      last = (t == b);
      if
      :: last && BUG == 0 -> exchange(top, t, t + 1, last)
      :: else
      fi;
      if
      :: last -> take(b)
      :: else
      fi;
      bottom = b + 1;
      break
    fi
  od;
  end()
}

active [THIEVES] proctype thief() {
  short t, b;
  bool mine;
  t = top;
  b = bottom;
  if
  :: t < b ->
    exchange(top, t, t + 1, mine);
    if
    :: mine -> take(t)
    :: else
    fi
  :: else
  fi;
  end()
}
