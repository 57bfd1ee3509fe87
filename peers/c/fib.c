/* Two threads add each other's variable to their own, N times. */
#include <pthread.h>
#include <stdatomic.h>

#ifndef N
#define N 2
#endif

atomic_int i = 1, j = 1;

static void *first(void *p) {
    for (int k = 0; k < N; k++) {
        int own = atomic_load(&i);
        atomic_store(&i, own + atomic_load(&j));
    }
    return p;
}

static void *second(void *p) {
    for (int k = 0; k < N; k++) {
        int own = atomic_load(&j);
        atomic_store(&j, own + atomic_load(&i));
    }
    return p;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, first, NULL);
    pthread_create(&two, NULL, second, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return 0;
}
