// Threads add one; another reads the sum meanwhile. Wrong: the asserted maximum is too small.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"
#define THREADS 4

static int x;

static void *add(void *p) {
    ATOMIC(x++);
    return p;
}
static void *look(void *p) {
#ifdef WRONG
    assert(x < THREADS);
#else
    assert(x <= THREADS);
#endif
    return p;
}

int main(void) { TOGETHER(THREADS + 1, add, add, add, add, look); }
