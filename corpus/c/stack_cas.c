// A stack of numbers whose top is exchanged. Wrong: the top is written without a check.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"

struct node { struct node *next; };
static struct node nodes[3], *top;

static void *push(void *p) {
    struct node *mine = &nodes[(long)p];
    for (;;) {
        int done = 0;
        mine->next = top;
#ifdef WRONG
        top = mine, done = 1;
#else
        __VERIFIER_atomic_begin();
        if (top == mine->next) top = mine, done = 1;
        __VERIFIER_atomic_end();
#endif
        if (done) break;
    }
    return p;
}

int main(void) {
    int count = 0;
    TOGETHER(3, push);
    for (struct node *at = top; at; at = at->next) count++;
    assert(count == 3);
}
