/* N threads write one variable: N! executions. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#ifndef N
#define N 3
#endif

atomic_int x;

static void *writer(void *p) {
    atomic_store(&x, (int)(intptr_t)p);
    return NULL;
}

int main(void) {
    pthread_t all[N];
    for (int k = 0; k < N; k++) pthread_create(&all[k], NULL, writer, (void *)(intptr_t)(k + 1));
    for (int k = 0; k < N; k++) pthread_join(all[k], NULL);
    return 0;
}
