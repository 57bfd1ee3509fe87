/* expected: safety failure */
/* A node is linked by a store, and a node that another process has linked is lost. */

#define BUG 1
#define NIL 0
#define FIRST 1

byte next[4];
byte head = FIRST, tail = FIRST;
byte got[4];
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

inline end() {
  atomic {
    ended++;
    if
    :: ended == 4 -> assert(next[FIRST] != NIL && next[next[FIRST]] != NIL)
    :: else
    fi
  }
}

active [2] proctype enqueue() {
  byte node = 2 + _pid;
  byte last, after;
  bool linked, ignored;
  do
  :: last = tail;
    after = next[last];
    if
    :: after != NIL -> exchange(tail, last, after, ignored)
    :: else ->
      linked = true;
      if
      :: BUG == 0 -> exchange(next[last], NIL, node, linked)
      :: else -> next[last] = node
      fi;
      if
      :: linked -> exchange(tail, last, node, ignored); break
      :: else
      fi
    fi
  od;
  end()
}

active [2] proctype dequeue() {
  byte first, last, after;
  bool taken, ignored;
  do
  :: first = head;
    last = tail;
    after = next[first];
    if
    :: after == NIL -> break
    :: after != NIL && first == last -> exchange(tail, last, after, ignored)
    :: else ->
      exchange(head, first, after, taken);
      if
      :: taken ->
        got[after] = got[after] + 1;
        assert(got[after] == 1);
        break
      :: else
      fi
    fi
  od;
  end()
}
