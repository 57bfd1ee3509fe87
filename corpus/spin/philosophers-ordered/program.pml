/* expected: safety verified */
/* Philosopher 2 takes the forks in the other order, so all take the fork with the smaller */
/* number first, and no circle of waiting processes can close. */

byte fork[3];
#define acquire(m) atomic { m == 0; m = 1 }
#define release(m) m = 0

active [3] proctype philosopher() {
  byte first = (_pid < 2 -> _pid : 0);
  byte second = (_pid < 2 -> _pid + 1 : 2);
  acquire(fork[first]);
  acquire(fork[second]);
  release(fork[second]);
  release(fork[first])
}
