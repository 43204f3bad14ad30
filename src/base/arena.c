/* arena: memory freed at once. See arena.h. */
#include "base/arena.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define POISON(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

enum {
    BLOCK_MIN = 4096,
    BLOCK_MAX = 1 << 20,
    ALIGN = alignof(max_align_t),
    SPARE_SIZES = 4,       /* twice, four, ... times BLOCK_MIN */
    SPARE_BYTES = 8 << 20, /* in each thread; a write holds some 60 KiB until it is on disk */
};

struct arena_block {
    struct arena_block *next;
    size_t size, used; /* of data */
    alignas(max_align_t) char data[];
};

void arena_init(struct arena *a, size_t max_bytes) {
    *a = (struct arena){.max = max_bytes};
}

/*
 * Blocks that were given back, for the next that asks: a request needs three or four of them for a moment, and malloc
 * joins and splits pieces of this size each time. They are the thread's, so that an arena at rest costs its smallest
 * block alone. Not where the sanitizer watches: there each block is its own.
 */
#if !defined(__SANITIZE_ADDRESS__)
struct spares {
    struct arena_block *first[SPARE_SIZES];
    size_t bytes;
    bool known; /* to the key, whose destructor empties it */
};

static _Thread_local struct spares spares;
static pthread_key_t spares_key;
static pthread_once_t spares_once = PTHREAD_ONCE_INIT;
static bool spares_usable;

static void spares_free(void *p) {
    struct spares *s = p;
    for (size_t i = 0; i < SPARE_SIZES; i++) {
        for (struct arena_block *b = s->first[i], *next; b; b = next) {
            next = b->next;
            mem_free(b);
        }
    }
    *s = (struct spares){0};
}

static void spares_make(void) {
    spares_usable = pthread_key_create(&spares_key, spares_free) == 0;
}

/* The row of blocks of exactly this size; SPARE_SIZES: none. */
static size_t spare_row(size_t size) {
    size_t i = 0;
    while (i < SPARE_SIZES && size != (size_t)BLOCK_MIN << (i + 1)) {
        i++;
    }
    return i;
}

static struct arena_block *spare_take(size_t size) {
    size_t i = spare_row(size);
    struct arena_block *b = i < SPARE_SIZES ? spares.first[i] : NULL;
    if (b) {
        spares.first[i] = b->next;
        spares.bytes -= b->size;
    }
    return b;
}

static bool spare_put(struct arena_block *b) {
    size_t i = spare_row(b->size);
    if (i == SPARE_SIZES || b->size > SPARE_BYTES - spares.bytes) {
        return false;
    }
    if (!spares.known) {
        (void)pthread_once(&spares_once, spares_make);
        spares.known = spares_usable && pthread_setspecific(spares_key, &spares) == 0;
        if (!spares.known) {
            return false;
        }
    }
    b->next = spares.first[i];
    spares.first[i] = b;
    spares.bytes += b->size;
    return true;
}
#else
static struct arena_block *spare_take(size_t size) {
    return NULL;
}

static bool spare_put(struct arena_block *b) {
    return false;
}
#endif

static void free_block(struct arena_block *b) {
    UNPOISON(b->data, b->size);
    if (!spare_put(b)) {
        mem_free(b);
    }
}

void arena_release(struct arena *a) {
    for (struct arena_block *b = a->blocks, *next; b; b = next) {
        next = b->next;
        free_block(b);
    }
    *a = (struct arena){.max = a->max, .steps_max = a->steps_max};
}

void arena_release_secret(struct arena *a) {
    for (struct arena_block *b = a->blocks; b; b = b->next) {
        explicit_bzero(b->data, b->used);
    }
    arena_release(a);
}

void arena_reset(struct arena *a) {
    while (a->blocks && a->blocks->next) {
        struct arena_block *b = a->blocks;
        a->blocks = b->next;
        a->used -= b->size;
        free_block(b);
    }
    if (a->blocks) {
        a->blocks->used = 0;
        POISON(a->blocks->data, a->blocks->size);
    }
    a->failed = 0;
    a->full = false;
    a->steps = 0;
}

int arena_ok(const struct arena *a) {
    return a->failed;
}

static int add_block(struct arena *a, size_t need) {
    size_t size = a->blocks ? a->blocks->size * 2 : BLOCK_MIN;
    size = size > BLOCK_MAX ? BLOCK_MAX : size;
    size = size < need ? need : size;
    size_t left = a->max - a->used;
    size = size > left ? left : size;
    if (size < need) {
        a->full = true;
        return ERR_NOMEM;
    }
    struct arena_block *b = spare_take(size);
    b = b ? b : mem_alloc(sizeof(*b) + size);
    if (b == NULL) {
        return ERR_NOMEM;
    }
    *b = (struct arena_block){.next = a->blocks, .size = size};
    POISON(b->data, b->size);
    a->blocks = b;
    a->used += size;
    return 0;
}

void *arena_alloc(struct arena *a, size_t n) {
    if (a->failed || n > a->max || n > SIZE_MAX - ALIGN) {
        a->full = a->full || !a->failed;
        a->failed = ERR_NOMEM;
        return NULL;
    }
    size_t need = (n + ALIGN - 1) / ALIGN * ALIGN;
    need = need ? need : ALIGN;
    if (a->blocks == NULL || a->blocks->size - a->blocks->used < need) {
        if (add_block(a, need) != 0) {
            a->failed = ERR_NOMEM;
            return NULL;
        }
    }
    char *p = a->blocks->data + a->blocks->used;
    a->blocks->used += need;
    UNPOISON(p, n ? n : 1);
    return p;
}

void *arena_zalloc(struct arena *a, size_t n) {
    void *p = arena_alloc(a, n);
    return p ? memset(p, 0, n) : NULL;
}

void *arena_array(struct arena *a, size_t count, size_t size) {
    size_t n;
    if (__builtin_mul_overflow(count, size, &n)) {
        a->failed = ERR_NOMEM;
        return NULL;
    }
    return arena_zalloc(a, n);
}

int arena_grow(struct arena *a, void **v, size_t *cap, size_t size) {
    size_t more = *cap > 0 ? *cap * 2 : 8;
    void *grown = arena_array(a, more, size);
    if (grown == NULL) {
        return ERR_NOMEM;
    }
    if (*cap > 0) {
        memcpy(grown, *v, *cap * size);
    }
    *v = grown;
    *cap = more;
    return 0;
}

struct str arena_str(struct arena *a, struct str s) {
    char *p = arena_alloc(a, s.n + 1);
    if (p == NULL) {
        return (struct str){NULL, 0};
    }
    if (s.n) {
        memcpy(p, s.p, s.n);
    }
    p[s.n] = 0;
    return (struct str){p, s.n};
}

struct str arena_f(struct arena *a, const char *fmt, ...) {
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    char *p = n >= 0 ? arena_alloc(a, (size_t)n + 1) : NULL;
    if (p) {
        vsnprintf(p, (size_t)n + 1, fmt, again);
    }
    va_end(again);
    va_end(ap);
    return p ? (struct str){p, (size_t)n} : (struct str){NULL, 0};
}
