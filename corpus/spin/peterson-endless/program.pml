/* expected: safety verified */
/* expected: fair first_served holds */
/* expected: fair second_served holds */
/* A process that wants to enter is overtaken at most once: the other gives the turn away */
/* before it enters again, and its guard stays open then, so weak fairness is enough. */

bool want[2], critical[2];
byte turn = 0;
ltl first_served { [] (want[0] -> <> critical[0]) }
ltl second_served { [] (want[1] -> <> critical[1]) }

init { atomic { run p(0); run p(1) } }

proctype p(byte me) {
  do
  :: want[me] = true;
     turn = 1 - me;
     (!want[1 - me] || turn == me);
     critical[me] = true;
     assert(!critical[1 - me]);
     critical[me] = false;
     want[me] = false
  od
}
