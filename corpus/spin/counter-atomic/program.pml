/* expected: safety verified */
/* Each addition is one step, so none is lost. */

int x = 0, done = 0;

active [2] proctype adder() { x = x + 1; done++ }

active proctype monitor() { done == 2; assert(x == 2) }
