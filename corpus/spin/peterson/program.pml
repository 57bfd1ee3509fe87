/* expected: safety verified */
/* A process enters after it has given the turn away, so of two that want to enter the one that */
/* gave it away first enters. */

bool want[2];
byte turn = 0, inside = 0;

active [2] proctype p() {
  byte me = _pid;
  want[me] = true;
  turn = 1 - me;
  (!want[1 - me] || turn == me);
  inside++;
  assert(inside == 1);
  inside--;
  want[me] = false
}
