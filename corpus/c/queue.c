// A queue behind a lock. Wrong: the consumer does not check whether there is an item.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"
#define ROOM 3

MUTEX(mutex);
static int items[ROOM], first, last;

static void put(int item) {
    assert(last < ROOM);
    items[last++] = item;
}
static int take(void) {
    assert(first < last);
    return items[first++];
}

static void *produce(void *p) {
    for (int k = 0; k < ROOM; k++) {
        LOCK(mutex);
        put(10 + k);
        UNLOCK(mutex);
    }
    return p;
}
static void *consume(void *p) {
    for (int k = 0; k < 2; k++) {
        LOCK(mutex);
#ifndef WRONG
        if (first < last)
#endif
            assert(take() == 10 + first - 1);
        UNLOCK(mutex);
    }
    return p;
}

int main(void) { TOGETHER(2, produce, consume); }
