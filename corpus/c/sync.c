// A producer and a consumer take turns by two conditions. Wrong: `if` in place of `while`.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"
#ifdef WRONG
#define UNTIL(c) if (!(c))
#else
#define UNTIL(c) while (!(c))
#endif

MUTEX(mutex);
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int count;

static void *produce(void *p) {
    LOCK(mutex);
    count++;
    pthread_cond_signal(&filled);
    UNLOCK(mutex);
    return p;
}
static void *consume(void *p) {
    LOCK(mutex);
    UNTIL(count > 0) pthread_cond_wait(&filled, &mutex);
    assert(count > 0);
    count--;
    UNLOCK(mutex);
    return p;
}

int main(void) { TOGETHER(4, produce, consume, consume, produce); }
