/* Replaces functions of the sanitizer, of the thread library and of the C library in a program
   under test. The functions below are linked into the program with hidden visibility, so nothing
   outside of the program uses them. Each of them calls the tool through a table at a fixed address.
   The address (MZ_TABLE) and the numbers of the entries (MZ_...) are defined in lines that
   `shim_source` (calls.rs) puts before this text. */

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <threads.h>
#include <time.h>

#define PC __builtin_return_address(0)
/* The lowest address of the program's own frames while a function of this file runs. */
#ifdef MZ_USES_REGISTERS
#define SP NULL /* The runtime counts the frames of this file as the program's, too. */
#else
#define SP __builtin_dwarf_cfa()
#endif
#define STR(x) STR_(x)
#define STR_(x) #x

/* Defines one of the functions below, which call the tool. The tool runs on another stack, whose
   address is in the table, so the content of the program's stack depends on the program alone. The
   registers that a function preserves for its caller are first pushed onto the program's stack.
   This file is compiled so that it does not use these registers itself. `argument` is the register
   in which the tool gets the address of the pushed registers. */
#define HANDING_OVER(function, entry, argument)                                              \
    __asm__(".text\n.hidden " #function "\n.globl " #function "\n"                           \
            ".type " #function ", @function\n" #function ":\n"                               \
            "push %rbx\npush %rbp\npush %r12\npush %r13\npush %r14\npush %r15\n"             \
            "mov %rsp, %" #argument "\nmov %rsp, %rbx\n"                                      \
            "movabs $(" STR(MZ_TABLE) " + 8 * " STR(MZ_stack) "), %rax\nmov (%rax), %rsp\n"  \
            "movabs $(" STR(MZ_TABLE) " + 8 * " STR(entry) "), %rax\n"                        \
            "call *(%rax)\nmov %rbx, %rsp\nadd $40, %rsp\npop %rbx\nret\n"                    \
            ".size " #function ", .-" #function "\n")

/* Announces an atomic access, and returns when the thread may make it. */
int mz_turn(const volatile void *object, unsigned how, int order, const void *pc, const void *sp);
HANDING_OVER(mz_turn, MZ_turn, r9);

/* Reports what an atomic access has read and written. */
void mz_did(const volatile void *object, unsigned size, int64_t old, int64_t new, unsigned wrote);
HANDING_OVER(mz_did, MZ_did, r9);
#define did mz_did

/* Announces an access that is not atomic. */
void mz_plain(const volatile void *address, unsigned long size, unsigned writes, const void *pc,
              const void *sp);
HANDING_OVER(mz_plain, MZ_plain, r9);
#define plain(address, size, writes, pc) mz_plain(address, size, writes, pc, SP)

/* Halts the thread. */
_Noreturn void mz_fail(unsigned kind, const char *words, const void *pc);
HANDING_OVER(mz_fail, MZ_fail, r9);
#define fail mz_fail

/* Makes a request, one of `Ask` in calls.rs. Returns the answer. */
long mz_ask(unsigned what, long a, long b, const void *pc);
HANDING_OVER(mz_ask, MZ_ask, r9);
#define ask mz_ask

/* Starts a thread. */
void mz_start(void *t, void *(*f)(void *), void *x, long detached, const void *pc);
HANDING_OVER(mz_start, MZ_start, r9);

/* ---- plain accesses ---- */

void __tsan_init(void) {}
void __tsan_func_entry(void *pc) { (void)pc; }
void __tsan_func_exit(void) {}

#define ACCESS(n)                                                          \
    void __tsan_read##n(void *a) { plain(a, n, 0, PC); }                    \
    void __tsan_write##n(void *a) { plain(a, n, 1, PC); }                   \
    void __tsan_unaligned_read##n(void *a) { plain(a, n, 0, PC); }          \
    void __tsan_unaligned_write##n(void *a) { plain(a, n, 1, PC); }         \
    void __tsan_volatile_read##n(void *a) { plain(a, n, 0, PC); }           \
    void __tsan_volatile_write##n(void *a) { plain(a, n, 1, PC); }          \
    void __tsan_read_write##n(void *a) { plain(a, n, 1, PC); }              \
    void __tsan_unaligned_read_write##n(void *a) { plain(a, n, 1, PC); }
ACCESS(1) ACCESS(2) ACCESS(4) ACCESS(8) ACCESS(16)
void __tsan_read_range(void *a, unsigned long n) { plain(a, n, 0, PC); }
void __tsan_write_range(void *a, unsigned long n) { plain(a, n, 1, PC); }
void __tsan_vptr_read(void **a) { plain(a, sizeof *a, 0, PC); }
/* Writing the value that is there already is not an access, as in the sanitizer's own runtime. */
void __tsan_vptr_update(void **a, void *v) {
    if (*a != v) plain(a, sizeof *a, 1, PC);
}

/* ---- atomics ---- */

enum { LOAD, STORE, UPDATE, FENCE };
enum { COMPARE = 7 };

/* Puts the operand of an atomic access into the table and, for a compare-exchange, the expected
   value and the memory order of a failure. */
#define GIVE(v, c, failure)                                          \
    do {                                                             \
        volatile int64_t *table = (volatile int64_t *)MZ_TABLE;      \
        table[MZ_operand] = (int64_t)(v);                            \
        table[MZ_expected] = (int64_t)(c);                           \
        table[MZ_failure] = (failure);                               \
    } while (0)

/* Whether the variable with the expected value of a compare-exchange is on the stack of the thread.
   If it is, the accesses to this variable are not announced. */
#define ON_STACK(c, sp) \
    ((uintptr_t)(c) - (uintptr_t)((sp) ? (sp) : __builtin_frame_address(0)) < 8u << 20)

#define ATOMIC(bits, T)                                                                        \
    T __tsan_atomic##bits##_load(const volatile T *a, int order) {                             \
        mz_turn(a, sizeof(T) << 8 | LOAD, order, PC, SP);                                                \
        T old = *a;                                                                            \
        did(a, sizeof(T), (int64_t)old, (int64_t)old, 0);                                      \
        return old;                                                                            \
    }                                                                                          \
    void __tsan_atomic##bits##_store(volatile T *a, T v, int order) {                          \
        GIVE(v, 0, 0);                                                                         \
        mz_turn(a, sizeof(T) << 8 | STORE, order, PC, SP);                                               \
        T old = *a;                                                                            \
        *a = v;                                                                                \
        did(a, sizeof(T), (int64_t)old, (int64_t)v, 1);                                        \
    }                                                                                          \
    static int cas##bits(volatile T *a, T *c, T v, int order, int failure, const void *pc,     \
                       const void *sp) {                                                       \
        if (!ON_STACK(c, sp)) plain(c, sizeof(T), 0, pc);                                      \
        GIVE(v, *c, failure);                                                                  \
        mz_turn(a, sizeof(T) << 8 | COMPARE << 4 | UPDATE, order, pc, sp);                                              \
        T old = *a;                                                                            \
        if (old == *c) {                                                                       \
            *a = v;                                                                            \
            did(a, sizeof(T), (int64_t)old, (int64_t)v, 1);                                    \
            return 1;                                                                          \
        }                                                                                      \
        did(a, sizeof(T), (int64_t)old, (int64_t)old, 0);                                      \
        if (!ON_STACK(c, sp)) plain(c, sizeof(T), 1, pc);                                      \
        *c = old;                                                                              \
        return 0;                                                                              \
    }                                                                                          \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile T *a, T *c, T v, int order,     \
                                                      int failure) {                           \
        return cas##bits(a, c, v, order, failure, PC, SP);                                         \
    }                                                                                          \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile T *a, T *c, T v, int order,       \
                                                    int failure) {                             \
        return cas##bits(a, c, v, order, failure, PC, SP);                                         \
    }                                                                                          \
    T __tsan_atomic##bits##_compare_exchange_val(volatile T *a, T c, T v, int order,           \
                                                 int failure) {                                \
        cas##bits(a, &c, v, order, failure, PC, SP);                                               \
        return c;                                                                              \
    }                                                                                          \
    RMW(bits, T, exchange, 0, v)                                                               \
    RMW(bits, T, fetch_add, 1, (T)(old + v))                                                   \
    RMW(bits, T, fetch_sub, 2, (T)(old - v))                                                   \
    RMW(bits, T, fetch_and, 3, (T)(old & v))                                                   \
    RMW(bits, T, fetch_or, 4, (T)(old | v))                                                    \
    RMW(bits, T, fetch_xor, 5, (T)(old ^ v))                                                   \
    RMW(bits, T, fetch_nand, 6, (T) ~(old & v))

