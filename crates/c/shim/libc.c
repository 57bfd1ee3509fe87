
/* A function of this file may make several accesses in one call, so its own frame is a part of the
   local state by which the runtime recognises loops. */
#undef SP
#define SP NULL

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
    if (align < sizeof(void *) || (align & (align - 1))) return EINVAL;
    void *q = (void *)ask(MZ_MALLOC, n, align, PC);
    if (!q) return ENOMEM;
    plain(p, sizeof *p, 1, PC);
    *p = q;
    return 0;
}
void free(void *p) { ask(MZ_FREE, (long)p, 0, PC); }
static void copy(char *to, const char *from, size_t n) {
    for (size_t i = 0; i < n; i++) to[i] = from[i];
}
void *realloc(void *p, size_t n) {
    if (!p) return (void *)ask(MZ_MALLOC, (long)n, 16, PC);
    size_t old = (size_t)ask(MZ_SIZE, (long)p, 0, PC);
    if (n == 0) {
        ask(MZ_FREE, (long)p, 0, PC);
        return 0;
    }
    void *q = (void *)ask(MZ_MALLOC, (long)n, 16, PC);
    if (!q) return 0;
    size_t least = old < n ? old : n;
    plain(p, least, 0, PC);
    copy(q, p, least);
    ask(MZ_FREE, (long)p, 0, PC);
    return q;
}

/* Functions of the compiler have the names of the second kind. `INLINE` functions announce accesses
   for the function that calls them. */
#define INLINE static __attribute__((always_inline)) inline
INLINE void *copied(void *to, const void *from, size_t n, const void *pc) {
    plain(from, n, 0, pc);
    /* If both accesses are steps, which have at most eight bytes, others may write in between. */
    char read[8];
    if (n <= sizeof read) copy(read, from, n), from = read;
    plain(to, n, 1, pc);
    copy(to, from, n);
    return to;
}
INLINE void *moved(void *to, const void *from, size_t n, const void *pc) {
    if (n <= 8) return copied(to, from, n, pc);
    plain(from, n, 0, pc);
    plain(to, n, 1, pc);
    if ((char *)to <= (const char *)from) copy(to, from, n);
    else for (size_t i = n; i-- > 0;) ((char *)to)[i] = ((const char *)from)[i];
    return to;
}
INLINE void *filled(void *to, int c, size_t n, const void *pc) {
    plain(to, n, 1, pc);
    for (size_t i = 0; i < n; i++) ((char *)to)[i] = (char)c;
    return to;
}
void *memcpy(void *to, const void *from, size_t n) { return copied(to, from, n, PC); }
void *memmove(void *to, const void *from, size_t n) { return moved(to, from, n, PC); }
void *memset(void *to, int c, size_t n) { return filled(to, c, n, PC); }
void *__tsan_memcpy(void *to, const void *from, size_t n) { return copied(to, from, n, PC); }
void *__tsan_memmove(void *to, const void *from, size_t n) { return moved(to, from, n, PC); }
void *__tsan_memset(void *to, int c, size_t n) { return filled(to, c, n, PC); }
void bzero(void *to, size_t n) { filled(to, 0, n, PC); }
int memcmp(const void *a, const void *b, size_t n) {
    const unsigned char *x = a, *y = b;
    plain(a, n, 0, PC);
    plain(b, n, 0, PC);
    for (size_t i = 0; i < n; i++)
        if (x[i] != y[i]) return x[i] - y[i];
    return 0;
}
INLINE size_t length(const char *s, const void *pc) {
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
    if (to) copy(to, s, n);
    return to;
}
/* The length of a text of at most n characters, which is read so far. */
INLINE size_t short_length(const char *s, size_t n, const void *pc) {
    size_t i = 0;
    while (i < n && s[i]) i++;
    plain(s, i < n ? i + 1 : n, 0, pc);
    return i;
}
size_t strnlen(const char *s, size_t n) { return short_length(s, n, PC); }
char *strndup(const char *s, size_t n) {
    size_t least = short_length(s, n, PC);
    char *to = (char *)ask(MZ_MALLOC, (long)least + 1, 16, PC);
    if (!to) return 0;
    copy(to, s, least);
    to[least] = 0;
    return to;
}
char *strncat(char *to, const char *from, size_t n) {
    size_t at = length(to, PC), least = short_length(from, n, PC);
    plain(to + at, least + 1, 1, PC);
    copy(to + at, from, least);
    to[at + least] = 0;
    return to;
}
char *stpcpy(char *to, const char *from) {
    size_t n = length(from, PC);
    plain(to, n + 1, 1, PC);
    copy(to, from, n + 1);
    return to + n;
}
void *memchr(const void *s, int c, size_t n) {
    const char *all = s;
    size_t i = 0;
    while (i < n && all[i] != (char)c) i++;
    plain(s, i < n ? i + 1 : n, 0, PC);
    return i < n ? (void *)(all + i) : 0;
}
/* Wide characters. The C++ library calls these functions, too. */
wchar_t *wmemcpy(wchar_t *to, const wchar_t *from, size_t n) {
    plain(from, n * sizeof *from, 0, PC);
    plain(to, n * sizeof *to, 1, PC);
    copy((char *)to, (const char *)from, n * sizeof *to);
    return to;
}
wchar_t *wmemmove(wchar_t *to, const wchar_t *from, size_t n) {
    plain(from, n * sizeof *from, 0, PC);
    plain(to, n * sizeof *to, 1, PC);
    if (to <= from) copy((char *)to, (const char *)from, n * sizeof *to);
    else for (size_t i = n; i-- > 0;) to[i] = from[i];
    return to;
}
wchar_t *wmemset(wchar_t *to, wchar_t c, size_t n) {
    plain(to, n * sizeof *to, 1, PC);
    for (size_t i = 0; i < n; i++) to[i] = c;
    return to;
}
int wmemcmp(const wchar_t *a, const wchar_t *b, size_t n) {
    plain(a, n * sizeof *a, 0, PC);
    plain(b, n * sizeof *b, 0, PC);
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}
wchar_t *wmemchr(const wchar_t *s, wchar_t c, size_t n) {
    plain(s, n * sizeof *s, 0, PC);
    for (size_t i = 0; i < n; i++)
        if (s[i] == c) return (wchar_t *)s + i;
    return 0;
}
INLINE size_t wide_length(const wchar_t *s, const void *pc) {
    size_t n = 0;
    plain(s, sizeof *s, 0, pc);
    while (s[n]) n++;
    plain(s, (n + 1) * sizeof *s, 0, pc);
    return n;
}
size_t wcslen(const wchar_t *s) { return wide_length(s, PC); }
int wcscmp(const wchar_t *a, const wchar_t *b) {
    wide_length(a, PC);
    wide_length(b, PC);
    while (*a && *a == *b) a++, b++;
    return *a < *b ? -1 : *a > *b;
}

