// Threads compute the greatest of some numbers. Wrong: they compare and store in separate steps.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"

static int numbers[4], greatest;

static void *look(void *p) {
    for (long k = 0; k < 2; k++) {
        int mine = numbers[2 * (long)p + k];
#ifdef WRONG
        if (mine > greatest) greatest = mine;
#else
        __VERIFIER_atomic_begin();
        if (mine > greatest) greatest = mine;
        __VERIFIER_atomic_end();
#endif
    }
    return p;
}

int main(void) {
    for (int k = 0; k < 4; k++) {
        numbers[k] = __VERIFIER_nondet_int();
        __VERIFIER_assume(0 <= numbers[k] && numbers[k] <= 1 + k % 2);
    }
    TOGETHER(2, look);
    for (int k = 0; k < 4; k++) assert(numbers[k] <= greatest);
}
