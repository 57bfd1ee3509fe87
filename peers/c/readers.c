/* One thread writes, N read: 2^N executions. */
#include <pthread.h>
#include <stdatomic.h>

#ifndef N
#define N 2
#endif

static atomic_int x;

static void *writer(void *p) {
    atomic_store(&x, 5);
    return p;
}

static void *reader(void *p) {
    (void)atomic_load(&x);
    return p;
}

int main(void) {
    pthread_t all[N + 1];
    pthread_create(&all[N], NULL, writer, NULL);
    for (int k = 0; k < N; k++) pthread_create(&all[k], NULL, reader, NULL);
    for (int k = 0; k <= N; k++) pthread_join(all[k], NULL);
    return 0;
}
