/* Memory that is counted, and containers: deque, heap, hash table. None of them locks. */
#include "pool.h"

#include <assert.h>
#include <stdlib.h>

atomic_int blocks_in_use;

void *take_memory(size_t size) {
    void *block = calloc(1, size);
    assert(block != NULL);
    atomic_fetch_add_explicit(&blocks_in_use, 1, memory_order_relaxed);
    return block;
}

void give_memory(void *block) {
    if (block == NULL) return;
    atomic_fetch_sub_explicit(&blocks_in_use, 1, memory_order_relaxed);
    free(block);
}

/* ---- deque ---- */

void deque_init(struct deque *deque) {
    deque->items = NULL;
    deque->room = deque->first = deque->count = 0;
}

void deque_free(struct deque *deque) {
    give_memory(deque->items);
    deque_init(deque);
}

static size_t deque_at(const struct deque *deque, size_t index) {
    return (deque->first + index) % deque->room;
}

static void deque_grow(struct deque *deque) {
    size_t room = deque->room == 0 ? 4 : 2 * deque->room;
    void **items = take_memory(room * sizeof *items);
    for (size_t index = 0; index < deque->count; index++) {
        items[index] = deque->items[deque_at(deque, index)];
    }
    give_memory(deque->items);
    deque->items = items;
    deque->room = room;
    deque->first = 0;
}

void deque_push_back(struct deque *deque, void *item) {
    if (deque->count == deque->room) {
        deque_grow(deque);
    }
    deque->items[deque_at(deque, deque->count)] = item;
    deque->count++;
}

void *deque_pop_back(struct deque *deque) {
    if (deque->count == 0) {
        return NULL;
    }
    deque->count--;
    return deque->items[deque_at(deque, deque->count)];
}

void *deque_pop_front(struct deque *deque) {
    if (deque->count == 0) {
        return NULL;
    }
    void *item = deque->items[deque->first];
    deque->first = (deque->first + 1) % deque->room;
    deque->count--;
    return item;
}

size_t deque_count(const struct deque *deque) { return deque->count; }

bool deque_remove(struct deque *deque, const void *item) {
    for (size_t index = 0; index < deque->count; index++) {
        if (deque->items[deque_at(deque, index)] != item) {
            continue;
        }
        for (size_t next = index + 1; next < deque->count; next++) {
            deque->items[deque_at(deque, next - 1)] = deque->items[deque_at(deque, next)];
        }
        deque->count--;
        return true;
    }
    return false;
}

/* ---- heap ---- */

void heap_init(struct heap *heap) {
    heap->items = NULL;
    heap->room = heap->count = 0;
    heap->arrivals = 0;
}

void heap_free(struct heap *heap) {
    give_memory(heap->items);
    heap_init(heap);
}

static bool heap_before(const struct heap_item *one, const struct heap_item *other) {
    if (one->key != other->key) {
        return one->key < other->key;
    }
    return one->arrival < other->arrival;
}

static void heap_swap(struct heap *heap, size_t one, size_t other) {
    struct heap_item item = heap->items[one];
    heap->items[one] = heap->items[other];
    heap->items[other] = item;
}

static void heap_up(struct heap *heap, size_t at) {
    while (at > 0) {
        size_t parent = (at - 1) / 2;
        if (!heap_before(&heap->items[at], &heap->items[parent])) {
            return;
        }
        heap_swap(heap, at, parent);
        at = parent;
    }
}

static void heap_down(struct heap *heap, size_t at) {
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++) {
            if (child < heap->count && heap_before(&heap->items[child], &heap->items[least])) {
                least = child;
            }
        }
        if (least == at) {
            return;
        }
        heap_swap(heap, at, least);
        at = least;
    }
}

