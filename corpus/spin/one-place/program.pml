/* expected: safety verified */
/* expected: fair delivered holds */
/* A place is filled only when it is empty and emptied only when it is full, so the values come */
/* in order, and both processes end. */

byte place = 0, got = 0;
bool filled = false;
ltl delivered { <> (got == 3) }

active proctype producer() {
  byte i;
  for (i : 1 .. 3) { !filled; place = i; filled = true }
}

active proctype consumer() {
  byte i;
  for (i : 1 .. 3) { filled; assert(place == i); got = place; filled = false }
}
