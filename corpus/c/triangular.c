// Two threads set their number to one more than the other's. Wrong: the asserted limit is too low.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"
#define ROUNDS 3

static int i = 3, j = 6;

static void *one(void *p) {
    for (int k = 0; k < ROUNDS; k++) i = j + 1;
    return p;
}
static void *other(void *p) {
    for (int k = 0; k < ROUNDS; k++) j = i + 1;
    return p;
}
static void *look(void *p) {
#ifdef WRONG
    const int limit = 6 + 2 * ROUNDS - 2;
#else
    const int limit = 6 + 2 * ROUNDS - 1;
#endif
    assert(i <= limit);
    return p;
}

int main(void) { TOGETHER(3, one, other, look); }
