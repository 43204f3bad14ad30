/*
 * admission: the tables, asked. A kind's row is found by its group and name once; later by the kind's address, since
 * every write of the embedded server asks.
 */
#include "control/admit/admission.h"

#include "base/mem.h"

enum { CACHED = 128 };

struct admission_asked {
    struct admission a;
    struct admission_context c;
    bool (*ready)(void *ctx);
    void *ready_ctx;
    struct {
        const struct kind *kind;
        const struct admission_row *row; /* NULL: nobody has a say */
    } cache[CACHED];
};

const struct admission_row *admission_find(const struct kind *k) {
    static const struct admission_row *const tables[] = {
        admission_job_rows,  admission_pod_rows,         admission_kueue_rows,
        admission_cron_rows, admission_reservation_rows, admission_key_rows};
    for (size_t t = 0; t < sizeof(tables) / sizeof(*tables); t++) {
        for (const struct admission_row *r = tables[t]; r->kind != NULL; r++) {
            if (str_is(str_of(k->kind), r->kind) && str_is(str_of(k->group), r->group)) {
                return r;
            }
        }
    }
    return NULL;
}

static const struct admission_row *row_of(struct admission_asked *a, const struct kind *k) {
    size_t i = ((uintptr_t)k >> 5) % CACHED;
    if (a->cache[i].kind != k) {
        a->cache[i].row = admission_find(k);
        a->cache[i].kind = k;
    }
    return a->cache[i].row;
}

static int unready(struct admission_asked *a, struct err *err) {
    return a->ready == NULL || a->ready(a->ready_ctx)
               ? 0
               : err_set(err, ERR_UNAVAILABLE, "berth has not read the cluster's objects yet");
}

static int mutate(struct admission *base, struct admission_ask *q, struct err *err) {
    struct admission_asked *a = (struct admission_asked *)base;
    const struct admission_row *r = row_of(a, q->kind);
    if (r == NULL || r->mutate == NULL || q->obj == NULL) {
        return 0;
    }
    int code = unready(a, err);
    return code ? code : r->mutate(&a->c, q, err);
}

static int validate(struct admission *base, struct admission_ask *q, struct err *err) {
    struct admission_asked *a = (struct admission_asked *)base;
    const struct admission_row *r = row_of(a, q->kind);
    if (r == NULL || r->validate == NULL) {
        return 0;
    }
    int code = unready(a, err);
    return code ? code : r->validate(&a->c, q, err);
}

struct admission *admission_new(const struct admission_options *o) {
    struct admission_asked *a = mem_zalloc(sizeof(*a));
    if (a == NULL) {
        return NULL;
    }
    a->a = (struct admission){mutate, validate};
    a->c = (struct admission_context){
        .mirror = o->mirror,
        .settings = o->settings != NULL ? o->settings : queue_settings_defaults(),
        .virtuals = o->virtuals,
        .zones = o->zones,
    };
    a->ready = o->ready;
    a->ready_ctx = o->ready_ctx;
    return &a->a;
}

void admission_free(struct admission *a) {
    mem_free(a);
}
