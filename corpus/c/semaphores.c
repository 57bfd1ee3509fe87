// Two semaphores let two threads take turns. Wrong: both start with a permit.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"

static sem_t ping, pong;
static int turns;

static void *even(void *p) {
    for (int k = 0; k < 2; k++) {
        sem_wait(&ping);
        assert(turns % 2 == 0);
        turns++;
        sem_post(&pong);
    }
    return p;
}
static void *odd(void *p) {
    for (int k = 0; k < 2; k++) {
        sem_wait(&pong);
        assert(turns % 2 == 1);
        turns++;
        sem_post(&ping);
    }
    return p;
}

int main(void) {
    sem_init(&ping, 0, 1);
#ifdef WRONG
    sem_init(&pong, 0, 1);
#else
    sem_init(&pong, 0, 0);
#endif
    TOGETHER(2, even, odd);
    assert(turns == 4);
}
