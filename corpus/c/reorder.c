// Two variables are written under a lock. Wrong: without locks, a reader may see one write only.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"

MUTEX(mutex);
static int a, b;
#ifdef WRONG
#undef LOCK
#undef UNLOCK
#define LOCK(m)
#define UNLOCK(m)
#endif

static void *set(void *p) {
    LOCK(mutex);
    a = 1;
    b = -1;
    UNLOCK(mutex);
    return p;
}
static void *look(void *p) {
    LOCK(mutex);
    assert((a == 0 && b == 0) || (a == 1 && b == -1));
    UNLOCK(mutex);
    return p;
}

int main(void) { TOGETHER(3, set, look, set); }
