// Threads count up and down by compare-and-exchange. Wrong: the counter may become negative.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"

static int value;

static int change(int by) {
    for (;;) {
        int seen = value;
#ifndef WRONG
        if (by < 0 && seen == 0) return 0;
#endif
        int done = 0;
        __VERIFIER_atomic_begin();
        if (value == seen) value = seen + by, done = 1;
        __VERIFIER_atomic_end();
        if (done) return seen + by;
    }
}
static void *up(void *p) { assert(change(1) > 0); return p; }
static void *down(void *p) { assert(change(-1) >= 0); return p; }

int main(void) { TOGETHER(3, up, down, down); }
