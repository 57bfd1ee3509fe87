// Dekker's lock for two. Wrong: a thread checks before it announces that it wants to enter.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"

static int wants[2], turn, inside;

static void *enter(void *p) {
    long me = (long)p, other = 1 - me;
#ifdef WRONG
    while (wants[other]) ;
    wants[me] = 1;
#else
    wants[me] = 1;
    while (wants[other]) {
        if (turn == me) continue;
        wants[me] = 0;
        while (turn != me) ;
        wants[me] = 1;
    }
#endif
    inside = me;
    assert(inside == me);
    turn = other;
    wants[me] = 0;
    return p;
}

int main(void) { TOGETHER(2, enter); }