#define RMW(bits, T, name, number, next)                                      \
    T __tsan_atomic##bits##_##name(volatile T *a, T v, int order) {           \
        GIVE(v, 0, 0);                                                        \
        mz_turn(a, sizeof(T) << 8 | number << 4 | UPDATE, order, PC, SP);     \
        T old = *a;                                                           \
        *a = next;                                                            \
        did(a, sizeof(T), (int64_t)old, (int64_t)*a, 1);                      \
        return old;                                                           \
    }

ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

/* Copies an atomic of more than eight bytes, which does not fit into one register, byte by byte. */
static void move_bytes(volatile char *to, const volatile char *from, size_t n) {
    for (size_t i = 0; i < n; i++) to[i] = from[i];
}
static int same_bytes(const volatile char *a, const volatile char *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i]) return 0;
    return 1;
}
static void big_load(size_t n, const volatile void *a, void *to, int order, const void *pc,
                     const void *sp) {
    mz_turn(a, n << 8 | LOAD, order, pc, sp);
    move_bytes(to, a, n);
    did(a, n, 0, 0, 0);
}
static void big_store(size_t n, volatile void *a, const void *v, int order, const void *pc,
                      const void *sp) {
    mz_turn(a, n << 8 | STORE, order, pc, sp);
    int same = same_bytes(a, v, n);
    move_bytes(a, v, n);
    did(a, n, 0, !same, 1);
}
static void big_exchange(size_t n, volatile void *a, const void *v, void *to, int order,
                         const void *pc, const void *sp) {
    mz_turn(a, n << 8 | UPDATE, order, pc, sp);
    int same = same_bytes(a, v, n);
    for (size_t i = 0; i < n; i++) {
        char old = ((volatile char *)a)[i];
        ((volatile char *)a)[i] = ((const char *)v)[i];
        ((char *)to)[i] = old;
    }
    did(a, n, 0, !same, 1);
}
static int big_cas(size_t n, volatile void *a, void *c, const void *v, int order, const void *pc,
                   const void *sp) {
    mz_turn(a, n << 8 | COMPARE << 4 | UPDATE, order, pc, sp);
    if (same_bytes(a, c, n)) {
        int same = same_bytes(a, v, n);
        move_bytes(a, v, n);
        did(a, n, 0, !same, 1);
        return 1;
    }
    did(a, n, 0, 0, 0);
    if (!ON_STACK(c, sp)) plain(c, n, 1, pc);
    move_bytes(c, a, n);
    return 0;
}
#define BIG(name) __asm__("__atomic_" #name)
void any_load(size_t n, const volatile void *a, void *to, int order) BIG(load);
void any_load(size_t n, const volatile void *a, void *to, int order) {
    big_load(n, a, to, order, PC, SP);
}
void any_store(size_t n, volatile void *a, const void *v, int order) BIG(store);
void any_store(size_t n, volatile void *a, const void *v, int order) {
    big_store(n, a, v, order, PC, SP);
}
void any_exchange(size_t n, volatile void *a, const void *v, void *to, int order) BIG(exchange);
void any_exchange(size_t n, volatile void *a, const void *v, void *to, int order) {
    big_exchange(n, a, v, to, order, PC, SP);
}
int any_cas(size_t n, volatile void *a, void *c, const void *v, int order, int failure)
    BIG(compare_exchange);
