/* expected: safety failure */
/* Both processes read 0 before one of them writes, and then both write 1. */

int x = 0, done = 0;

active [2] proctype adder() { int t; t = x; x = t + 1; done++ }

active proctype monitor() { done == 2; assert(x == 2) }
