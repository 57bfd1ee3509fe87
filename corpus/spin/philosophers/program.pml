/* expected: safety deadlock */
/* Each of three philosophers holds the left fork and waits for the right one. */

byte fork[3];
#define acquire(m) atomic { m == 0; m = 1 }
#define release(m) m = 0

active [3] proctype philosopher() {
  acquire(fork[_pid]);
  acquire(fork[(_pid + 1) % 3]);
  release(fork[(_pid + 1) % 3]);
  release(fork[_pid])
}
