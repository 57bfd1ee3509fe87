// The last of some threads runs the final work. Wrong: two threads find that they are the last.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"

MUTEX(mutex);
static int left = 3, results[3], summed;

static void *work(void *p) {
    results[(long)p] = 1;
    LOCK(mutex);
    left--;
#ifdef WRONG
    UNLOCK(mutex);
    int last = left == 0;
#else
    int last = left == 0;
    UNLOCK(mutex);
#endif
    if (last) {
        ATOMIC(summed++);
        assert(summed == 1 && results[0] + results[1] + results[2] == 3);
    }
    return p;
}

int main(void) {
    TOGETHER(3, work);
    assert(summed == 1);
}
