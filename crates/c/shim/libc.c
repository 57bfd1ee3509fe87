
/* ---- memory ---- */

void *malloc(size_t n) { return (void *)ask(MZ_MALLOC, (long)n, 16, PC); }
void *calloc(size_t n, size_t m) {
    size_t all;
    if (__builtin_mul_overflow(n, m, &all)) return 0;
    return (void *)ask(MZ_MALLOC, (long)all, 16, PC);
}
void *aligned_alloc(size_t align, size_t n) { return (void *)ask(MZ_MALLOC, n, align, PC); }
void *memalign(size_t align, size_t n) { return (void *)ask(MZ_MALLOC, n, align, PC); }
int posix_memalign(void **p, size_t align, size_t n) {
    *p = (void *)ask(MZ_MALLOC, n, align, PC);
    return 0;
}
void free(void *p) { ask(MZ_FREE, (long)p, 0, PC); }
static void copy(char *to, const char *from, size_t n) {
    for (size_t i = 0; i < n; i++) to[i] = from[i];
}
void *realloc(void *p, size_t n) {
    if (!p) return (void *)ask(MZ_MALLOC, (long)n, 16, PC);
    size_t old = (size_t)ask(MZ_SIZE, (long)p, 0, PC);
    void *q = (void *)ask(MZ_MALLOC, (long)n, 16, PC);
    size_t least = old < n ? old : n;
    plain(p, least, 0, PC);
    copy(q, p, least);
    ask(MZ_FREE, (long)p, 0, PC);
    return q;
}

void *memcpy(void *to, const void *from, size_t n) {
    plain(from, n, 0, PC);
    plain(to, n, 1, PC);
    copy(to, from, n);
    return to;
}
void *memmove(void *to, const void *from, size_t n) {
    plain(from, n, 0, PC);
    plain(to, n, 1, PC);
    if ((char *)to <= (const char *)from) copy(to, from, n);
    else for (size_t i = n; i-- > 0;) ((char *)to)[i] = ((const char *)from)[i];
    return to;
}
void *memset(void *to, int c, size_t n) {
    plain(to, n, 1, PC);
    for (size_t i = 0; i < n; i++) ((char *)to)[i] = (char)c;
    return to;
}
void *__tsan_memcpy(void *a, const void *b, size_t n) { return memcpy(a, b, n); }
void *__tsan_memmove(void *a, const void *b, size_t n) { return memmove(a, b, n); }
void *__tsan_memset(void *a, int c, size_t n) { return memset(a, c, n); }
void bzero(void *to, size_t n) { memset(to, 0, n); }
int memcmp(const void *a, const void *b, size_t n) {
    const unsigned char *x = a, *y = b;
    plain(a, n, 0, PC);
    plain(b, n, 0, PC);
    for (size_t i = 0; i < n; i++)
        if (x[i] != y[i]) return x[i] - y[i];
    return 0;
}
static __attribute__((always_inline)) inline size_t length(const char *s, const void *pc) {
    size_t n = 0;
    plain(s, 1, 0, pc);
    while (s[n]) n++;
    plain(s, n + 1, 0, pc);
    return n;
}
size_t strlen(const char *s) { return length(s, PC); }
int strcmp(const char *a, const char *b) {
    length(a, PC);
    length(b, PC);
    while (*a && *a == *b) a++, b++;
    return (unsigned char)*a - (unsigned char)*b;
}
int strncmp(const char *a, const char *b, size_t n) {
    size_t i = 0;
    while (i < n && a[i] && a[i] == b[i]) i++;
    size_t seen = i < n ? i + 1 : n;
    plain(a, seen, 0, PC);
    plain(b, seen, 0, PC);
    return i < n ? (unsigned char)a[i] - (unsigned char)b[i] : 0;
}
char *strcpy(char *to, const char *from) {
    size_t n = length(from, PC) + 1;
    plain(to, n, 1, PC);
    copy(to, from, n);
    return to;
}
char *strncpy(char *to, const char *from, size_t n) {
    size_t i = 0;
    while (i < n && from[i]) i++;
    plain(from, i < n ? i + 1 : n, 0, PC);
    plain(to, n, 1, PC);
    copy(to, from, i);
    for (; i < n; i++) to[i] = 0;
    return to;
}
char *strcat(char *to, const char *from) {
    size_t at = length(to, PC), n = length(from, PC) + 1;
    plain(to + at, n, 1, PC);
    copy(to + at, from, n);
    return to;
}
char *strdup(const char *s) {
    size_t n = length(s, PC) + 1;
    char *to = (char *)ask(MZ_MALLOC, (long)n, 16, PC);
    copy(to, s, n);
    return to;
}
char *strchr(const char *s, int c) {
    for (length(s, PC);; s++) {
        if (*s == (char)c) return (char *)s;
        if (!*s) return 0;
    }
}

/* ---- output: it is told where steps are told, and goes nowhere ---- */

static int print(const char *text, size_t n, const void *pc) {
    ask(MZ_PRINT, (long)text, (long)n, pc);
    return (int)n;
}
static int formatted(FILE *f, const char *format, va_list all, const void *pc) {
    char text[1024];
    if (f != stdout && f != stderr) fail(MZ_REFUSED, "fprintf to a file", pc);
    int n = vsnprintf(text, sizeof text, format, all);
    return print(text, n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1, pc);
}
#define FORMATTED(f) \
    va_list all; va_start(all, format); int n = formatted(f, format, all, PC); va_end(all); return n;
