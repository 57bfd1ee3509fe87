/* expected: safety verified */
/* The second reader that upgrades releases the lock. */

#define N 2
#define BUG 0
#define acquire(m) atomic { m == 0; m = 1 }
#define release(m) m = 0
#define wait(c) atomic { m = 0; c = true }; atomic { !c && m == 0; m = 1 }
#define broadcast() atomic { waits[0] = false; waits[1] = false }
#define alone() assert(!writing || readers == 0)

byte m = 0;
bool waits[N];
byte readers = 0;
bool writing = false, upgrading = false;
byte value = 0;
byte ended = 0;

active [N] proctype client() {
  byte me = _pid;
  byte seen;
  bool finished = false;
  do
  :: finished -> break
  :: else ->
    acquire(m);
    do
    :: writing || upgrading -> wait(waits[me])
    :: else -> break
    od;
    atomic { readers++; alone() };
    release(m);
    seen = value;
    acquire(m);
    if
    :: upgrading && BUG == 0 ->
      atomic { readers--; alone() };
      broadcast();
      release(m)
    :: else ->
      upgrading = true;
      do
      :: readers > 1 -> wait(waits[me])
      :: else -> break
      od;
      atomic { readers = 0; writing = true; upgrading = false; alone() };
      release(m);
      assert(value == seen);
      value = seen + 1;
      acquire(m);
      atomic { writing = false; alone() };
      broadcast();
      release(m);
      finished = true
    fi
  od;
  atomic {
    ended++;
    if
    :: ended == N -> assert(value == N)
    :: else
    fi
  }
}
