/* expected: safety failure */
/* Both processes see that the flag is down before one of them raises it. */

bool flag = false;
byte inside = 0;

active [2] proctype p() {
  !flag;
  flag = true;
  inside++;
  assert(inside == 1);
  inside--;
  flag = false
}
