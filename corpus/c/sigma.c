// Each thread counts in its own cell. Wrong: the cells are selected by a shared index.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"
#define THREADS 3

static int cells[THREADS], next;

static void *count(void *p) {
#ifdef WRONG
    cells[next] = 1;
    next++;
#else
    cells[(long)p] = 1;
#endif
    return p;
}

int main(void) {
    int sum = 0;
    TOGETHER(THREADS, count);
    for (int k = 0; k < THREADS; k++) sum += cells[k];
    assert(sum == THREADS);
}
