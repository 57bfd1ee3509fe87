/* expected: safety verified */
/* A process that is woken checks the condition again. */

#define N 1
#define CONSUMERS 2
#define BUG 0
#define acquire(m) atomic { m == 0; m = 1 }
#define release(m) m = 0
/* Gives the lock back and waits; once it is woken, takes the lock again. */
#define wait(c) atomic { m = 0; c = true }; atomic { !c && m == 0; m = 1 }

byte m = 0;
bool producer_waits = false;
bool waits[CONSUMERS];
byte queue[N];
byte count = 0;
byte taken[CONSUMERS];
byte ended = 0;

inline end() {
  atomic {
    ended++;
    if
    :: ended == CONSUMERS + 1 -> assert(taken[0] + taken[1] == 3 && count == 0)
    :: else
    fi
  }
}

active proctype producer() {
  byte item;
  for (item : 1 .. 2) {
    acquire(m);
    do
    :: count == N -> wait(producer_waits)
    :: else -> break
    od;
    queue[count] = item;
    count++;
    atomic {
      if
      :: waits[0] -> waits[0] = false
      :: waits[1] -> waits[1] = false
      :: else
      fi
    };
    release(m)
  }
  end()
}

active [CONSUMERS] proctype consumer() {
  byte me = _pid - 1;
  acquire(m);
  do
  :: count == 0 ->
    wait(waits[me]);
    if
    :: BUG == 1 -> break
    :: else
    fi
  :: else -> break
  od;
  assert(count > 0);
  count--;
  taken[me] = queue[count];
  producer_waits = false;
  release(m);
  end()
}
