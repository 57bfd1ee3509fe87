// A barrier made of a counter. Wrong: it lets threads through too early.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"
#ifdef WRONG
#define PARTIES 2
#else
#define PARTIES 3
#endif

static int here, before[3];

static void *meet(void *p) {
    before[(long)p] = 1;
    ATOMIC(here++);
    while (here < PARTIES) ;
    assert(before[0] && before[1] && before[2]);
    return p;
}

int main(void) { TOGETHER(3, meet); }
