/* expected: safety verified */
/* A writer invalidates all other copies. */

#define BUG 0
#define N 3
#define MODIFIED 0
#define SHARED 1
#define INVALID 2
#define NONE 255

byte line[N], held[N];
byte memory = NONE, latest = NONE;
/* The cache that has modified the line. */
byte owner = NONE;
byte i, modified, shared;

/* What must hold after each transaction on the bus. */
inline look() {
  modified = 0;
  shared = 0;
  for (i : 0 .. N - 1) {
    if
    :: line[i] == MODIFIED -> modified++
    :: line[i] == SHARED -> shared++
    :: else
    fi;
    assert(line[i] == INVALID || held[i] == latest)
  };
  assert(modified <= 1);
  assert(modified == 0 || shared == 0);
  i = 0;
  modified = 0;
  shared = 0
}

proctype cache(byte me) {
  atomic {
    if
    :: line[me] == INVALID ->
      if
      :: owner != NONE -> memory = held[owner]; line[owner] = SHARED; owner = NONE
      :: else
      fi;
      held[me] = memory;
      line[me] = SHARED
    :: else
    fi;
    look()
  };
  atomic {
    if
    :: owner != NONE -> memory = held[owner]
    :: else
    fi;
    for (i : 0 .. N - 1) {
      if
      :: line[i] == MODIFIED -> line[i] = INVALID
      :: line[i] == SHARED && BUG == 0 -> line[i] = INVALID
      :: else
      fi
    };
    line[me] = MODIFIED;
    owner = me;
    latest = me;
    held[me] = me;
    look()
  }
}

init {
  atomic {
    for (i : 0 .. N - 1) {
      line[i] = INVALID;
      held[i] = NONE;
      run cache(i)
    };
    i = 0
  }
}
