/* The pool: workers, the tasks that are ready, and the order of the tasks.
 *
 * Locks are taken in this order: the pool's, a worker's, a future's. A task is in one place at a
 * time: with its predecessors while it waits, then in the heap or in a deque, then with a worker.
 * The table of known tasks holds a reference to each until it ends. */
#include "pool.h"

#include <assert.h>

/* The worker of the current thread; NULL outside of the workers. */
static __thread struct worker *self;

static void count(atomic_int *counter) {
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* ---- tasks that become ready and end ---- */

/* Puts a task that is ready where a worker finds it. The pool is locked. */
static void pool_put(struct pool *pool, struct future *future) {
    bool moved = future_move(future, WAITING, READY);
    assert(moved);
    if (self != NULL && self->pool == pool) {
        pthread_mutex_lock(&self->mutex);
        deque_push_back(&self->own, future);
        pthread_mutex_unlock(&self->mutex);
        pool->in_deques++;
    } else {
        heap_push(&pool->ready, future->priority, future);
        assert(heap_is_sound(&pool->ready));
    }
    pthread_cond_signal(&pool->work);
}

/* Removes a task that has ended. The pool is locked. */
static void pool_forget(struct pool *pool, struct future *future) {
    void *known = table_remove(&pool->known, future->id);
    assert(known == future);
    pool->open--;
    if (pool->open == 0) {
        pthread_cond_broadcast(&pool->idle);
    }
}

static void pool_end(struct pool *pool, struct future *future, enum state end, long result);

/* A task before this one has ended. The pool is locked. */
static void pool_follow(struct pool *pool, struct future *follower, enum state end) {
    follower->awaited--;
    if (end == CANCELLED) {
        /* The move fails if another cancelled predecessor has already ended the follower. */
        if (future_move(follower, WAITING, RUNNING)) {
            pool_end(pool, follower, CANCELLED, 0);
        }
    } else if (follower->awaited == 0 && future_state(follower) == WAITING) {
        pool_put(pool, follower);
    }
    future_release(follower);
}

/* Ends a task. The pool is locked. */
static void pool_end(struct pool *pool, struct future *future, enum state end, long result) {
    future_finish(future, end, result);
    count(end == DONE ? &pool->statistics.finished : &pool->statistics.cancelled);
    for (;;) {
        struct future *follower = deque_pop_front(&future->followers);
        if (follower == NULL) {
            break;
        }
        pool_follow(pool, follower, end);
    }
    pool_forget(pool, future);
    future_release(future);
}

/* ---- workers ---- */

/* Takes the newest task of the worker's own deque, whose memory is probably still in the cache. */
static struct future *own_task(struct worker *worker) {
    pthread_mutex_lock(&worker->mutex);
    struct future *future = deque_pop_back(&worker->own);
    pthread_mutex_unlock(&worker->mutex);
    return future;
}

/* Takes the oldest task of another worker's deque. */
static struct future *stolen_task(struct worker *worker) {
    struct pool *pool = worker->pool;
    for (int step = 1; step < pool->size; step++) {
        struct worker *other = &pool->workers[(worker->number + step) % pool->size];
        pthread_mutex_lock(&other->mutex);
        struct future *future = deque_pop_front(&other->own);
        pthread_mutex_unlock(&other->mutex);
        if (future != NULL) {
            count(&pool->statistics.stolen);
            return future;
        }
    }
    return NULL;
}

/* Returns the next task of a worker, or NULL. The pool is locked. */
static struct future *pool_take(struct pool *pool, struct worker *worker) {
    struct future *future = NULL;
    if (pool->in_deques > 0) {
        future = own_task(worker);
        if (future == NULL) {
            future = stolen_task(worker);
        }
        if (future != NULL) {
            pool->in_deques--;
            return future;
        }
    }
    return heap_pop(&pool->ready);
}

/* Waits for a task; returns NULL if the pool is stopped and nothing is left. */
static struct future *next_task(struct worker *worker) {
    struct pool *pool = worker->pool;
    struct future *future;
    pthread_mutex_lock(&pool->mutex);
    for (;;) {
        future = pool_take(pool, worker);
        if (future != NULL) {
            bool moved = future_move(future, READY, RUNNING);
            assert(moved);
            break;
        }
        if (pool->stopping && pool->open == 0) {
            break;
        }
        pthread_cond_wait(&pool->work, &pool->mutex);
    }
    pthread_mutex_unlock(&pool->mutex);
    return future;
}

static void *worker_main(void *argument) {
    struct worker *worker = argument;
    struct pool *pool = worker->pool;
    self = worker;
    for (;;) {
        struct future *future = next_task(worker);
        if (future == NULL) {
            break;
        }
        long result = future->function(pool, future->argument);
        pthread_mutex_lock(&pool->mutex);
        pool_end(pool, future, DONE, result);
        if (pool->stopping && pool->open == 0) {
            /* The other workers wait for work, but no more will come. */
            pthread_cond_broadcast(&pool->work);
        }
        pthread_mutex_unlock(&pool->mutex);
    }
    self = NULL;
    return NULL;
}

/* ---- the interface ---- */

struct pool *pool_start(int workers) {
    assert(0 < workers && workers <= MOST_WORKERS);
    struct pool *pool = take_memory(sizeof *pool);
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->idle, NULL);
    heap_init(&pool->ready);
    table_init(&pool->known);
    pool->size = workers;
    pool->next_id = 1;
    for (int number = 0; number < workers; number++) {
        struct worker *worker = &pool->workers[number];
        worker->pool = pool;
        worker->number = number;
        pthread_mutex_init(&worker->mutex, NULL);
        deque_init(&worker->own);
    }
    for (int number = 0; number < workers; number++) {
        struct worker *worker = &pool->workers[number];
        pthread_create(&worker->thread, NULL, worker_main, worker);
    }
    return pool;
}

