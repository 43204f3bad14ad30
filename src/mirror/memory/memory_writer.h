/*
 * memory_writer: the writer of a world in memory: each write is applied to a memory_store a moment later, in order.
 *
 * A write for which there is no memory ends the process: a world in memory has nowhere else to go.
 */
#ifndef BERTH_MIRROR_MEMORY_WRITER_H
#define BERTH_MIRROR_MEMORY_WRITER_H

#include "mirror/memory/memory_store.h"

enum memory_verb { MEMORY_CREATE, MEMORY_PATCH, MEMORY_REMOVE };

struct memory_write { /* a write under way */
    struct memory_write *next;
    enum memory_verb verb;
    int64_t due;
    const struct kind *kind;
    struct str ns, name, sub, body, uid, propagation; /* NUL-terminated, in `text` */
    enum patch_type type;
    uint64_t rv;
    int64_t grace;
    write_done *done;
    void *ctx;
    char text[];
};

struct memory_writer {
    struct writer writer; /* first */
    struct memory_store *store;
    struct timer *timer;
    struct memory_write *first, **last;
    int64_t latency_ns; /* from a call to its application */
    uint64_t writes;    /* applied or failed so far */
    /* May be NULL. before: not 0 and the write is not applied; > 0 answers success without an object, < 0 that error.
     * after: sees each answer, and may change it. */
    int (*before)(void *ctx, const struct memory_write *w, struct err *err);
    void (*after)(void *ctx, const struct memory_write *w, struct write_result *res);
    void *ctx;
};

int memory_writer_init(struct memory_writer *w, struct memory_store *store); /* ERR_NOMEM */
/* Writes under way are answered with ERR_GONE. */
void memory_writer_release(struct memory_writer *w);

#endif
