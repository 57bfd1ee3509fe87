/* expected: safety deadlock */
/* Each process holds one lock and waits for the other. */

byte a = 0, b = 0;
#define acquire(m) atomic { m == 0; m = 1 }
#define release(m) m = 0

active proctype first() { acquire(a); acquire(b); release(b); release(a) }
active proctype second() { acquire(b); acquire(a); release(a); release(b) }
