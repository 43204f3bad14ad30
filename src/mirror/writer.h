/*
 * writer: how controllers change the world, the same in all worlds.
 *
 * Asynchronous: each call copies what it needs and returns; `done` comes later on the loop thread, exactly once, never
 * inside the call. When it says that a write succeeded, the mirror shows that write, or what came after it: controllers
 * read what they wrote. Conflicts are normal: the controller looks at the mirror again and decides again. Embedded, a
 * write goes through the pipeline of an HTTP request (server); on a cluster it is one (kube); in the simulator it is
 * applied to the simulated server. A controller changes objects by patch only and never puts back what it decoded.
 */
#ifndef BERTH_MIRROR_WRITER_H
#define BERTH_MIRROR_WRITER_H

#include "mirror/object.h"

struct writer;

struct write_result {
    int code;       /* 0 or enum err_code */
    struct err err; /* when code != 0 */
    /* The new state when code == 0 (the last one for a delete); borrowed; may be NULL */
    const struct object *obj;
};
typedef void write_done(void *ctx, const struct write_result *r);

enum patch_type { PATCH_MERGE, PATCH_JSON, PATCH_STRATEGIC, PATCH_APPLY };

struct delete_options {
    struct str uid;         /* precondition, or empty */
    uint64_t rv;            /* precondition, or 0 */
    int64_t grace_seconds;  /* -1: the kind's default */
    struct str propagation; /* "Background", "Foreground", "Orphan", or empty */
};

struct writer {
    /* Who writes, for audit, events and managed fields: "berth-job-controller". Static. */
    void (*create)(struct writer *w, const char *who, const struct kind *k, struct str ns,
                   struct str json, write_done *done, void *ctx);
    /* subresource: "" or "status", ... The patch may carry metadata.resourceVersion (and uid) to be conditional. */
    void (*patch)(struct writer *w, const char *who, const struct kind *k, struct str ns,
                  struct str name, const char *subresource, enum patch_type type, struct str body,
                  write_done *done, void *ctx);
    void (*remove)(struct writer *w, const char *who, const struct kind *k, struct str ns,
                   struct str name, const struct delete_options *o, write_done *done, void *ctx);
    /* Whether a write that nobody waits for would take its place from nothing that matters. NULL: always. */
    bool (*room)(struct writer *w);
};

static inline void writer_create(struct writer *w, const char *who, const struct kind *k,
                                 struct str ns, struct str json, write_done *done, void *ctx) {
    w->create(w, who, k, ns, json, done, ctx);
}
static inline void writer_patch(struct writer *w, const char *who, const struct kind *k,
                                struct str ns, struct str name, const char *subresource,
                                enum patch_type type, struct str body, write_done *done,
                                void *ctx) {
    w->patch(w, who, k, ns, name, subresource, type, body, done, ctx);
}
static inline void writer_remove(struct writer *w, const char *who, const struct kind *k,
                                 struct str ns, struct str name, const struct delete_options *o,
                                 write_done *done, void *ctx) {
    w->remove(w, who, k, ns, name, o, done, ctx);
}
static inline bool writer_room(struct writer *w) {
    return w->room == NULL || w->room(w);
}

#endif
