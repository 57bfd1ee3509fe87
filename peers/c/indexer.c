/* N threads put four words each into a hash table by compare-and-swap: one execution for up to 11
   threads, then 8^(N - 11). */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#ifndef N
#define N 12
#endif
#define SIZE 128
#define INSERTS 4

atomic_int table[SIZE];

static void *inserter(void *p) {
    int id = (int)(intptr_t)p;
    for (int m = 1; m <= INSERTS; m++) {
        int w = 11 * m + id, h = (w * 7) % SIZE;
        for (;;) {
            int empty = 0;
            if (atomic_compare_exchange_strong(&table[h], &empty, w)) break;
            h = (h + 1) % SIZE;
        }
    }
    return NULL;
}

int main(void) {
    pthread_t all[N];
    for (intptr_t k = 0; k < N; k++) pthread_create(&all[k], NULL, inserter, (void *)k);
    for (int k = 0; k < N; k++) pthread_join(all[k], NULL);
    return 0;
}
