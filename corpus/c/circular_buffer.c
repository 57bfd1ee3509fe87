// A ring of cells; the items come out as they went in. Wrong: the ring has one cell too few.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"
#ifdef WRONG
#define ROOM 2
#else
#define ROOM 4
#endif

MUTEX(mutex);
static int ring[ROOM], in, out;

static void *send(void *p) {
    for (int k = 1; k <= 3; k++) {
        LOCK(mutex);
        ring[in % ROOM] = k;
        in++;
        UNLOCK(mutex);
    }
    return p;
}
static void *receive(void *p) {
    for (int k = 0; k < 2; k++) {
        LOCK(mutex);
        if (out < in) {
            assert(ring[out % ROOM] == out + 1);
            out++;
        }
        UNLOCK(mutex);
    }
    return p;
}

int main(void) { TOGETHER(2, send, receive); }
