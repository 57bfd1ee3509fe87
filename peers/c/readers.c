/* One thread writes, N read: 2^N executions. */
#include <pthread.h>
#include <stdatomic.h>

#ifndef N
#define N 2
#endif
/* The orders of loads and stores. */
#ifndef ACQUIRE
#define ACQUIRE memory_order_seq_cst
#define RELEASE memory_order_seq_cst
#endif

atomic_int x;

static void *writer(void *p) {
    atomic_store_explicit(&x, 5, RELEASE);
    return p;
}

static void *reader(void *p) {
    (void)atomic_load_explicit(&x, ACQUIRE);
    return p;
}

int main(void) {
    pthread_t all[N + 1];
    pthread_create(&all[N], NULL, writer, NULL);
    for (int k = 0; k < N; k++) pthread_create(&all[k], NULL, reader, NULL);
    for (int k = 0; k <= N; k++) pthread_join(all[k], NULL);
    return 0;
}
