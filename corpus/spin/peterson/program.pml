/* expected: safety verified */
/* A process enters after it has given the turn away. If both want to enter, the process that has */
/* given the turn away first enters first. */

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