int any_cas(size_t n, volatile void *a, void *c, const void *v, int order, int failure) {
    (void)failure;
    return big_cas(n, a, c, v, order, PC, SP);
}
typedef unsigned __int128 wide;
#define WIDE(load, store, exchange, cas)                                                       \
    wide load##_(const volatile wide *a, int order) __asm__(#load);                            \
    wide load##_(const volatile wide *a, int order) {                                          \
        wide old;                                                                              \
        big_load(16, a, &old, order, PC, SP);                                                  \
        return old;                                                                            \
    }                                                                                          \
    void store##_(volatile wide *a, wide v, int order) __asm__(#store);                        \
    void store##_(volatile wide *a, wide v, int order) { big_store(16, a, &v, order, PC, SP); }\
    wide exchange##_(volatile wide *a, wide v, int order) __asm__(#exchange);                  \
    wide exchange##_(volatile wide *a, wide v, int order) {                                    \
        wide old;                                                                              \
        big_exchange(16, a, &v, &old, order, PC, SP);                                          \
        return old;                                                                            \
    }                                                                                          \
    int cas##_(volatile wide *a, wide *c, wide v, int order, int failure) __asm__(#cas);       \
    int cas##_(volatile wide *a, wide *c, wide v, int order, int failure) {                    \
        (void)failure;                                                                         \
        return big_cas(16, a, c, &v, order, PC, SP);                                           \
    }
