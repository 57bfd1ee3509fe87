// Threads put messages into a table by a hash. Wrong: a slot is not claimed in one step.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"
#define SIZE 4

static int table[SIZE], placed[SIZE + 1];

static int claim(int slot, int message) {
    int mine = 0;
#ifdef WRONG
    if (table[slot] == 0) table[slot] = message, mine = 1;
#else
    __VERIFIER_atomic_begin();
    if (table[slot] == 0) table[slot] = message, mine = 1;
    __VERIFIER_atomic_end();
#endif
    return mine;
}
static void *insert(void *p) {
    int message = (int)(long)p + 1;
    for (int slot = 1;; slot = (slot + 1) % SIZE)
        if (claim(slot, message)) break;
    placed[message] = 1;
    return p;
}

int main(void) {
    TOGETHER(2, insert);
    for (int message = 1; message <= 2; message++) {
        int found = 0;
        for (int slot = 0; slot < SIZE; slot++) found += table[slot] == message;
        assert(placed[message] && found == 1);
    }
}
