// A spin lock by exchange. Wrong: a thread enters even if the lock is held.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"

static int lock, x = 1;

static void acquire(void) {
    for (;;) {
        int old;
        __VERIFIER_atomic_begin();
        old = lock;
        lock = 1;
        __VERIFIER_atomic_end();
        if (old == 0) return;
#ifdef WRONG
        return;
#endif
    }
}
static void *swing(void *p) {
    acquire();
    x = 0;
    x = 1;
    assert(x >= 1);
    lock = 0;
    return p;
}

int main(void) { TOGETHER(2, swing); }
