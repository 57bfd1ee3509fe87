// Two numbers are changed under locks. Wrong: the assertion excludes the right result.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"

MUTEX(one);
MUTEX(two);
static int a = 10, b = 10;

static void *grow(void *p) {
    LOCK(one);
    LOCK(two);
    a += 5;
    UNLOCK(two);
    UNLOCK(one);
    LOCK(one);
    b -= 6;
    UNLOCK(one);
    return p;
}
static void *shrink(void *p) {
    LOCK(one);
    a++;
    UNLOCK(one);
    LOCK(one);
    b -= 6;
    UNLOCK(one);
    return p;
}

int main(void) {
    TOGETHER(2, grow, shrink);
#ifdef WRONG
    assert(a != 16 || b != -2);
#else
    assert(a == 16 && b == -2);
#endif
}
