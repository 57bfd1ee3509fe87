// Peterson's lock for two. Wrong: each thread keeps the turn.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"

static int wants[2], turn, inside;

static void *enter(void *p) {
    long me = (long)p, other = 1 - me;
    wants[me] = 1;
#ifdef WRONG
    turn = me;
#else
    turn = other;
#endif
    while (wants[other] && turn == other) ;
    inside = me;
    assert(inside == me);
    wants[me] = 0;
    return p;
}

int main(void) { TOGETHER(2, enter); }