static int among(const char *all, char c) {
    while (*all && *all != c) all++;
    return *all != 0;
}
char *strchr(const char *s, int c) {
    for (length(s, PC);; s++) {
        if (*s == (char)c) return (char *)s;
        if (!*s) return 0;
    }
}
char *strrchr(const char *s, int c) {
    for (size_t n = length(s, PC) + 1; n-- > 0;)
        if (s[n] == (char)c) return (char *)s + n;
    return 0;
}
char *strstr(const char *s, const char *part) {
    size_t all = length(s, PC), n = length(part, PC);
    for (size_t at = 0; at + n <= all; at++) {
        size_t i = 0;
        while (i < n && s[at + i] == part[i]) i++;
        if (i == n) return (char *)s + at;
    }
    return 0;
}
/* How many characters at the start of a text are, or are not, among others. */
INLINE size_t span(const char *s, const char *others, int are, const void *pc) {
    size_t n = 0, all = length(s, pc);
    length(others, pc);
    while (n < all && among(others, s[n]) == are) n++;
    return n;
}
size_t strspn(const char *s, const char *others) { return span(s, others, 1, PC); }
size_t strcspn(const char *s, const char *others) { return span(s, others, 0, PC); }
char *strpbrk(const char *s, const char *others) {
    s += span(s, others, 0, PC);
    return *s ? (char *)s : 0;
}

/* ---- output: the runtime keeps it for descriptions of steps, and prints nothing ---- */

int __vsnprintf_chk(char *, size_t, int, size_t, const char *, va_list);

/* Announces the memory that a format reads and writes through pointers. From the first argument
   with a number (`%1$s`) on, the format is skipped. */
