/* expected: safety failure */
/* A proposer does not adopt a value that an acceptor reports. */

#define BUG 1
#define PROPOSERS 2
#define ACCEPTORS 3
#define MAJORITY 2
#define NONE 0

byte promised[ACCEPTORS], ballot[ACCEPTORS], value[ACCEPTORS];
byte decided[PROPOSERS];

active [PROPOSERS] proctype proposer() {
  byte me = _pid;
  byte mine = me + 1, wanted = me + 1, heard = 0, promises = 0, votes = 0, a;
  bool arrives;
  for (a : 0 .. ACCEPTORS - 1) {
    if
    :: arrives = false
    :: arrives = true
    fi;
    if
    :: !arrives
    :: arrives -> atomic {
        if
        :: promised[a] < mine ->
          promised[a] = mine;
          promises++;
          if
          :: ballot[a] > heard ->
            heard = ballot[a];
            if
            :: BUG == 0 -> wanted = value[a]
            :: else
            fi
          :: else
          fi
        :: else
        fi
      }
    fi
  }
  if
  :: promises >= MAJORITY ->
    for (a : 0 .. ACCEPTORS - 1) {
      if
      :: arrives = false
      :: arrives = true
      fi;
      if
      :: !arrives
      :: arrives -> atomic {
          if
          :: promised[a] <= mine ->
            promised[a] = mine;
            ballot[a] = mine;
            value[a] = wanted;
            votes++
          :: else
          fi
        }
      fi
    }
    if
    :: votes >= MAJORITY ->
      atomic {
        decided[me] = wanted;
        assert(decided[0] == NONE || decided[1] == NONE || decided[0] == decided[1])
      }
    :: else
    fi
  :: else
  fi
}
