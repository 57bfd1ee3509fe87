// A thread waits until there is work.
//
//     mazurka check examples/c/lost-wakeup.c           # verified
//     mazurka check examples/c/lost-wakeup.c -- -DBUG  # violated: a deadlock
//
// With BUG the worker first checks whether there is work, and later starts to wait. Work that
// arrives in between is signalled to no thread, and the worker waits for ever.
#include <pthread.h>
#include <stdbool.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static int work;

static void *worker(void *p) {
#ifdef BUG
    pthread_mutex_lock(&mutex);
    bool wait = work == 0;
    pthread_mutex_unlock(&mutex);
    if (wait) {
        pthread_mutex_lock(&mutex);
        pthread_cond_wait(&arrived, &mutex);
        pthread_mutex_unlock(&mutex);
    }
#else
    pthread_mutex_lock(&mutex);
    while (work == 0) pthread_cond_wait(&arrived, &mutex);
    work--;
    pthread_mutex_unlock(&mutex);
#endif
    return p;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    pthread_mutex_lock(&mutex);
    work++;
    pthread_cond_signal(&arrived);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    return 0;
}
