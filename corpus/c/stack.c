// A stack behind a lock. Wrong: the check for an empty stack comes before the lock is taken.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"

MUTEX(mutex);
static int top, items[4];

static void *push(void *p) {
    for (int k = 0; k < 2; k++) {
        LOCK(mutex);
        items[top++] = k;
        UNLOCK(mutex);
    }
    return p;
}
static void *pop(void *p) {
#ifdef WRONG
    if (top > 0) {
        LOCK(mutex);
        assert(top > 0);
        top--;
        UNLOCK(mutex);
    }
#else
    LOCK(mutex);
    if (top > 0) {
        assert(top > 0);
        top--;
    }
    UNLOCK(mutex);
#endif
    return p;
}

int main(void) { TOGETHER(3, push, pop, pop); }
