// Two threads add each other's number to their own. Wrong: the asserted maximum is too small.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"
#define ROUNDS 3

static int i = 1, j = 1;

static void *one(void *p) {
    for (int k = 0; k < ROUNDS; k++) i += j;
    return p;
}
static void *other(void *p) {
    for (int k = 0; k < ROUNDS; k++) j += i;
    return p;
}

int main(void) {
#ifdef WRONG
    const int most = 20;
#else
    const int most = 21;
#endif
    TOGETHER(2, one, other);
    assert(i <= most && j <= most);
}
