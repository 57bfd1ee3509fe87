/* N philosophers eat EATS times; each takes the left fork first. */
#include <pthread.h>
#include <stdint.h>

#ifndef N
#define N 2
#endif
#ifndef EATS
#define EATS 1
#endif

pthread_mutex_t fork_of[N];

static void *philosopher(void *p) {
    intptr_t k = (intptr_t)p;
    for (int meal = 0; meal < EATS; meal++) {
        pthread_mutex_lock(&fork_of[k]);
        pthread_mutex_lock(&fork_of[(k + 1) % N]);
        pthread_mutex_unlock(&fork_of[(k + 1) % N]);
        pthread_mutex_unlock(&fork_of[k]);
    }
    return NULL;
}

int main(void) {
    pthread_t all[N];
    for (intptr_t k = 0; k < N; k++) pthread_create(&all[k], NULL, philosopher, (void *)k);
    for (int k = 0; k < N; k++) pthread_join(all[k], NULL);
    return 0;
}