WIDE(__atomic_load_16, __atomic_store_16, __atomic_exchange_16, __atomic_compare_exchange_16)
WIDE(__tsan_atomic128_load, __tsan_atomic128_store, __tsan_atomic128_exchange,
     __tsan_atomic128_compare_exchange_strong)
void __atomic_feraiseexcept(int excepts) { (void)excepts; }

void __tsan_atomic_thread_fence(int order) { mz_turn(0, FENCE, order, PC, SP); }
void __tsan_atomic_signal_fence(int order) { (void)order; }

/* ---- time: each thread has a clock, which moves when it sleeps or a wait times out ---- */

static long in_ns(const struct timespec *t) {
    return t ? t->tv_sec * 1000000000L + t->tv_nsec : 0;
}
/* Reads a time that the program passes. */
static const struct timespec *read_time(const struct timespec *t, const void *pc) {
    if (t) plain(t, sizeof *t, 0, pc);
    return t;
}
/* Handles the result of a wait until the time `t`: if it timed out, the thread's clock advances to
   `t`. */
static long waited(long result, const struct timespec *t, const void *pc) {
    if (result == ETIMEDOUT) ask(MZ_LATER, in_ns(t), 0, pc);
    return result;
}
static int pass(long ns, const void *pc) {
    if (ns > 0) ask(MZ_LATER, ns, 1, pc);
    return 0;
}

/* ---- objects of the thread library; the numbers are those of calls.rs and lives.rs ---- */

#define M(m) ((const void *)(m))

/* The kinds of objects. */
enum { A_MUTEX, A_CONDITION, A_READ_WRITE, A_SEMAPHORE, A_BARRIER };

/* The beginning and the end of an object's life are writes to the object. */
static void begin_life(void *object, size_t size, long kind, const void *pc) {
    plain(object, size, 1, pc);
    ask(MZ_INIT, (long)object, kind, pc);
}
static void end_life(void *object, size_t size, long kind, const void *pc) {
    plain(object, size, 1, pc);
    ask(MZ_DESTROY, (long)object, kind, pc);
}

int pthread_mutexattr_init(pthread_mutexattr_t *a) {
    plain(a, sizeof(int), 1, PC);
    *(int *)a = 0;
    return 0;
}
int pthread_mutexattr_destroy(pthread_mutexattr_t *a) { (void)a; return 0; }
int pthread_mutexattr_settype(pthread_mutexattr_t *a, int type) {
    if (type < 0 || type > 3) return EINVAL;
    plain(a, sizeof(int), 1, PC);
    *(int *)a = type;
    return 0;
}
int pthread_mutexattr_gettype(const pthread_mutexattr_t *a, int *type) {
    plain(a, sizeof(int), 0, PC);
    plain(type, sizeof *type, 1, PC);
    *type = *(const int *)a;
    return 0;
}
int pthread_mutexattr_setpshared(pthread_mutexattr_t *a, int s) { (void)a; (void)s; return 0; }
int pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *a) {
    if (a) plain(a, sizeof(int), 0, PC);
    begin_life(m, sizeof *m, A_MUTEX, PC);
    *m = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    m->__data.__kind = a ? *(const int *)a : 0;
    return 0;
}
int pthread_mutex_destroy(pthread_mutex_t *m) {
    end_life(m, sizeof *m, A_MUTEX, PC);
    return 0;
}
static int mutex_lock(pthread_mutex_t *m, unsigned how, const void *pc) {
    return ask(how, (long)m, m->__data.__kind, pc);
}
int pthread_mutex_lock(pthread_mutex_t *m) { return mutex_lock(m, MZ_MUTEX_LOCK, PC); }
int pthread_mutex_trylock(pthread_mutex_t *m) { return mutex_lock(m, MZ_MUTEX_TRYLOCK, PC); }
int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *t) {
    read_time(t, PC);
    return waited(mutex_lock(m, MZ_MUTEX_TIMEDLOCK, PC), t, PC);
}
int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t c, const struct timespec *t) {
    (void)c;
    read_time(t, PC);
    return waited(mutex_lock(m, MZ_MUTEX_TIMEDLOCK, PC), t, PC);
}
int pthread_mutex_unlock(pthread_mutex_t *m) { return mutex_lock(m, MZ_MUTEX_UNLOCK, PC); }

