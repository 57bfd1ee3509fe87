/* A pool of threads: tasks with priorities, dependences and results, which may be cancelled.
 *
 * `pool_submit` and `pool_submit_after` make a task; its `struct future` has its state and result.
 * Workers take the most urgent ready task from a shared heap. Tasks that a worker makes go to its
 * own deque, from which other workers steal. */
#ifndef POOL_H
#define POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* ---- memory that is counted ---- */

/* Number of blocks that are allocated and not freed yet. */
extern atomic_int blocks_in_use;

void *take_memory(size_t size);
void give_memory(void *block);

/* ---- growing array of pointers, used from both ends by one thread at a time ---- */

struct deque {
    void **items;
    size_t room, first, count;
};

void deque_init(struct deque *deque);
void deque_free(struct deque *deque);
void deque_push_back(struct deque *deque, void *item);
void *deque_pop_back(struct deque *deque);
void *deque_pop_front(struct deque *deque);
size_t deque_count(const struct deque *deque);
bool deque_remove(struct deque *deque, const void *item);

/* ---- binary heap: the item with the least key first, equal keys in the order of arrival ---- */

struct heap_item {
    int key;
    unsigned arrival;
    void *value;
};

struct heap {
    struct heap_item *items;
    size_t room, count;
    unsigned arrivals;
};

void heap_init(struct heap *heap);
void heap_free(struct heap *heap);
void heap_push(struct heap *heap, int key, void *value);
void *heap_pop(struct heap *heap);
bool heap_remove(struct heap *heap, const void *value);
bool heap_is_sound(const struct heap *heap);

/* ---- hash table from numbers to pointers ---- */

struct table_entry {
    long key;
    void *value;
    struct table_entry *next;
};

struct table {
    struct table_entry **rows;
    size_t size, count;
};

void table_init(struct table *table);
void table_free(struct table *table);
void table_set(struct table *table, long key, void *value);
void *table_get(const struct table *table, long key);
void *table_remove(struct table *table, long key);
void table_each(const struct table *table, void (*visit)(long, void *, void *), void *with);

/* ---- results ---- */

enum state { WAITING, READY, RUNNING, DONE, CANCELLED };

struct pool;
typedef long (*task_function)(struct pool *pool, void *argument);

struct future {
    long id;
    task_function function;
    void *argument;
    int priority;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    enum state state;
    long result;
    /* Futures that this one waits for, how many are left, and futures that wait for it. */
    int awaited;
    struct deque followers;
    /* Number of references to this future; the last one to be released frees it. */
    atomic_int references;
};

struct future *future_new(long id, task_function function, void *argument, int priority);
void future_retain(struct future *future);
void future_release(struct future *future);
enum state future_state(struct future *future);
/* Waits until the task has ended. Returns whether it gave a result. */
bool future_wait(struct future *future, long *result);
/* Changes the state `from` to `to`. Returns false if the future is in another state. */
bool future_move(struct future *future, enum state from, enum state to);
void future_finish(struct future *future, enum state end, long result);

/* ---- synchronisation ---- */

/* Opens after as many calls of `latch_count_down` as `latch_init` sets. */
struct latch {
    pthread_mutex_t mutex;
    pthread_cond_t open;
    int left;
};

void latch_init(struct latch *latch, int count);
void latch_count_down(struct latch *latch);
void latch_wait(struct latch *latch);
void latch_destroy(struct latch *latch);

/* Lets at most `most` threads inside. */
struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t left;
    int inside, most;
};

void gate_init(struct gate *gate, int most);
void gate_enter(struct gate *gate);
bool gate_try_enter(struct gate *gate);
void gate_leave(struct gate *gate);
void gate_destroy(struct gate *gate);

/* ---- the pool ---- */

enum { MOST_WORKERS = 4 };

struct statistics {
    atomic_int submitted, finished, cancelled, stolen;
};

struct worker {
    struct pool *pool;
    int number;
    pthread_t thread;
    pthread_mutex_t mutex;
    struct deque own;
};

struct pool {
    pthread_mutex_t mutex;
    pthread_cond_t work;
    pthread_cond_t idle;
    struct heap ready;
    struct table known;
    struct worker workers[MOST_WORKERS];
    int size;
    /* Tasks that have not ended. */
    int open;
    /* Tasks in the deques of workers. */
    int in_deques;
    long next_id;
    bool stopping;
    struct statistics statistics;
};

struct pool *pool_start(int workers);
/* Adds a task that is ready immediately. The caller gets a reference. */
struct future *pool_submit(struct pool *pool, task_function function, void *argument, int priority);
/* Adds a task that is ready when the tasks `before` have ended, and cancelled if one of them is. */
struct future *pool_submit_after(struct pool *pool, task_function function, void *argument,
                                 struct future *const *before, int count);
/* Cancels a task that has not begun. Returns whether it did. */
bool pool_cancel(struct pool *pool, struct future *future);
/* Finds a task that has not ended; the caller gets a reference. */
struct future *pool_find(struct pool *pool, long id);
/* Waits until all tasks have ended. */
void pool_drain(struct pool *pool);
/* Ends the workers after the remaining tasks; with `now`, cancels those that have not begun. */
void pool_stop(struct pool *pool, bool now);

/* Calls `body(k, with)` for all k from 0 to count - 1, in chunks, and waits. */
void pool_for_each(struct pool *pool, int count, int chunk, void (*body)(int, void *), void *with);

#endif
