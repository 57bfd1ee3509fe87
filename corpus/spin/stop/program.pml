/* expected: safety verified */
/* expected: fair stopped holds */
/* A fair scheduler lets the second process make its one step. */

bool stop = false;
ltl stopped { <> stop }

active proctype spins() { do :: !stop -> skip :: stop -> break od }
active proctype stops() { stop = true }
