// A block belongs to a node once it is marked busy. Wrong: the allocator does not lock.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"

MUTEX(node_lock);
MUTEX(busy_lock);
static int block, busy, inode;

static void *allocate(void *p) {
    LOCK(node_lock);
    if (inode == 0) {
#ifndef WRONG
        LOCK(busy_lock);
#endif
        busy = 1;
#ifndef WRONG
        UNLOCK(busy_lock);
#endif
        inode = 1;
    }
    block = 1;
    assert(block == 1);
    UNLOCK(node_lock);
    return p;
}
static void *release(void *p) {
    LOCK(busy_lock);
    if (busy == 0) {
        block = 0;
        assert(block == 0);
    }
    UNLOCK(busy_lock);
    return p;
}

int main(void) { TOGETHER(2, allocate, release); }
