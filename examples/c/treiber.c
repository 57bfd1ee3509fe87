// A Treiber stack whose nodes are reused: a list of free buffers.
//
//     mazurka check examples/c/treiber.c               # verified
//     mazurka check examples/c/treiber.c -- -DBUG      # violated
//
// With BUG the top is only the number of a node. A thread reads the top (A) and the node below it
// (B), and is delayed; another takes A and B and puts A back. The exchange of the first thread
// still finds A on top, and makes B the new top, which the other thread uses: the ABA problem.
// Without BUG each change of the top is counted, so the exchange fails.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

enum { NONE = 0, NODES = 2 };

static atomic_int below[NODES + 1];  // the node below each node
static atomic_int used[NODES + 1];   // how many threads use each node
static atomic_uint top;              // the node on top; the upper half counts changes

#ifdef BUG
static unsigned changed(unsigned old, int node) { (void)old; return (unsigned)node; }
#else
static unsigned changed(unsigned old, int node) { return ((old >> 16) + 1) << 16 | (unsigned)node; }
#endif
static int node_of(unsigned top) { return (int)(top & 0xffff); }

static void push(int node) {
    unsigned old = atomic_load(&top);
    do atomic_store(&below[node], node_of(old));
    while (!atomic_compare_exchange_weak(&top, &old, changed(old, node)));
}

static int pop(void) {
    unsigned old = atomic_load(&top);
    while (node_of(old) != NONE) {
        int next = atomic_load(&below[node_of(old)]);
        if (atomic_compare_exchange_weak(&top, &old, changed(old, next))) break;
    }
    return node_of(old);
}

// Takes a buffer that no other thread uses.
static int take(void) {
    int node = pop();
    if (node != NONE) assert(atomic_fetch_add(&used[node], 1) == 0);
    return node;
}
static void give(int node) {
    if (node == NONE) return;
    atomic_fetch_sub(&used[node], 1);
    push(node);
}

static void *takes_one(void *p) {
    take();
    return p;
}
static void *takes_two(void *p) {
    int one = take();
    take();
    give(one);
    return p;
}

int main(void) {
    pthread_t one, two;
    push(2);
    push(1);
    pthread_create(&one, NULL, takes_one, NULL);
    pthread_create(&two, NULL, takes_two, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    take();
    return 0;
}
