// A device is used only while it is locked. Wrong: a thread unlocks the device while it uses it.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"

static int uses, locked, flag1, flag2;

static void *open_device(void *p) {
    int taken = 0;
    __VERIFIER_atomic_begin();
    if (uses == 0 && locked == 0) locked = 1, taken = 1;
    __VERIFIER_atomic_end();
    if (!taken) return p;
    uses = 1;
    flag1 = 1;
#ifdef WRONG
    locked = 0;
#endif
    assert(locked == 1);
    flag2 = flag1;
    uses = 0;
    locked = 0;
    return p;
}

int main(void) {
    TOGETHER(3, open_device);
    assert(uses == 0 && flag2 <= 1);
}
