/* expected: safety failure */
/* A customer does not wait for another that is still choosing, so both may be served together. */

#define N 2
#define BUG 1
#define first(a, i, b, j) (a < b || (a == b && i < j))

bool choosing[N];
byte ticket[N];
byte served = 0;

active [N] proctype customer() {
  byte me = _pid;
  byte most;
  byte j = 0;
  choosing[me] = true;
  most = (ticket[0] > ticket[1] -> ticket[0] : ticket[1]);
  ticket[me] = most + 1;
  choosing[me] = false;
  do
  :: j < N ->
    (BUG == 1 || !choosing[j]);
    (ticket[j] == 0 || j == me || first(ticket[me], me, ticket[j], j));
    j++
  :: else -> break
  od;
  atomic { served++; assert(served <= 1) };
  served--;
  ticket[me] = 0
}