int pthread_condattr_init(pthread_condattr_t *a) { (void)a; return 0; }
int pthread_condattr_destroy(pthread_condattr_t *a) { (void)a; return 0; }
int pthread_condattr_setclock(pthread_condattr_t *a, clockid_t c) { (void)a; (void)c; return 0; }
int pthread_condattr_setpshared(pthread_condattr_t *a, int s) { (void)a; (void)s; return 0; }
int pthread_cond_init(pthread_cond_t *c, const pthread_condattr_t *a) {
    (void)a;
    begin_life(c, sizeof *c, A_CONDITION, PC);
    *c = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    return 0;
}
int pthread_cond_destroy(pthread_cond_t *c) {
    end_life(c, sizeof *c, A_CONDITION, PC);
    return 0;
}
int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m) {
    return ask(MZ_COND_WAIT, (long)c, (long)m, PC);
}
int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *t) {
    read_time(t, PC);
    return waited(ask(MZ_COND_TIMEDWAIT, (long)c, (long)m, PC), t, PC);
}
int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t k,
                           const struct timespec *t) {
    (void)k;
    read_time(t, PC);
    return waited(ask(MZ_COND_TIMEDWAIT, (long)c, (long)m, PC), t, PC);
}
int pthread_cond_signal(pthread_cond_t *c) { return ask(MZ_COND_SIGNAL, (long)c, 0, PC); }
int pthread_cond_broadcast(pthread_cond_t *c) { return ask(MZ_COND_BROADCAST, (long)c, 0, PC); }

int pthread_rwlockattr_init(pthread_rwlockattr_t *a) { (void)a; return 0; }
int pthread_rwlockattr_destroy(pthread_rwlockattr_t *a) { (void)a; return 0; }
int pthread_rwlock_init(pthread_rwlock_t *l, const pthread_rwlockattr_t *a) {
    (void)a;
    begin_life(l, sizeof *l, A_READ_WRITE, PC);
    return 0;
}
int pthread_rwlock_destroy(pthread_rwlock_t *l) {
    end_life(l, sizeof *l, A_READ_WRITE, PC);
    return 0;
}
int pthread_rwlock_rdlock(pthread_rwlock_t *l) { return ask(MZ_RW_READ, (long)l, 0, PC); }
int pthread_rwlock_wrlock(pthread_rwlock_t *l) { return ask(MZ_RW_WRITE, (long)l, 0, PC); }
int pthread_rwlock_tryrdlock(pthread_rwlock_t *l) { return ask(MZ_RW_TRYREAD, (long)l, 0, PC); }
int pthread_rwlock_trywrlock(pthread_rwlock_t *l) { return ask(MZ_RW_TRYWRITE, (long)l, 0, PC); }
/* A timed wait is one attempt. It needs no step that waits: other threads may run before the
   attempt. */
static int rw_timed(pthread_rwlock_t *l, unsigned tries, const void *pc) {
    return ask(tries, (long)l, 0, pc) ? ETIMEDOUT : 0;
}
int pthread_rwlock_timedrdlock(pthread_rwlock_t *l, const struct timespec *t) {
    read_time(t, PC);
    return waited(rw_timed(l, MZ_RW_TRYREAD, PC), t, PC);
}
int pthread_rwlock_timedwrlock(pthread_rwlock_t *l, const struct timespec *t) {
    read_time(t, PC);
    return waited(rw_timed(l, MZ_RW_TRYWRITE, PC), t, PC);
}
int pthread_rwlock_clockrdlock(pthread_rwlock_t *l, clockid_t c, const struct timespec *t) {
    (void)c;
    read_time(t, PC);
    return waited(rw_timed(l, MZ_RW_TRYREAD, PC), t, PC);
}
int pthread_rwlock_clockwrlock(pthread_rwlock_t *l, clockid_t c, const struct timespec *t) {
    (void)c;
    read_time(t, PC);
    return waited(rw_timed(l, MZ_RW_TRYWRITE, PC), t, PC);
}
int pthread_rwlock_unlock(pthread_rwlock_t *l) { return ask(MZ_RW_UNLOCK, (long)l, 0, PC); }

int pthread_spin_init(pthread_spinlock_t *l, int s) {
    (void)s;
    begin_life((void *)l, sizeof *l, A_MUTEX, PC);
    *l = 0;
    return 0;
}
int pthread_spin_destroy(pthread_spinlock_t *l) {
    end_life((void *)l, sizeof *l, A_MUTEX, PC);
    return 0;
}
int pthread_spin_lock(pthread_spinlock_t *l) { return ask(MZ_MUTEX_LOCK, (long)l, 0, PC); }
int pthread_spin_trylock(pthread_spinlock_t *l) { return ask(MZ_MUTEX_TRYLOCK, (long)l, 0, PC); }
int pthread_spin_unlock(pthread_spinlock_t *l) { return ask(MZ_MUTEX_UNLOCK, (long)l, 0, PC); }