/* Registers a task. The pool is locked. Returns a reference for the caller. */
static struct future *pool_new(struct pool *pool, task_function function, void *argument,
                               int priority) {
    assert(!pool->stopping || self != NULL);
    struct future *future = future_new(pool->next_id++, function, argument, priority);
    table_set(&pool->known, future->id, future);
    pool->open++;
    count(&pool->statistics.submitted);
    future_retain(future);
    return future;
}

struct future *pool_submit(struct pool *pool, task_function function, void *argument,
                           int priority) {
    pthread_mutex_lock(&pool->mutex);
    struct future *future = pool_new(pool, function, argument, priority);
    pool_put(pool, future);
    pthread_mutex_unlock(&pool->mutex);
    return future;
}

struct future *pool_submit_after(struct pool *pool, task_function function, void *argument,
                                 struct future *const *before, int count_before) {
    pthread_mutex_lock(&pool->mutex);
    struct future *future = pool_new(pool, function, argument, 0);
    bool cancelled = false;
    for (int k = 0; k < count_before; k++) {
        enum state state = future_state(before[k]);
        if (state == CANCELLED) {
            cancelled = true;
        } else if (state != DONE) {
            /* The task ends only while the pool is locked, so its end is not missed. */
            future->awaited++;
            future_retain(future);
            deque_push_back(&before[k]->followers, future);
        }
    }
    if (cancelled) {
        bool moved = future_move(future, WAITING, RUNNING);
        assert(moved);
        future_retain(future);
        pool_end(pool, future, CANCELLED, 0);
        future_release(future);
    } else if (future->awaited == 0) {
        pool_put(pool, future);
    }
    pthread_mutex_unlock(&pool->mutex);
    return future;
}

/* Removes a ready task from its heap or deque. The pool is locked. */
__attribute__((unused)) static void pool_withdraw(struct pool *pool, struct future *future) {
    if (heap_remove(&pool->ready, future)) {
        return;
    }
    for (int number = 0; number < pool->size; number++) {
        struct worker *worker = &pool->workers[number];
        pthread_mutex_lock(&worker->mutex);
        bool found = deque_remove(&worker->own, future);
        pthread_mutex_unlock(&worker->mutex);
        if (found) {
            pool->in_deques--;
            return;
        }
    }
    assert(!"a task that is ready is somewhere");
}

