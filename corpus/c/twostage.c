// The second of two stages follows the first. Wrong: a reader can come between the stages.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"

MUTEX(first_lock);
MUTEX(second_lock);
static int first, second;

static void *stages(void *p) {
    LOCK(first_lock);
    first = 1;
#ifdef WRONG
    UNLOCK(first_lock);
    LOCK(second_lock);
    second = first + 1;
    UNLOCK(second_lock);
#else
    LOCK(second_lock);
    second = first + 1;
    UNLOCK(second_lock);
    UNLOCK(first_lock);
#endif
    return p;
}
static void *look(void *p) {
    LOCK(first_lock);
    int seen = first;
    UNLOCK(first_lock);
    if (seen == 0) return p;
    LOCK(second_lock);
    assert(second == seen + 1);
    UNLOCK(second_lock);
    return p;
}

int main(void) { TOGETHER(3, stages, stages, look); }
