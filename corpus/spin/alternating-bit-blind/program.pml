/* expected: safety failure */
/* The program of alternating-bit with a receiver that ignores the bit. */

#define ITEMS 2
#define BUG 1

chan data = [1] of { bit, byte };
chan ack = [1] of { bit };
byte delivered = 0;
bool finished = false;

active proctype sender() {
  bit b = 0;
  bit seen;
  byte item;
  bool acknowledged;
  for (item : 0 .. ITEMS - 1) {
    acknowledged = false;
    do
    :: acknowledged -> break
    :: else ->
      if
      :: atomic { nfull(data) -> data ! b, item }
      :: skip
      fi;
      if
      :: atomic { nempty(ack) -> ack ? seen; acknowledged = (seen == b) }
      :: empty(ack)
      fi
    od;
    b = 1 - b
  }
  finished = true
}

active proctype receiver() {
  bit expect = 0;
  bit b;
  byte item;
  do
  :: finished -> break
  :: !finished ->
    if
    :: atomic { nempty(data) -> data ? b, item };
      if
      :: (b == expect || BUG == 1) ->
        assert(item == delivered);
        delivered++;
        expect = 1 - expect
      :: else
      fi;
      if
      :: atomic { nfull(ack) -> ack ! b }
      :: skip
      fi
    :: empty(data)
    fi
  od
}
