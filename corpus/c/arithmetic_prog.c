// One thread hands over numbers, another adds them. Wrong: it does not wait for the first number.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"

MUTEX(mutex);
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int number, total, done;

static void *count(void *p) {
    for (int k = 1; k <= 3; k++) {
        LOCK(mutex);
        while (number > 0) pthread_cond_wait(&changed, &mutex);
        number = k;
        pthread_cond_signal(&changed);
        UNLOCK(mutex);
    }
    return p;
}
static void *sum(void *p) {
    for (int k = 1; k <= 3; k++) {
        LOCK(mutex);
#ifdef WRONG
        if (number == 0 && k == 1) { UNLOCK(mutex); LOCK(mutex); } else
#endif
        while (number == 0) pthread_cond_wait(&changed, &mutex);
        total += number;
        number = 0;
        pthread_cond_signal(&changed);
        UNLOCK(mutex);
    }
    done = 1;
    return p;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, count, NULL);
    pthread_create(&two, NULL, sum, NULL);
    pthread_join(two, NULL);
    assert(done && total == 3 * 4 / 2);
}
