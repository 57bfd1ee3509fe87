// Szymanski's lock: a waiting room with a door. Wrong: the last wait is omitted.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"

static int flag[2], inside;

static void *enter(void *p) {
    long me = (long)p, other = 1 - me;
    flag[me] = 1;
    while (flag[other] >= 3) ;
    flag[me] = 3;
    if (flag[other] == 1) {
        flag[me] = 2;
        while (flag[other] != 4) ;
    }
    flag[me] = 4;
#ifndef WRONG
    while (me == 1 && flag[other] >= 2) ;
#endif
    inside = me;
    assert(inside == me);
    while (me == 0 && 2 <= flag[other] && flag[other] <= 3) ;
    flag[me] = 0;
    return p;
}

int main(void) { TOGETHER(2, enter); }
