// A ticket lock. Wrong: two threads may draw one ticket.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"

static int next, serving, inside;

static int draw(void) {
    int mine;
#ifdef WRONG
    mine = next;
    next = mine + 1;
#else
    __VERIFIER_atomic_begin();
    mine = next++;
    __VERIFIER_atomic_end();
#endif
    return mine;
}
static void *enter(void *p) {
    int mine = draw();
    while (serving != mine) ;
    inside++;
    assert(inside == 1);
    inside--;
    serving++;
    return p;
}

int main(void) { TOGETHER(2, enter); }
