/* expected: safety verified */
/* Two permits are taken and given back, each in one step, so no more than two of the three */
/* processes are inside. */

byte permits = 2, inside = 0;

active [3] proctype p() {
  atomic { permits > 0; permits = permits - 1 };
  inside++;
  assert(inside <= 2);
  inside--;
  permits = permits + 1
}