int sem_init(sem_t *s, int shared, unsigned value) {
    (void)shared;
    plain(s, sizeof *s, 1, PC);
    *(unsigned *)s = value;
    ask(MZ_SEM_INIT, (long)s, value, PC);
    return 0;
}
int sem_destroy(sem_t *s) {
    end_life(s, sizeof *s, A_SEMAPHORE, PC);
    return 0;
}
int sem_wait(sem_t *s) { return ask(MZ_SEM_WAIT, (long)s, 0, PC); }
static int through_errno(long result) {
    if (result == 0) return 0;
    errno = (int)result;
    return -1;
}
int sem_trywait(sem_t *s) { return through_errno(ask(MZ_SEM_TRYWAIT, (long)s, 0, PC)); }
int sem_timedwait(sem_t *s, const struct timespec *t) {
    read_time(t, PC);
    return through_errno(waited(ask(MZ_SEM_TIMEDWAIT, (long)s, 0, PC), t, PC));
}
int sem_clockwait(sem_t *s, clockid_t c, const struct timespec *t) {
    (void)c;
    read_time(t, PC);
    return through_errno(waited(ask(MZ_SEM_TIMEDWAIT, (long)s, 0, PC), t, PC));
}
int sem_post(sem_t *s) { return ask(MZ_SEM_POST, (long)s, 0, PC); }
int sem_getvalue(sem_t *s, int *value) {
    int is = (int)ask(MZ_SEM_VALUE, (long)s, 0, PC);
    plain(value, sizeof *value, 1, PC);
    *value = is;
    return 0;
}

int pthread_barrierattr_init(pthread_barrierattr_t *a) { (void)a; return 0; }
int pthread_barrier_init(pthread_barrier_t *b, const pthread_barrierattr_t *a, unsigned n) {
    (void)a;
    if (n == 0) return EINVAL;
    begin_life(b, sizeof *b, A_BARRIER, PC);
    *(unsigned *)b = n;
    return 0;
}
int pthread_barrier_destroy(pthread_barrier_t *b) {
    end_life(b, sizeof *b, A_BARRIER, PC);
    return 0;
}
int pthread_barrier_wait(pthread_barrier_t *b) {
    return ask(MZ_BARRIER, (long)b, *(unsigned *)b, PC) ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}

/* `pthread_once`: the runtime lets one thread at a time run the function, and no thread after the
   function has returned. */
static void give_up(int **open) {
    if (*open) ask(MZ_ONCE_ABORT, (long)*open, 0, PC);
}
static int once(int *o, void (*f)(void), const void *pc) {
    if (ask(MZ_ONCE_ENTER, (long)o, 0, pc)) {
        /* If an exception leaves the function, another thread may run it. */
        __attribute__((cleanup(give_up))) int *open = o;
        f();
        open = 0;
        ask(MZ_ONCE_LEAVE, (long)o, 0, pc);
    }
    return 0;
}
int pthread_once(pthread_once_t *o, void (*f)(void)) { return once((int *)o, f, PC); }

int __cxa_guard_acquire(int64_t *g) { return (int)ask(MZ_ONCE_ENTER, (long)g, 0, PC); }
void __cxa_guard_release(int64_t *g) {
    ask(MZ_ONCE_LEAVE, (long)g, 0, PC);
}
void __cxa_guard_abort(int64_t *g) { ask(MZ_ONCE_ABORT, (long)g, 0, PC); }

/* ---- threads ---- */

void mazurka_thread_ends(void);

