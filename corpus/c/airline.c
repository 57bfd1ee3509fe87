// Agents sell seats until there are none left. Wrong: checking and selling are two steps.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"

MUTEX(mutex);
static int sold;

static void *sell(void *p) {
    const int seats = 2;
#ifdef WRONG
    if (sold < seats) {
        LOCK(mutex);
        sold++;
        UNLOCK(mutex);
    }
#else
    LOCK(mutex);
    if (sold < seats) sold++;
    UNLOCK(mutex);
#endif
    assert(sold <= seats);
    return p;
}

int main(void) { TOGETHER(3, sell); }
