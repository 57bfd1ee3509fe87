/* Results of tasks, latches and gates. */
#include "pool.h"

#include <assert.h>

/* ---- futures ---- */

struct future *future_new(long id, task_function function, void *argument, int priority) {
    struct future *future = take_memory(sizeof *future);
    future->id = id;
    future->function = function;
    future->argument = argument;
    future->priority = priority;
    pthread_mutex_init(&future->mutex, NULL);
    pthread_cond_init(&future->changed, NULL);
    future->state = WAITING;
    deque_init(&future->followers);
    atomic_init(&future->references, 1);
    return future;
}

void future_retain(struct future *future) {
    atomic_fetch_add_explicit(&future->references, 1, memory_order_relaxed);
}

void future_release(struct future *future) {
    /* acq_rel: all uses of the future happen before the release that frees it. */
    if (atomic_fetch_sub_explicit(&future->references, 1, memory_order_acq_rel) > 1) {
        return;
    }
    assert(deque_count(&future->followers) == 0);
    deque_free(&future->followers);
    pthread_cond_destroy(&future->changed);
    pthread_mutex_destroy(&future->mutex);
    give_memory(future);
}

enum state future_state(struct future *future) {
    pthread_mutex_lock(&future->mutex);
    enum state state = future->state;
    pthread_mutex_unlock(&future->mutex);
    return state;
}

static bool has_ended(const struct future *future) {
    return future->state == DONE || future->state == CANCELLED;
}

bool future_wait(struct future *future, long *result) {
    pthread_mutex_lock(&future->mutex);
    while (!has_ended(future)) {
        pthread_cond_wait(&future->changed, &future->mutex);
    }
    bool done = future->state == DONE;
    if (done && result != NULL) {
        *result = future->result;
    }
    pthread_mutex_unlock(&future->mutex);
    return done;
}

bool future_move(struct future *future, enum state from, enum state to) {
    pthread_mutex_lock(&future->mutex);
    bool moves = future->state == from;
    if (moves) {
        future->state = to;
    }
    pthread_mutex_unlock(&future->mutex);
    return moves;
}

void future_finish(struct future *future, enum state end, long result) {
    pthread_mutex_lock(&future->mutex);
    assert(!has_ended(future));
    future->state = end;
    future->result = result;
    pthread_cond_broadcast(&future->changed);
    pthread_mutex_unlock(&future->mutex);
}

/* ---- latches ---- */

void latch_init(struct latch *latch, int count) {
    pthread_mutex_init(&latch->mutex, NULL);
    pthread_cond_init(&latch->open, NULL);
    latch->left = count;
}

void latch_count_down(struct latch *latch) {
    pthread_mutex_lock(&latch->mutex);
    assert(latch->left > 0);
    latch->left--;
    if (latch->left == 0) {
        pthread_cond_broadcast(&latch->open);
    }
    pthread_mutex_unlock(&latch->mutex);
}

void latch_wait(struct latch *latch) {
    pthread_mutex_lock(&latch->mutex);
    while (latch->left > 0) {
        pthread_cond_wait(&latch->open, &latch->mutex);
    }
    pthread_mutex_unlock(&latch->mutex);
}

void latch_destroy(struct latch *latch) {
    pthread_cond_destroy(&latch->open);
    pthread_mutex_destroy(&latch->mutex);
}

/* ---- gates ---- */

void gate_init(struct gate *gate, int most) {
    pthread_mutex_init(&gate->mutex, NULL);
    pthread_cond_init(&gate->left, NULL);
    gate->inside = 0;
    gate->most = most;
}

void gate_enter(struct gate *gate) {
    pthread_mutex_lock(&gate->mutex);
    while (gate->inside == gate->most) {
        pthread_cond_wait(&gate->left, &gate->mutex);
    }
    gate->inside++;
    pthread_mutex_unlock(&gate->mutex);
}

bool gate_try_enter(struct gate *gate) {
    pthread_mutex_lock(&gate->mutex);
    bool enters = gate->inside < gate->most;
    if (enters) {
        gate->inside++;
    }
    pthread_mutex_unlock(&gate->mutex);
    return enters;
}

void gate_leave(struct gate *gate) {
    pthread_mutex_lock(&gate->mutex);
    assert(gate->inside > 0);
    gate->inside--;
    pthread_cond_signal(&gate->left);
    pthread_mutex_unlock(&gate->mutex);
}

void gate_destroy(struct gate *gate) {
    assert(gate->inside == 0);
    pthread_cond_destroy(&gate->left);
    pthread_mutex_destroy(&gate->mutex);
}
