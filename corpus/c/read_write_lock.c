// Readers and a writer exclude each other by two counters. Wrong: the writer ignores the readers.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"

static int writes, reads, x, y;

static void *writer(void *p) {
    __VERIFIER_atomic_begin();
#ifdef WRONG
    __VERIFIER_assume(writes == 0);
#else
    __VERIFIER_assume(writes == 0 && reads == 0);
#endif
    writes = 1;
    __VERIFIER_atomic_end();
    x = 3;
    ATOMIC(writes = 0);
    return p;
}
static void *reader(void *p) {
    __VERIFIER_atomic_begin();
    __VERIFIER_assume(writes == 0);
    reads++;
    __VERIFIER_atomic_end();
    int seen = x;
    y = seen;
    assert(y == x);
    ATOMIC(reads--);
    return p;
}

int main(void) { TOGETHER(2, writer, reader); }