int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *x) {
    if (a) plain(a, sizeof(int), 0, PC);
    long detached = a ? *(const int *)a : 0;
    pthread_t made;
    mz_start(&made, f, x, detached, PC);
    plain(t, sizeof *t, 1, PC);
    *t = made;
    return 0;
}
int pthread_join(pthread_t t, void **result) {
    long value = ask(MZ_JOIN, (long)t, 0, PC);
    if (result) {
        plain(result, sizeof *result, 1, PC);
        *result = (void *)value;
    }
    return 0;
}
int pthread_detach(pthread_t t) { return ask(MZ_DETACH, (long)t, 0, PC); }
pthread_t pthread_self(void) { return (pthread_t)ask(MZ_SELF, 0, 0, PC); }
int pthread_equal(pthread_t a, pthread_t b) { return a == b; }
_Noreturn void pthread_exit(void *result) {
    mazurka_thread_ends();
    ask(MZ_EXIT_THREAD, (long)result, 0, PC);
    __builtin_unreachable();
}
int pthread_attr_init(pthread_attr_t *a) {
    plain(a, sizeof(int), 1, PC);
    *(int *)a = 0;
    return 0;
}
int pthread_attr_destroy(pthread_attr_t *a) { (void)a; return 0; }
int pthread_attr_setdetachstate(pthread_attr_t *a, int s) {
    plain(a, sizeof(int), 1, PC);
    *(int *)a = s;
    return 0;
}
int pthread_attr_setstacksize(pthread_attr_t *a, size_t n) { (void)a; (void)n; return 0; }
int pthread_attr_setscope(pthread_attr_t *a, int s) { (void)a; (void)s; return 0; }
int pthread_setcancelstate(int s, int *old) {
    (void)s;
    if (!old) return 0;
    plain(old, sizeof *old, 1, PC);
    *old = 0;
    return 0;
}
int pthread_setname_np(pthread_t t, const char *n) { (void)t; (void)n; return 0; }
int pthread_setconcurrency(int n) { (void)n; return 0; }
int sched_yield(void) { return 0; }
unsigned sleep(unsigned s) { return pass(s * 1000000000L, PC); }
int usleep(unsigned s) { return pass(s * 1000L, PC); }
int nanosleep(const struct timespec *a, struct timespec *b) {
    (void)b;
    return pass(in_ns(read_time(a, PC)), PC);
}
int clock_nanosleep(clockid_t c, int f, const struct timespec *a, struct timespec *b) {
    (void)c; (void)b;
    read_time(a, PC);
    if (f) ask(MZ_LATER, in_ns(a), 0, PC);
    else pass(in_ns(a), PC);
    return 0;
}

int pthread_key_create(pthread_key_t *k, void (*d)(void *)) {
    pthread_key_t made = (pthread_key_t)ask(MZ_KEY_CREATE, (long)d, 0, PC);
    plain(k, sizeof *k, 1, PC);
    *k = made;
    return 0;
}
int pthread_key_delete(pthread_key_t k) { return ask(MZ_KEY_DELETE, (long)k, 0, PC); }
int pthread_setspecific(pthread_key_t k, const void *v) {
    return ask(MZ_KEY_SET, (long)k, (long)v, PC);
}
void *pthread_getspecific(pthread_key_t k) { return (void *)ask(MZ_KEY_GET, (long)k, 0, PC); }
/* Runs at the end of a thread: calls the destructors of its keys, at most four times, as long as
   keys have values. */
static void run_key_destructors(void) {
    for (int round = 0; round < 4; round++) {
        int any = 0;
        for (long k = 0; k < 1024; k++) {
            void (*d)(void *) = (void (*)(void *))ask(MZ_KEY_DESTRUCTOR, k, 0, PC);
            if (d == (void (*)(void *))1) break;
            if (!d) continue;
            d((void *)ask(MZ_KEY_TAKE, k, 0, PC));
            any = 1;
        }
        if (!any) break;
    }
}

/* ---- futexes, by which parts of the C++ library wait ---- */

long syscall(long number, ...) {
    va_list all;
    va_start(all, number);
    int *word = va_arg(all, int *), op = va_arg(all, int), value = va_arg(all, int);
    const struct timespec *time = va_arg(all, const struct timespec *);
    va_end(all);
    if (number == 231) ask(MZ_EXIT, (int)(long)word, 0, PC); /* exit_group */
    if (number != 202) fail(MZ_REFUSED, "`syscall`", PC);
    if (time && (op & 127) != 1) read_time(time, PC);
    switch (op & 127) {
        case 0: /* wait, for a time */
        case 9: { /* wait, until a time */
            long result = ask(time ? MZ_FUTEX_TIMEDWAIT : MZ_FUTEX_WAIT, (long)word, value, PC);
            if (result == ETIMEDOUT && (op & 127) == 0) pass(in_ns(time), PC);
            return through_errno((op & 127) == 0 ? result : waited(result, time, PC));
        }
        case 1: return ask(MZ_FUTEX_WAKE, (long)word, value, PC);
        default: fail(MZ_REFUSED, "an operation of `futex`", PC);
    }
}

/* ---- C11 threads ---- */

