// A cell is allocated once; the last write is X. Wrong: X and Y are written at the same time.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"

static char *cell;

static void *make(void *p) { cell = malloc(1); return p; }
static void *write_x(void *p) { *cell = 'X'; return p; }
static void *write_y(void *p) { *cell = 'Y'; return p; }

static void *all(void *p) {
    TOGETHER(1, make);
#ifdef WRONG
    TOGETHER(3, write_x, write_y, write_x);
#else
    TOGETHER(2, write_x, write_y);
    TOGETHER(1, write_x);
#endif
    return p;
}

int main(void) {
    TOGETHER(1, all);
    assert(*cell == 'X');
    free(cell);
}
