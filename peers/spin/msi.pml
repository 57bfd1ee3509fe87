/* The MSI protocol for N caches of one line; a transaction on the bus is a step. */

#define BUG 0

#define MODIFIED 0
#define SHARED 1
#define INVALID 2

byte line[N], held[N];
byte memory = 0, latest = 0;
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
      for (i : 0 .. N - 1) {
        if
        :: line[i] == MODIFIED -> memory = held[i]; line[i] = SHARED
        :: else
        fi
      };
      held[me] = memory;
      line[me] = SHARED
    :: else
    fi;
    look()
  };
  atomic {
    for (i : 0 .. N - 1) {
      if
      :: line[i] == MODIFIED -> memory = held[i]; line[i] = INVALID
      :: line[i] == SHARED && BUG == 0 -> line[i] = INVALID
      :: else
      fi
    };
    line[me] = MODIFIED;
    latest = me + 1;
    held[me] = latest;
    look()
  }
}

init {
  atomic {
    for (i : 0 .. N - 1) {
      line[i] = INVALID;
      run cache(i)
    };
    i = 0
  }
}
