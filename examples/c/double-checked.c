// A table that is created by the first thread that needs it: double-checked locking.
//
//     mazurka check examples/c/double-checked.c           # verified
//     mazurka check examples/c/double-checked.c -- -DBUG  # violated: a data race
//
// With BUG the pointer is published by a relaxed store. A thread that sees the pointer need not
// see the table itself: the two accesses to the table race.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifdef BUG
#define PUBLISH memory_order_relaxed
#else
#define PUBLISH memory_order_release
#endif

struct table { int size; };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct table *_Atomic table;

static struct table *get(void) {
    struct table *found = atomic_load_explicit(&table, memory_order_acquire);
    if (found) return found;
    pthread_mutex_lock(&mutex);
    found = atomic_load_explicit(&table, memory_order_relaxed);
    if (!found) {
        found = malloc(sizeof *found);
        found->size = 64;
        atomic_store_explicit(&table, found, PUBLISH);
    }
    pthread_mutex_unlock(&mutex);
    return found;
}

static void *use(void *p) {
    assert(get()->size == 64);
    return p;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, use, NULL);
    pthread_create(&two, NULL, use, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    free(table);
    return 0;
}
