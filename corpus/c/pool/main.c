/* Checks of the pool: -DSCENARIO=N selects one of the scenarios below.
 *
 *     mazurka check corpus/c/pool/main.c corpus/c/pool/pool.c corpus/c/pool/future.c \
 *         corpus/c/pool/containers.c -- -DSCENARIO=1
 *
 * Defects (scenario): -DLOSE_STOP (3), -DFORGET_TO_RETAIN (5), -DFORGET_TO_WITHDRAW (2). */
#include "pool.h"

#include <assert.h>

#ifndef SCENARIO
#define SCENARIO 1
#endif

static long answer(struct pool *pool, void *argument) {
    (void)pool;
    return (long)argument + 1;
}

/* 1: two tasks on one worker, and their results. */
static void two_results(void) {
    struct pool *pool = pool_start(1);
    struct future *one = pool_submit(pool, answer, (void *)1, 0);
    struct future *two = pool_submit(pool, answer, (void *)2, 1);
    long first = 0, second = 0;
    bool both = future_wait(one, &first) && future_wait(two, &second);
    assert(both && first == 2 && second == 3);
    future_release(one);
    future_release(two);
    pool_stop(pool, false);
}

/* 2: a task is cancelled, unless it has begun. */
static void a_cancelled_task(void) {
    struct pool *pool = pool_start(1);
    struct future *one = pool_submit(pool, answer, (void *)1, 0);
    bool cancelled = pool_cancel(pool, one);
    long result = 0;
    bool done = future_wait(one, &result);
    assert(done != cancelled && result == (done ? 2 : 0));
    future_release(one);
    pool_stop(pool, false);
}

/* 3: a task makes another one, which goes to the worker's own deque. */
static long makes_another(struct pool *pool, void *argument) {
    future_release(pool_submit(pool, answer, argument, 0));
    return 0;
}

static void a_task_of_a_task(void) {
    struct pool *pool = pool_start(1);
    future_release(pool_submit(pool, makes_another, (void *)4, 0));
    pool_stop(pool, false);
}

/* 4: a task that comes after another one. */
static int steps;

static long first_step(struct pool *pool, void *argument) {
    (void)pool, (void)argument;
    assert(steps == 0);
    steps = 1;
    return 0;
}

static long second_step(struct pool *pool, void *argument) {
    (void)pool, (void)argument;
    assert(steps == 1);
    steps = 2;
    return 0;
}

static void one_after_the_other(void) {
    struct pool *pool = pool_start(2);
    struct future *one = pool_submit(pool, first_step, NULL, 0);
    struct future *two = pool_submit_after(pool, second_step, NULL, &one, 1);
    bool done = future_wait(two, NULL);
    assert(done && steps == 2);
    future_release(one);
    future_release(two);
    pool_stop(pool, false);
}

/* 5: a task is looked up while it may end. */
static void a_task_that_is_found(void) {
    struct pool *pool = pool_start(1);
    future_release(pool_submit(pool, answer, (void *)1, 0));
    struct future *found = pool_find(pool, 1);
    if (found != NULL) {
        long result = 0;
        bool done = future_wait(found, &result);
        assert(done && result == 2);
#ifndef FORGET_TO_RETAIN
        future_release(found);
#endif
    }
    pool_stop(pool, false);
}

/* 6: a loop in chunks. */
static int squares[3];

static void square(int k, void *with) { squares[k] = k * *(int *)with; }

static void a_loop(void) {
    struct pool *pool = pool_start(1);
    int factor = 3;
    pool_for_each(pool, 3, 2, square, &factor);
    assert(squares[0] == 0 && squares[1] == 3 && squares[2] == 6);
    pool_stop(pool, false);
}

/* 7: the pool is stopped immediately. */
static void stopped_at_once(void) {
    struct pool *pool = pool_start(1);
    struct future *one = pool_submit(pool, answer, (void *)1, 0);
    struct future *two = pool_submit_after(pool, answer, (void *)2, &one, 1);
    pool_stop(pool, true);
    assert(future_state(one) == DONE || future_state(two) == CANCELLED);
    future_release(one);
    future_release(two);
}

/* 8: a gate lets one thread through at a time. */
static struct gate gate;
static int inside;

static long goes_through(struct pool *pool, void *argument) {
    (void)pool, (void)argument;
    if (!gate_try_enter(&gate)) {
        gate_enter(&gate);
    }
    assert(inside == 0);
    inside++;
    inside--;
    gate_leave(&gate);
    return 0;
}

static void a_gate(void) {
    gate_init(&gate, 1);
    struct pool *pool = pool_start(1);
    future_release(pool_submit(pool, goes_through, NULL, 0));
    goes_through(pool, NULL);
    pool_stop(pool, false);
    gate_destroy(&gate);
}

int main(void) {
    switch (SCENARIO) {
    case 1: two_results(); break;
    case 2: a_cancelled_task(); break;
    case 3: a_task_of_a_task(); break;
    case 4: one_after_the_other(); break;
    case 5: a_task_that_is_found(); break;
    case 6: a_loop(); break;
    case 7: stopped_at_once(); break;
    case 8: a_gate(); break;
    default: assert(!"a scenario");
    }
    assert(blocks_in_use == 0);
    return 0;
}
