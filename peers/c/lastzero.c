/* N threads fill an array, one looks for the last zero: (N + 3) * 2^(N - 2) executions. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#ifndef N
#define N 2
#endif
/* The orders of loads and stores. */
#ifndef ACQUIRE
#define ACQUIRE memory_order_seq_cst
#define RELEASE memory_order_seq_cst
#endif

atomic_int a[N + 1];

static void *reader(void *p) {
    int i = N;
    while (atomic_load_explicit(&a[i], ACQUIRE) != 0) i--;
    return p;
}

static void *writer(void *p) {
    intptr_t j = (intptr_t)p;
    atomic_store_explicit(&a[j], atomic_load_explicit(&a[j - 1], ACQUIRE) + 1, RELEASE);
    return NULL;
}

int main(void) {
    pthread_t all[N + 1];
    pthread_create(&all[0], NULL, reader, NULL);
    for (intptr_t k = 1; k <= N; k++) pthread_create(&all[k], NULL, writer, (void *)k);
    for (int k = 0; k <= N; k++) pthread_join(all[k], NULL);
    return 0;
}
