// A lock by test-and-set. Wrong: the test and the set are two steps.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"

static int taken, inside;

static int test_and_set(void) {
    int old;
#ifdef WRONG
    old = taken;
    taken = 1;
#else
    __VERIFIER_atomic_begin();
    old = taken;
    taken = 1;
    __VERIFIER_atomic_end();
#endif
    return old;
}
static void *enter(void *p) {
    while (test_and_set()) ;
    inside++;
    assert(inside == 1);
    inside--;
    taken = 0;
    return p;
}

int main(void) { TOGETHER(2, enter); }
