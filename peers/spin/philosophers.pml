/* Two meals of N philosophers, who take the left fork first. To take or put down a fork is a step. */
byte fork[N];
#define acquire(m) atomic { m == 0; m = 1 }
#define release(m) m = 0
#define meal() acquire(fork[_pid]); acquire(fork[(_pid + 1) % N]); release(fork[(_pid + 1) % N]); release(fork[_pid])

active [N] proctype philosopher() {
  meal();
  meal()
}
