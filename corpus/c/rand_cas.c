// Threads draw a seed by compare-and-exchange. Wrong: the next seed is stored without a check.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"

static int seed = 1, drawn[4];

static int step(int from) { return (from * 5 + 3) % 8; }
static void *draw(void *p) {
    int mine;
    for (;;) {
        mine = seed;
        int done = 0;
#ifdef WRONG
        seed = step(mine), done = 1;
#else
        __VERIFIER_atomic_begin();
        if (seed == mine) seed = step(mine), done = 1;
        __VERIFIER_atomic_end();
#endif
        if (done) break;
    }
    drawn[(long)p] = mine;
    return p;
}

int main(void) {
    TOGETHER(2, draw);
    assert(drawn[0] != drawn[1]);
}