static void announce_texts(const char *f, va_list given, const void *pc) {
    va_list all;
    va_copy(all, given);
    for (; *f; f++) {
        if (*f != '%') continue;
        int precision = -1, longs = 0, size_sized = 0;
        while (*++f && among("-+ #0'", *f)) {}
        if (*f == '*') (void)va_arg(all, int), f++;
        while (*f >= '0' && *f <= '9') f++;
        if (*f == '$') break;
        if (*f == '.') {
            precision = 0;
            if (*++f == '*') precision = va_arg(all, int), f++;
            while (*f >= '0' && *f <= '9') precision = 10 * precision + *f++ - '0';
        }
        for (; *f && among("hlqjztL", *f); f++) {
            if (*f == 'l' || *f == 'q') longs++;
            if (*f == 'j' || *f == 'z' || *f == 't') size_sized = 1;
            if (*f == 'L') longs = 3;
        }
        if (*f == '%' || *f == 'm') continue;
        if (!*f) break;
        if (*f == 's' && !longs) {
            const char *text = va_arg(all, const char *);
            if (!text) continue;
            size_t n = 0;
            plain(text, 1, 0, pc);
            while ((precision < 0 || n < (size_t)precision) && text[n]) n++;
            plain(text, precision < 0 || n < (size_t)precision ? n + 1 : n, 0, pc);
        } else if (among("aAeEfFgG", *f)) {
            if (longs == 3) (void)va_arg(all, long double);
            else (void)va_arg(all, double);
        } else if (*f == 'n') {
            plain(va_arg(all, void *), longs || size_sized ? 8 : 4, 1, pc);
        } else if (*f == 'p' || *f == 's' || longs || size_sized) {
            (void)va_arg(all, long);
        } else {
            (void)va_arg(all, int);
        }
    }
    va_end(all);
}

/* Does the same as `vsnprintf`, and announces the accesses. */
static int to_memory(char *to, size_t room, const char *format, va_list all, const void *pc) {
    va_list again;
    length(format, pc);
    announce_texts(format, all, pc);
    va_copy(again, all);
    int n = __vsnprintf_chk(0, 0, 0, ~(size_t)0, format, again);
    va_end(again);
    if (room == 0 || n < 0) return n;
    plain(to, (size_t)n < room ? (size_t)n + 1 : room, 1, pc);
    return __vsnprintf_chk(to, room, 0, ~(size_t)0, format, all);
}
#define TO_MEMORY(room) \
    va_list all; va_start(all, format); int n = to_memory(to, room, format, all, PC); va_end(all); return n;
#define NO_LIMIT ((size_t)0x7fffffff)
int vsnprintf(char *to, size_t n, const char *format, va_list all) {
    return to_memory(to, n, format, all, PC);
}
int vsprintf(char *to, const char *format, va_list all) {
    return to_memory(to, NO_LIMIT, format, all, PC);
}
int snprintf(char *to, size_t size, const char *format, ...) { TO_MEMORY(size) }
int sprintf(char *to, const char *format, ...) { TO_MEMORY(NO_LIMIT) }

static int print(const char *text, size_t n, const void *pc) {
    ask(MZ_PRINT, (long)text, (long)n, pc);
    return (int)n;
}
static void only_output(FILE *f, const char *name, const void *pc) {
    if (f != stdout && f != stderr) fail(MZ_REFUSED, name, pc);
}
/* Returns room for a text of `n` bytes: `small` if it is large enough, otherwise a new block. */
enum { SMALL = 512 };
static char *room(size_t n, char *small, const void *pc) {
    if (n <= SMALL) return small;
    char *block = (char *)ask(MZ_MALLOC, (long)n, 16, pc);
    if (!block) fail(MZ_REFUSED, "printing a text for which there is no memory", pc);
    return block;
}
static int formatted(FILE *f, const char *format, va_list all, const void *pc) {
    only_output(f, "`fprintf` to a file", pc);
    length(format, pc);
    announce_texts(format, all, pc);
    va_list again;
    va_copy(again, all);
    int n = __vsnprintf_chk(0, 0, 0, ~(size_t)0, format, again);
    va_end(again);
    if (n < 0) return n;
    char small[SMALL], *text = room((size_t)n + 1, small, pc);
    __vsnprintf_chk(text, (size_t)n + 1, 0, ~(size_t)0, format, all);
    print(text, (size_t)n, pc);
    if (text != small) ask(MZ_FREE, (long)text, 0, pc);
    return n;
}
#define FORMATTED(f) \
    va_list all; va_start(all, format); int n = formatted(f, format, all, PC); va_end(all); return n;
