/* expected: safety deadlock */
/* Closing the pool wakes one worker, and the others sleep for ever. */

#define BUG 1
#define WORKERS 2
#define TASKS 2
#define acquire(m) atomic { m == 0; m = 1 }
#define release(m) m = 0
#define wait(c) atomic { m = 0; c = true }; atomic { !c && m == 0; m = 1 }

byte m = 0;
bool waits[WORKERS];
byte pending = 0, next = 0;
bool closed = false;
byte done[TASKS];
byte ended = 0;

inline signal() {
  atomic {
    if
    :: waits[0] -> waits[0] = false
    :: waits[1] -> waits[1] = false
    :: else
    fi
  }
}

inline end() {
  atomic {
    ended++;
    if
    :: ended == WORKERS + 1 -> assert(done[0] == 1 && done[1] == 1)
    :: else
    fi
  }
}

active proctype submitter() {
  byte task;
  for (task : 0 .. TASKS - 1) {
    acquire(m);
    pending++;
    signal();
    release(m)
  }
  acquire(m);
  closed = true;
  if
  :: BUG == 0 -> atomic { waits[0] = false; waits[1] = false }
  :: else -> signal()
  fi;
  release(m);
  end()
}

active [WORKERS] proctype worker() {
  byte me = _pid - 1;
  byte task;
  do
  :: acquire(m);
    do
    :: pending == 0 && !closed -> wait(waits[me])
    :: else -> break
    od;
    if
    :: pending == 0 -> release(m); break
    :: else ->
      task = next;
      atomic { pending--; next++ };
      release(m);
      done[task] = done[task] + 1
    fi
  od;
  end()
}
