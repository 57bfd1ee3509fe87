// Two threads take two locks. Wrong: they take them in opposite orders.
// case: verified
// case: -DWRONG violated deadlock
#include "task.h"

MUTEX(one);
MUTEX(two);
static int x;

static void *up(void *p) {
    LOCK(one);
    LOCK(two);
    x++;
    UNLOCK(two);
    UNLOCK(one);
    return p;
}
static void *down(void *p) {
#ifdef WRONG
    LOCK(two);
    LOCK(one);
#else
    LOCK(one);
    LOCK(two);
#endif
    x--;
    UNLOCK(one);
    UNLOCK(two);
    return p;
}

int main(void) {
    TOGETHER(2, up, down);
    assert(x == 0);
}
