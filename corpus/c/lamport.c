// Lamport's fast lock for two. Wrong: a thread enters without checking `x` again.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"

static int x, y, busy[2], inside;

static void *enter(void *p) {
    long me = (long)p;
    int mine = (int)me + 1;
    for (;;) {
        busy[me] = 1;
        x = mine;
        if (y != 0) {
            busy[me] = 0;
            while (y != 0) ;
            continue;
        }
        y = mine;
#ifndef WRONG
        if (x != mine) {
            busy[me] = 0;
            while (busy[1 - me]) ;
            if (y != mine) {
                while (y != 0) ;
                continue;
            }
        }
#endif
        break;
    }
    inside = mine;
    assert(inside == mine);
    y = 0;
    busy[me] = 0;
    return p;
}

int main(void) { TOGETHER(2, enter); }
