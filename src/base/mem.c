/* mem: the one door to the heap, with fault injection. See mem.h. */
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static _Thread_local uint64_t fault_left;
static _Thread_local int fault_forever;
static _Thread_local int fault_hit;

void mem_fault(uint64_t nth, int forever) {
    fault_left = nth;
    fault_forever = forever;
    fault_hit = 0;
}

int mem_fault_hit(void) {
    return fault_hit;
}

static int fails_now(void) {
    if (fault_left == 0) {
        return fault_hit && fault_forever;
    }
    if (--fault_left > 0) {
        return 0;
    }
    fault_hit = 1;
    return 1;
}

void *mem_alloc(size_t n) {
    return fails_now() ? NULL : malloc(n ? n : 1);
}

void *mem_zalloc(size_t n) {
    return fails_now() ? NULL : calloc(1, n ? n : 1);
}

void *mem_array(size_t count, size_t size) {
    return fails_now() ? NULL : calloc(count ? count : 1, size ? size : 1);
}

void *mem_realloc(void *p, size_t n) {
    return fails_now() ? NULL : realloc(p, n ? n : 1);
}

void mem_free(void *p) {
    free(p);
}

void mem_free_secret(void *p, size_t n) {
    if (p) {
        explicit_bzero(p, n);
        free(p);
    }
}

char *mem_cstr(struct str s) {
    char *c = mem_alloc(s.n + 1);
    if (c) {
        if (s.n) {
            memcpy(c, s.p, s.n);
        }
        c[s.n] = 0;
    }
    return c;
}