void *malloc(size_t);
void free(void *);
struct c11 { thrd_start_t f; void *x; };
static void *c11_run(void *p) {
    struct c11 s = *(struct c11 *)p;
    free(p);
    return (void *)(long)s.f(s.x);
}
int thrd_create(thrd_t *t, thrd_start_t f, void *x) {
    struct c11 *s = malloc(sizeof *s);
    s->f = f;
    s->x = x;
    pthread_t made;
    mz_start(&made, c11_run, s, 0, PC);
    plain(t, sizeof *t, 1, PC);
    *t = (thrd_t)made;
    return thrd_success;
}
int thrd_join(thrd_t t, int *result) {
    long value = ask(MZ_JOIN, (long)t, 0, PC);
    if (result) {
        plain(result, sizeof *result, 1, PC);
        *result = (int)value;
    }
    return thrd_success;
}
int thrd_detach(thrd_t t) { ask(MZ_DETACH, (long)t, 0, PC); return thrd_success; }
thrd_t thrd_current(void) { return (thrd_t)ask(MZ_SELF, 0, 0, PC); }
int thrd_equal(thrd_t a, thrd_t b) { return a == b; }
_Noreturn void thrd_exit(int result) {
    mazurka_thread_ends();
    ask(MZ_EXIT_THREAD, result, 0, PC);
    __builtin_unreachable();
}
void thrd_yield(void) {}
int thrd_sleep(const struct timespec *a, struct timespec *b) {
    (void)b;
    return pass(in_ns(read_time(a, PC)), PC);
}
static int thrd_of(long result) {
    return result == 0 ? thrd_success : result == EBUSY ? thrd_busy
         : result == ETIMEDOUT ? thrd_timedout : thrd_error;
}
int mtx_init(mtx_t *m, int type) {
    begin_life(m, sizeof *m, A_MUTEX, PC);
    *(pthread_mutex_t *)m = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    ((pthread_mutex_t *)m)->__data.__kind = type & mtx_recursive ? 1 : 0;
    return thrd_success;
}
void mtx_destroy(mtx_t *m) { end_life(m, sizeof *m, A_MUTEX, PC); }
int mtx_lock(mtx_t *m) { return thrd_of(mutex_lock((void *)m, MZ_MUTEX_LOCK, PC)); }
int mtx_trylock(mtx_t *m) { return thrd_of(mutex_lock((void *)m, MZ_MUTEX_TRYLOCK, PC)); }
int mtx_timedlock(mtx_t *m, const struct timespec *t) {
    read_time(t, PC);
    return thrd_of(waited(mutex_lock((void *)m, MZ_MUTEX_TIMEDLOCK, PC), t, PC));
}
int mtx_unlock(mtx_t *m) { return thrd_of(mutex_lock((void *)m, MZ_MUTEX_UNLOCK, PC)); }
int cnd_init(cnd_t *c) {
    begin_life(c, sizeof *c, A_CONDITION, PC);
    return thrd_success;
}
void cnd_destroy(cnd_t *c) { end_life(c, sizeof *c, A_CONDITION, PC); }
int cnd_wait(cnd_t *c, mtx_t *m) { return thrd_of(ask(MZ_COND_WAIT, (long)c, (long)m, PC)); }
int cnd_timedwait(cnd_t *c, mtx_t *m, const struct timespec *t) {
    read_time(t, PC);
    return thrd_of(waited(ask(MZ_COND_TIMEDWAIT, (long)c, (long)m, PC), t, PC));
}
int cnd_signal(cnd_t *c) { return thrd_of(ask(MZ_COND_SIGNAL, (long)c, 0, PC)); }
int cnd_broadcast(cnd_t *c) { return thrd_of(ask(MZ_COND_BROADCAST, (long)c, 0, PC)); }
void call_once(once_flag *o, void (*f)(void)) { once((int *)o, f, PC); }
int tss_create(tss_t *k, tss_dtor_t d) {
    tss_t made = (tss_t)ask(MZ_KEY_CREATE, (long)d, 0, PC);
    plain(k, sizeof *k, 1, PC);
    *k = made;
    return thrd_success;
}
void tss_delete(tss_t k) { ask(MZ_KEY_DELETE, (long)k, 0, PC); }
void *tss_get(tss_t k) { return (void *)ask(MZ_KEY_GET, (long)k, 0, PC); }
int tss_set(tss_t k, void *v) { ask(MZ_KEY_SET, (long)k, (long)v, PC); return thrd_success; }
