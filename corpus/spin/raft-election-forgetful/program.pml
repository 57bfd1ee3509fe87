/* expected: safety failure */
/* A server forgets its vote in this term. */

#define BUG 1
#define N 3
#define MAJORITY 2
#define NONE 255
#define FOLLOWER 0
#define CANDIDATE 1
#define LEADER 2

byte role[N], term[N], vote[N];
byte leaders[N + 1];

proctype candidate(byte me) {
  byte votes = 1, mine = 0, step = 1, other = 0;
  bool arrives;
  atomic { mine = term[me] + 1; role[me] = CANDIDATE; term[me] = mine; vote[me] = me };
  do
  :: step == N -> break
  :: else ->
    other = (me + step) % N;
    if
    :: arrives = false
    :: arrives = true
    fi;
    if
    :: !arrives
    :: arrives -> atomic {
        if
        :: mine > term[other] -> role[other] = FOLLOWER; term[other] = mine; vote[other] = NONE
        :: else
        fi;
        if
        :: mine == term[other] && vote[other] == NONE ->
          votes++;
          if
          :: BUG == 0 -> vote[other] = me
          :: else
          fi
        :: else
        fi
      }
    fi;
    step++
  od;
  atomic {
    if
    :: votes >= MAJORITY && term[me] == mine && role[me] == CANDIDATE ->
      role[me] = LEADER;
      leaders[mine]++;
      assert(leaders[mine] <= 1)
    :: else
    fi
  }
}

init {
  atomic {
    vote[0] = NONE;
    vote[1] = NONE;
    vote[2] = NONE;
    run candidate(0);
    run candidate(1);
    run candidate(2)
  }
}