int printf(const char *format, ...) { FORMATTED(stdout) }
int fprintf(FILE *f, const char *format, ...) { FORMATTED(f) }
int vprintf(const char *format, va_list all) { return formatted(stdout, format, all, PC); }
int vfprintf(FILE *f, const char *format, va_list all) { return formatted(f, format, all, PC); }
/* Prints a text and the end of its line, as one output. */
static int line(const char *s, const char *rest, const void *pc) {
    size_t n = length(s, pc), m = 0;
    while (rest[m]) m++;
    char small[SMALL], *text = room(n + m, small, pc);
    copy(text, s, n);
    copy(text + n, rest, m);
    print(text, n + m, pc);
    if (text != small) ask(MZ_FREE, (long)text, 0, pc);
    return (int)(n + m);
}
int puts(const char *s) { return line(s, "\n", PC); }
static int put_one(int c, FILE *f, const void *pc) {
    char one = (char)c;
    only_output(f, "`fputc` to a file", pc);
    print(&one, 1, pc);
    return (unsigned char)c;
}
int putchar(int c) { return put_one(c, stdout, PC); }
int fputc(int c, FILE *f) { return put_one(c, f, PC); }
int putc(int c, FILE *f) { return put_one(c, f, PC); }
int fputs(const char *s, FILE *f) {
    only_output(f, "`fputs` to a file", PC);
    return print(s, length(s, PC), PC);
}
size_t fwrite(const void *p, size_t n, size_t m, FILE *f) {
    only_output(f, "`fwrite` to a file", PC);
    plain(p, n * m, 0, PC);
    print(p, n * m, PC);
    return m;
}
void perror(const char *s) {
    int is = errno;
    line(s ? s : "", is ? ": an error\n" : ": no error\n", PC);
}
int fflush(FILE *f) { (void)f; return 0; }
void setbuf(FILE *f, char *b) { (void)f; (void)b; }
int setvbuf(FILE *f, char *b, int m, size_t n) { (void)f; (void)b; (void)m; (void)n; return 0; }

/* ---- ends and failures ---- */

_Noreturn void __assert_fail(const char *e, const char *file, unsigned line, const char *f) {
    (void)file; (void)line; (void)f;
    fail(MZ_ASSERT, e, PC);
}
_Noreturn void abort(void) { fail(MZ_ABORT, "abort", PC); }

/* Calls the function of a thread, or `main`. Frames below belong to the tool: for the unwinder, the
   stack ends here, so that an exception that no function catches calls `std::terminate`. */
__attribute__((visibility("default"))) size_t mazurka_bottom(size_t (*f)(size_t, size_t, size_t),
                                                             size_t a, size_t b, size_t c) {
    __asm__ volatile(".cfi_undefined rip");
    volatile size_t result = f(a, b, c); /* Not a jump. */
    return result;
}

/* C++ programs are linked with `--wrap` for these functions: a failure in the C++ library is told at
   the last `throw` that no handler has caught. */
void __real___cxa_throw(void *e, void *type, void (*d)(void *));
void __real___cxa_rethrow(void);
void *__real___cxa_begin_catch(void *e);
void __real__ZSt9terminatev(void);
void __wrap___cxa_throw(void *e, void *type, void (*d)(void *)) {
    ask(MZ_THROWS, 1, 0, PC);
    __real___cxa_throw(e, type, d);
}
void __wrap___cxa_rethrow(void) {
    ask(MZ_THROWS, 1, 0, PC);
    __real___cxa_rethrow();
}
void *__wrap___cxa_begin_catch(void *e) {
    ask(MZ_THROWS, 0, 0, PC);
    return __real___cxa_begin_catch(e);
}
void __wrap__ZSt9terminatev(void) {
    ask(MZ_THROWS, 2, 0, PC);
    __real__ZSt9terminatev();
}

_Noreturn void __stack_chk_fail(void) { fail(MZ_ABORT, "a stack buffer is overrun", PC); }
/* Functions that run at the end of the program or of a thread, the last registered one first. */
int __cxa_atexit(void (*f)(void *), void *x, void *d) {
    (void)d;
    ask(MZ_AT_EXIT, (long)f, (long)x, PC);
    return 0;
}
int atexit(void (*f)(void)) {
    ask(MZ_AT_EXIT, (long)f, 0, PC);
    return 0;
}
int __cxa_thread_atexit(void (*f)(void *), void *x, void *d) {
    (void)d;
    ask(MZ_AT_THREAD_END, (long)f, (long)x, PC);
    return 0;
}
int __cxa_thread_atexit_impl(void (*f)(void *), void *x, void *d) {
    (void)d;
    ask(MZ_AT_THREAD_END, (long)f, (long)x, PC);
    return 0;
}
static void run_last(unsigned list) {
    void (*f)(void *);
    while ((f = (void (*)(void *))ask(MZ_LAST_FUNCTION, list, 0, PC))) {
        f((void *)ask(MZ_TAKE_LAST, list, 0, PC));
    }
}
__attribute__((visibility("default"))) void mazurka_program_ends(void) {
    run_last(0);
    run_last(1);
}
__attribute__((visibility("default"))) void mazurka_thread_ends(void) {
    run_last(0);
    run_key_destructors();
    if (ask(MZ_LAST_THREAD, 0, 0, PC)) {
        mazurka_program_ends();
        ask(MZ_EXIT, 0, 0, PC);
    }
}
_Noreturn void exit(int status) {
    mazurka_program_ends();
    ask(MZ_EXIT, status, 0, PC);
    __builtin_unreachable();
}
#define EXIT(name)                        \
    _Noreturn void name(int status) {     \
        ask(MZ_EXIT, status, 0, PC);      \
        __builtin_unreachable();          \
    }
