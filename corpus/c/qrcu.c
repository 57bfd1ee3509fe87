// Quick read-copy-update: an updater waits for the earlier readers. Wrong: it does not wait.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"

enum { OUTSIDE, READING, GONE };
static int current, counters[2] = {1, 0}, progress;
MUTEX(mutex);

static void *reader(void *p) {
    int mine = current;
    __VERIFIER_atomic_begin();
    __VERIFIER_assume(counters[mine] > 0);
    counters[mine]++;
    __VERIFIER_atomic_end();
    progress = READING;
    progress = GONE;
    ATOMIC(counters[mine]--);
    return p;
}
static void *updater(void *p) {
    LOCK(mutex);
    int before = progress, old = current;
    ATOMIC(counters[1 - old]++);
    current = 1 - old;
    ATOMIC(counters[old]--);
#ifndef WRONG
    while (counters[old] > 0) ;
#endif
    assert(!(before == READING && progress == READING));
    UNLOCK(mutex);
    return p;
}

int main(void) { TOGETHER(2, reader, updater); }
