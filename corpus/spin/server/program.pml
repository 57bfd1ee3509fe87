/* expected: safety verified */
/* expected: fair served holds */
/* A server adds what two clients send, and answers each on a channel of its own. */

chan requests = [1] of { byte, byte };
chan answers[2] = [1] of { byte };
byte total = 0;
ltl served { <> (total == 3) }

active proctype server() {
  byte i, from, value;
  for (i : 0 .. 1) {
    requests ? from, value;
    total = total + value;
    answers[from] ! total
  }
}

active [2] proctype client() {
  byte me = _pid - 1;
  byte seen;
  requests ! me, me + 1;
  answers[me] ? seen;
  assert(seen > me)
}
