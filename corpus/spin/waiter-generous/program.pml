/* expected: safety deadlock */
/* All philosophers are seated, and each may wait for the next philosopher's fork. */

#define N 3
#define BUG 1
#define acquire(m) atomic { m == 0; m = 1 }
#define release(m) m = 0
#define left(i) ((i + N - 1) % N)
#define right(i) ((i + 1) % N)

byte fork[N];
byte seated = 0;
bool eating[N];

active [N] proctype philosopher() {
  byte me = _pid;
  atomic { seated < N - 1 + BUG; seated++ };
  acquire(fork[me]);
  acquire(fork[right(me)]);
  atomic { eating[me] = true; assert(!eating[left(me)] && !eating[right(me)]) };
  eating[me] = false;
  release(fork[right(me)]);
  release(fork[me]);
  seated--
}
