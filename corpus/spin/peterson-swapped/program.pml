/* expected: safety failure */
/* The turn is given away first: process 1 gives it to 0, process 0 gives it to 1, says that it */
/* wants to enter and enters, because process 1 has not said so; then process 1 says so and */
/* enters, because it is its turn. */

bool want[2];
byte turn = 0, inside = 0;

active [2] proctype p() {
  byte me = _pid;
  turn = 1 - me;
  want[me] = true;
  (!want[1 - me] || turn == me);
  inside++;
  assert(inside == 1);
  inside--;
  want[me] = false
}
