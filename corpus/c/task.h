/* What the tasks share: includes, and a way to start threads and wait for them. */
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

extern void __VERIFIER_assume(int);
extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);
extern int __VERIFIER_nondet_int(void);
extern _Bool __VERIFIER_nondet_bool(void);

/* Evaluates these expressions in one step. */
#define ATOMIC(...) (__VERIFIER_atomic_begin(), __VA_ARGS__, __VERIFIER_atomic_end())

#define LOCK(m) pthread_mutex_lock(&(m))
#define UNLOCK(m) pthread_mutex_unlock(&(m))
#define MUTEX(m) static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER

typedef void *(*body)(void *);

/* Runs `n` threads, the k-th with the body `all[k % kinds]` and the argument k. */
static void together(int n, int kinds, const body *all) {
    pthread_t threads[8];
    for (long k = 0; k < n; k++) pthread_create(&threads[k], NULL, all[k % kinds], (void *)k);
    for (int k = 0; k < n; k++) pthread_join(threads[k], NULL);
}
#define TOGETHER(n, ...) \
    together(n, (int)(sizeof((body[]){__VA_ARGS__}) / sizeof(body)), (body[]){__VA_ARGS__})
