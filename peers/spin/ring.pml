/* A token goes round among N stations. A station works on its own before it waits for the token.
   An assignment is a step; to wait for the token and to pass it on is one. */
byte token = 0;
byte work[N];
#define round() work[_pid] = work[_pid] + 1; work[_pid] = 2 * work[_pid]; atomic { token == _pid -> token = (_pid + 1) % N }

active [N] proctype station() {
  round();
  round();
  round()
}
