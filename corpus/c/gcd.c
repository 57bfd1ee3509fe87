// Two threads subtract the lesser number from the greater. They need no lock: at any time, only one
// of them can subtract. Wrong: equal numbers are subtracted, too.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"
#ifdef WRONG
#define GREATER >=
#else
#define GREATER >
#endif

static int a = 6, b = 4;

static void *shrink_a(void *p) {
    for (int k = 0; k < 3; k++)
        if (a GREATER b) a -= b;
    return p;
}
static void *shrink_b(void *p) {
    for (int k = 0; k < 3; k++)
        if (b GREATER a) b -= a;
    return p;
}

int main(void) {
    TOGETHER(2, shrink_a, shrink_b);
    assert(a > 0 && b > 0 && a % 2 == 0 && b % 2 == 0);
}