EXIT(_exit) EXIT(_Exit) EXIT(quick_exit)

/* ---- SV-COMP ---- */

void __VERIFIER_assume(int c) { if (!c) fail(MZ_ASSUME, "", PC); }
_Noreturn void __VERIFIER_error(void) { fail(MZ_ABORT, "__VERIFIER_error", PC); }
void __VERIFIER_atomic_begin(void) { ask(MZ_ATOMIC_BEGIN, 0, (long)SP, PC); }
void __VERIFIER_atomic_end(void) { ask(MZ_ATOMIC_END, 0, 0, PC); }
#define NONDET(name, T) \
    T __VERIFIER_nondet_##name(void) { return (T)ask(MZ_NONDET, (long)#name, 0, PC); }
NONDET(bool, _Bool) NONDET(char, char) NONDET(uchar, unsigned char) NONDET(short, short)
NONDET(ushort, unsigned short) NONDET(int, int) NONDET(uint, unsigned)
NONDET(long, long) NONDET(ulong, unsigned long) NONDET(longlong, long long)
NONDET(ulonglong, unsigned long long) NONDET(unsigned, unsigned) NONDET(size_t, size_t)
int rand(void) { fail(MZ_REFUSED, "`rand`: take __VERIFIER_nondet_int and --inputs", PC); }

/* ---- time: the clock of the thread, in nanoseconds ---- */

time_t time(time_t *t) {
    time_t now = ask(MZ_NOW, 0, 0, PC) / 1000000000L;
    if (!t) return now;
    plain(t, sizeof *t, 1, PC);
    *t = now;
    return now;
}
clock_t clock(void) { return ask(MZ_NOW, 0, 0, PC) / 1000; }
int clock_gettime(clockid_t c, struct timespec *t) {
    (void)c;
    long now = ask(MZ_NOW, 0, 0, PC);
    plain(t, sizeof *t, 1, PC);
    *t = (struct timespec){now / 1000000000L, now % 1000000000L};
    return 0;
}
int gettimeofday(struct timeval *t, void *z) {
    (void)z;
    long now = ask(MZ_NOW, 0, 0, PC);
    if (!t) return 0;
    plain(t, 2 * sizeof(long), 1, PC);
    ((long *)t)[0] = now / 1000000000L, ((long *)t)[1] = now % 1000000000L / 1000;
    return 0;
}
char *getenv(const char *n) { (void)n; return 0; }
long sysconf(int n) { (void)n; return 4; }

/* ---- functions that parts of the C++ library call; the program itself must not use them ---- */

char __libc_single_threaded = 0;
#define REFUSED(name)                                \
    long refused_##name(void) __asm__(#name);        \
    long refused_##name(void) { fail(MZ_REFUSED, "`" #name "`", PC); }
REFUSED(open) REFUSED(close) REFUSED(read) REFUSED(writev) REFUSED(lseek)
REFUSED(ioctl) REFUSED(poll) REFUSED(fstat) REFUSED(arc4random)
REFUSED(getentropy) REFUSED(fopen) REFUSED(fclose) REFUSED(fileno) REFUSED(secure_getenv)
REFUSED(getc) REFUSED(ungetc) REFUSED(getwc) REFUSED(ungetwc) REFUSED(putwc) REFUSED(fread)
REFUSED(fseeko64) REFUSED(ftello64) REFUSED(fdopen) REFUSED(fopen64) REFUSED(fstat64)
REFUSED(lseek64) REFUSED(write) REFUSED(iconv) REFUSED(iconv_open) REFUSED(iconv_close)
int get_nprocs(void) { return 4; }