int printf(const char *format, ...) { FORMATTED(stdout) }
int __printf_chk(int flag, const char *format, ...) { (void)flag; FORMATTED(stdout) }
int fprintf(FILE *f, const char *format, ...) { FORMATTED(f) }
int __fprintf_chk(FILE *f, int flag, const char *format, ...) { (void)flag; FORMATTED(f) }
int vprintf(const char *format, va_list all) { return formatted(stdout, format, all, PC); }
int vfprintf(FILE *f, const char *format, va_list all) { return formatted(f, format, all, PC); }
int puts(const char *s) { return print(s, length(s, PC), PC); }
int putchar(int c) { char one = (char)c; print(&one, 1, PC); return c; }
int fputc(int c, FILE *f) { char one = (char)c; (void)f; print(&one, 1, PC); return c; }
int putc(int c, FILE *f) { char one = (char)c; (void)f; print(&one, 1, PC); return c; }
int fputs(const char *s, FILE *f) {
    if (f != stdout && f != stderr) fail(MZ_REFUSED, "fputs to a file", PC);
    return print(s, length(s, PC), PC);
}
size_t fwrite(const void *p, size_t n, size_t m, FILE *f) {
    if (f != stdout && f != stderr) fail(MZ_REFUSED, "fwrite to a file", PC);
    print(p, n * m, PC);
    return m;
}
void perror(const char *s) { if (s) print(s, length(s, PC), PC); }
int fflush(FILE *f) { (void)f; return 0; }
void setbuf(FILE *f, char *b) { (void)f; (void)b; }
int setvbuf(FILE *f, char *b, int m, size_t n) { (void)f; (void)b; (void)m; (void)n; return 0; }

/* ---- ends and failures ---- */

_Noreturn void __assert_fail(const char *e, const char *file, unsigned line, const char *f) {
    (void)file; (void)line; (void)f;
    fail(MZ_ASSERT, e, PC);
}
_Noreturn void abort(void) { fail(MZ_ABORT, "abort", PC); }
_Noreturn void __stack_chk_fail(void) { fail(MZ_ABORT, "a stack buffer is overrun", PC); }
int atexit(void (*f)(void)) { (void)f; return 0; }
int __cxa_atexit(void (*f)(void *), void *x, void *d) { (void)f; (void)x; (void)d; return 0; }
int __cxa_thread_atexit(void (*f)(void *), void *x, void *d) {
    (void)f; (void)x; (void)d;
    fail(MZ_REFUSED, "a thread-local object with a destructor", PC);
}
int __cxa_thread_atexit_impl(void (*f)(void *), void *x, void *d) {
    (void)f; (void)x; (void)d;
    fail(MZ_REFUSED, "a thread-local object with a destructor", PC);
}
#define EXIT(name)                        \
    _Noreturn void name(int status) {     \
        ask(MZ_EXIT, status, 0, PC);      \
        __builtin_unreachable();          \
    }
EXIT(exit) EXIT(_exit) EXIT(_Exit) EXIT(quick_exit)

/* ---- SV-COMP ---- */

void __VERIFIER_assume(int c) { if (!c) fail(MZ_ASSUME, "", PC); }
_Noreturn void __VERIFIER_error(void) { fail(MZ_ABORT, "__VERIFIER_error", PC); }
void __VERIFIER_atomic_begin(void) { ask(MZ_ATOMIC_BEGIN, 0, (long)SP, PC); }
void __VERIFIER_atomic_end(void) { ask(MZ_ATOMIC_END, 0, 0, PC); }
_Bool __VERIFIER_nondet_bool(void) { return (_Bool)ask(MZ_CHOOSE, 0, 2, PC); }
#define NONDET(name, T) \
    T __VERIFIER_nondet_##name(void) { return (T)ask(MZ_NONDET, (long)#name, 0, PC); }
NONDET(char, char) NONDET(uchar, unsigned char) NONDET(short, short)
NONDET(ushort, unsigned short) NONDET(int, int) NONDET(uint, unsigned)
NONDET(long, long) NONDET(ulong, unsigned long) NONDET(longlong, long long)
NONDET(ulonglong, unsigned long long) NONDET(unsigned, unsigned) NONDET(size_t, size_t)
int rand(void) { fail(MZ_REFUSED, "rand: take __VERIFIER_nondet_int and --nondet", PC); }

/* ---- time stands still ---- */

time_t time(time_t *t) { if (t) *t = 0; return 0; }
clock_t clock(void) { return 0; }
int clock_gettime(clockid_t c, struct timespec *t) { (void)c; *t = (struct timespec){0, 0}; return 0; }
int gettimeofday(struct timeval *t, void *z) {
    (void)z;
    if (t) ((long *)t)[0] = ((long *)t)[1] = 0;
    return 0;
}
char *getenv(const char *n) { (void)n; return 0; }
long sysconf(int n) { (void)n; return 4; }

/* ---- what parts of the C++ library would call; the program must not ---- */

char __libc_single_threaded = 0;
#define REFUSED(name)                                \
    long refused_##name(void) __asm__(#name);        \
    long refused_##name(void) { fail(MZ_REFUSED, "`" #name "`", PC); }
REFUSED(open) REFUSED(close) REFUSED(read) REFUSED(writev) REFUSED(lseek)
REFUSED(ioctl) REFUSED(poll) REFUSED(fstat) REFUSED(syscall) REFUSED(arc4random)
REFUSED(getentropy) REFUSED(fopen) REFUSED(fclose) REFUSED(fileno) REFUSED(secure_getenv)
int get_nprocs(void) { return 4; }
