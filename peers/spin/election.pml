/* N nodes in a ring pass on the greatest number that they have seen; the node with that number is
   the leader. A send and a receive are steps; what a node computes is a part of the receive. */
chan link[N] = [1] of { byte };
byte leaders = 0;

active [N] proctype node() {
  byte most = _pid, seen = 0, round = 1;
  do
  :: round < N ->
    link[(_pid + 1) % N] ! most;
    atomic {
      link[_pid] ? seen;
      if
      :: seen > most -> most = seen
      :: else
      fi;
      seen = 0;
      round++
    }
  :: else -> break
  od;
  if
  :: most == _pid -> atomic { leaders++; assert(leaders <= 1) }
  :: else
  fi
}