/* Does the work of `pool_cancel`. The pool is locked. */
static bool pool_cancel_locked(struct pool *pool, struct future *future) {
    if (future_move(future, READY, RUNNING)) {
#ifndef FORGET_TO_WITHDRAW
        pool_withdraw(pool, future);
#endif
    } else if (!future_move(future, WAITING, RUNNING)) {
        return false;
    }
    pool_end(pool, future, CANCELLED, 0);
    return true;
}

bool pool_cancel(struct pool *pool, struct future *future) {
    pthread_mutex_lock(&pool->mutex);
    bool cancelled = pool_cancel_locked(pool, future);
    if (pool->stopping && pool->open == 0) {
        pthread_cond_broadcast(&pool->work);
    }
    pthread_mutex_unlock(&pool->mutex);
    return cancelled;
}

struct future *pool_find(struct pool *pool, long id) {
    pthread_mutex_lock(&pool->mutex);
    struct future *future = table_get(&pool->known, id);
#ifndef FORGET_TO_RETAIN
    if (future != NULL) {
        future_retain(future);
    }
#endif
    pthread_mutex_unlock(&pool->mutex);
    return future;
}

void pool_drain(struct pool *pool) {
    pthread_mutex_lock(&pool->mutex);
    while (pool->open > 0) {
        pthread_cond_wait(&pool->idle, &pool->mutex);
    }
    pthread_mutex_unlock(&pool->mutex);
}

static void collect(long id, void *value, void *with) {
    (void)id;
    future_retain(value);
    deque_push_back(with, value);
}

static void pool_cancel_all(struct pool *pool) {
    struct deque all;
    deque_init(&all);
    table_each(&pool->known, collect, &all);
    for (;;) {
        struct future *future = deque_pop_front(&all);
        if (future == NULL) {
            break;
        }
        pool_cancel_locked(pool, future);
        future_release(future);
    }
    deque_free(&all);
}

void pool_stop(struct pool *pool, bool now) {
    pthread_mutex_lock(&pool->mutex);
    if (now) {
        pool_cancel_all(pool);
    }
    pool->stopping = true;
#ifndef LOSE_STOP
    pthread_cond_broadcast(&pool->work);
#endif
    pthread_mutex_unlock(&pool->mutex);
    for (int number = 0; number < pool->size; number++) {
        pthread_join(pool->workers[number].thread, NULL);
    }
    assert(pool->open == 0 && pool->in_deques == 0 && pool->ready.count == 0);
    struct statistics *seen = &pool->statistics;
    assert(seen->submitted == seen->finished + seen->cancelled);
    for (int number = 0; number < pool->size; number++) {
        deque_free(&pool->workers[number].own);
        pthread_mutex_destroy(&pool->workers[number].mutex);
    }
    heap_free(&pool->ready);
    table_free(&pool->known);
    pthread_cond_destroy(&pool->work);
    pthread_cond_destroy(&pool->idle);
    pthread_mutex_destroy(&pool->mutex);
    give_memory(pool);
}

/* ---- loops ---- */

struct loop {
    void (*body)(int, void *);
    void *with;
    int count, chunk;
    atomic_int next;
    struct latch left;
};

static long loop_chunk(struct pool *pool, void *argument) {
    (void)pool;
    struct loop *loop = argument;
    int first = atomic_fetch_add(&loop->next, loop->chunk);
    for (int k = first; k < loop->count && k < first + loop->chunk; k++) {
        loop->body(k, loop->with);
    }
    latch_count_down(&loop->left);
    return 0;
}

void pool_for_each(struct pool *pool, int count_all, int chunk, void (*body)(int, void *),
                   void *with) {
    assert(chunk > 0);
    int chunks = (count_all + chunk - 1) / chunk;
    struct loop loop = {.body = body, .with = with, .count = count_all, .chunk = chunk};
    atomic_init(&loop.next, 0);
    latch_init(&loop.left, chunks);
    for (int k = 0; k < chunks; k++) {
        future_release(pool_submit(pool, loop_chunk, &loop, 0));
    }
    latch_wait(&loop.left);
    /* The tasks of the last chunks must end, too. */
    pool_drain(pool);
    latch_destroy(&loop.left);
}
