/* expected: safety verified */
/* expected: fair again holds */
/* expected: fair after violated */
/* The turn alternates for ever, so it is 0 again and again; and it is 1 after each 0, so */
/* it does not stay 0. */

byte turn = 0;
ltl again { [] <> (turn == 0) }
ltl after { [] (turn == 0) }

init { atomic { run p(0); run p(1) } }

proctype p(byte me) { do :: turn == me; turn = 1 - me od }
