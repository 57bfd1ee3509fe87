// Two threads add under a lock; a third checks the sum. Wrong: the asserted maximum is too small.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"

MUTEX(mutex);
static int data;

static void *add_one(void *p) { LOCK(mutex); data++; UNLOCK(mutex); return p; }
static void *add_two(void *p) { LOCK(mutex); data += 2; UNLOCK(mutex); return p; }
static void *look(void *p) {
    LOCK(mutex);
#ifdef WRONG
    assert(data < 3);
#else
    assert(data <= 3);
#endif
    UNLOCK(mutex);
    return p;
}

int main(void) { TOGETHER(3, add_one, add_two, look); }
