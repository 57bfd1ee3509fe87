// A counter that grows by compare-and-exchange. Wrong: the result of the exchange is ignored.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"

static unsigned value;

static int cas(unsigned *at, unsigned old, unsigned new) {
    int done = 0;
    __VERIFIER_atomic_begin();
    if (*at == old) *at = new, done = 1;
    __VERIFIER_atomic_end();
    return done;
}
static void *increment(void *p) {
    for (;;) {
        unsigned seen = value;
        int done = cas(&value, seen, seen + 1);
#ifdef WRONG
        done = 1;
#endif
        if (done) break;
    }
    return p;
}

int main(void) {
    TOGETHER(3, increment);
    assert(value == 3);
}
