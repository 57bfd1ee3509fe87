/* expected: safety verified */
/* expected: fair answer violated */
/* The lock is free again and again, and each time the first process takes it: the second one */
/* is not ready all the time, so weak fairness does not help it. */

byte m = 0;
bool waits = false, served = false;
ltl answer { [] (waits -> <> served) }

active proctype greedy() { do :: atomic { m == 0; m = 1 }; m = 0 od }
active proctype modest() {
  waits = true;
  atomic { m == 0; m = 1 };
  served = true;
  m = 0
}