void heap_push(struct heap *heap, int key, void *value) {
    if (heap->count == heap->room) {
        size_t room = heap->room == 0 ? 4 : 2 * heap->room;
        struct heap_item *items = take_memory(room * sizeof *items);
        for (size_t at = 0; at < heap->count; at++) {
            items[at] = heap->items[at];
        }
        give_memory(heap->items);
        heap->items = items;
        heap->room = room;
    }
    heap->items[heap->count].key = key;
    heap->items[heap->count].arrival = heap->arrivals++;
    heap->items[heap->count].value = value;
    heap->count++;
    heap_up(heap, heap->count - 1);
}

static void heap_take(struct heap *heap, size_t at) {
    heap->count--;
    if (at == heap->count) {
        return;
    }
    heap->items[at] = heap->items[heap->count];
    heap_up(heap, at);
    heap_down(heap, at);
}

void *heap_pop(struct heap *heap) {
    if (heap->count == 0) {
        return NULL;
    }
    void *value = heap->items[0].value;
    heap_take(heap, 0);
    return value;
}

bool heap_remove(struct heap *heap, const void *value) {
    for (size_t at = 0; at < heap->count; at++) {
        if (heap->items[at].value == value) {
            heap_take(heap, at);
            return true;
        }
    }
    return false;
}

bool heap_is_sound(const struct heap *heap) {
    for (size_t at = 1; at < heap->count; at++) {
        if (heap_before(&heap->items[at], &heap->items[(at - 1) / 2])) {
            return false;
        }
    }
    return true;
}

/* ---- hash table ---- */

enum { FIRST_ROWS = 4 };

void table_init(struct table *table) {
    table->rows = NULL;
    table->size = table->count = 0;
}

void table_free(struct table *table) {
    for (size_t row = 0; row < table->size; row++) {
        struct table_entry *entry = table->rows[row];
        while (entry != NULL) {
            struct table_entry *next = entry->next;
            give_memory(entry);
            entry = next;
        }
    }
    give_memory(table->rows);
    table_init(table);
}

static size_t table_row(const struct table *table, long key) {
    unsigned long mixed = (unsigned long)key * 0x9e3779b97f4a7c15ul;
    return (size_t)(mixed >> 32) % table->size;
}

static void table_grow(struct table *table) {
    struct table larger;
    table_init(&larger);
    larger.size = table->size == 0 ? FIRST_ROWS : 2 * table->size;
    larger.rows = take_memory(larger.size * sizeof *larger.rows);
    for (size_t row = 0; row < table->size; row++) {
        struct table_entry *entry = table->rows[row];
        while (entry != NULL) {
            struct table_entry *next = entry->next;
            size_t at = table_row(&larger, entry->key);
            entry->next = larger.rows[at];
            larger.rows[at] = entry;
            entry = next;
        }
    }
    larger.count = table->count;
    give_memory(table->rows);
    *table = larger;
}

static struct table_entry **table_find(const struct table *table, long key) {
    struct table_entry **link = &table->rows[table_row(table, key)];
    while (*link != NULL && (*link)->key != key) {
        link = &(*link)->next;
    }
    return link;
}

void table_set(struct table *table, long key, void *value) {
    if (table->count >= table->size) {
        table_grow(table);
    }
    struct table_entry **link = table_find(table, key);
    if (*link == NULL) {
        *link = take_memory(sizeof **link);
        (*link)->key = key;
        table->count++;
    }
    (*link)->value = value;
}

void *table_get(const struct table *table, long key) {
    if (table->size == 0) {
        return NULL;
    }
    struct table_entry *entry = *table_find(table, key);
    return entry == NULL ? NULL : entry->value;
}

void *table_remove(struct table *table, long key) {
    if (table->size == 0) {
        return NULL;
    }
    struct table_entry **link = table_find(table, key);
    struct table_entry *entry = *link;
    if (entry == NULL) {
        return NULL;
    }
    void *value = entry->value;
    *link = entry->next;
    give_memory(entry);
    table->count--;
    return value;
}

void table_each(const struct table *table, void (*visit)(long, void *, void *), void *with) {
    for (size_t row = 0; row < table->size; row++) {
        for (struct table_entry *entry = table->rows[row]; entry != NULL; entry = entry->next) {
            visit(entry->key, entry->value, with);
        }
    }
}
