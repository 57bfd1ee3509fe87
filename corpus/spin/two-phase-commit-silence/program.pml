/* expected: safety failure */
/* The coordinator takes silence for consent. */

#define BUG 1
#define N 2
#define WORKING 0
#define PREPARED 1
#define COMMITTED 2
#define ABORTED 3
#define OPEN 0
#define COMMIT 1
#define ABORT 2
#define agree() assert(!(state[0] == COMMITTED && state[1] == ABORTED) && !(state[0] == ABORTED && state[1] == COMMITTED))

byte state[N];
bool crashed[N];
byte decision = OPEN;
byte ended = 0;

inline end() {
  atomic {
    ended++;
    if
    :: ended == N + 1 -> assert(state[0] >= COMMITTED && state[1] >= COMMITTED)
    :: else
    fi
  }
}

active proctype coordinator() {
  (state[0] != WORKING || crashed[0]) && (state[1] != WORKING || crashed[1]);
  atomic {
    if
    :: BUG == 0 ->
      if
      :: state[0] == PREPARED && state[1] == PREPARED -> decision = COMMIT
      :: else -> decision = ABORT
      fi
    :: else ->
      if
      :: state[0] == ABORTED || state[1] == ABORTED -> decision = ABORT
      :: else -> decision = COMMIT
      fi
    fi
  };
  end()
}

active [N] proctype participant() {
  byte me = _pid - 1;
  if
  :: atomic { state[me] = PREPARED; agree() };
    decision != OPEN;
    atomic {
      if
      :: decision == COMMIT -> state[me] = COMMITTED
      :: else -> state[me] = ABORTED
      fi;
      agree()
    }
  :: atomic { state[me] = ABORTED; agree() }
  :: crashed[me] = true;
    atomic { state[me] = ABORTED; agree() }
  fi;
  end()
}
