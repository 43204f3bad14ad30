/*
 * queue_preview_remedy: what a preview suggests beside the edit: quota without which those that would wait cannot take
 * back what is theirs, since a little of something else makes their queue count as borrowing (explain_bar). Quota of a
 * booking's queue is no suggestion: it is what was booked.
 */
#include "control/see/explain_private.h"

#include "base/limits.h"

enum { EXPLAINED_MAX = 200 };

/* The most that one of them would need of it. */
static void remedy_add(struct preview_remedies *r, struct str queue, size_t at,
                       const struct explain_bar *b) {
    for (size_t i = 0; i < r->n; i++) {
        struct preview_remedy *x = &r->v[i];
        if (str_eq(x->queue, queue) && x->bar.flavor == b->flavor &&
            x->bar.resource == b->resource) {
            if (b->missing > x->bar.missing) {
                x->bar = *b;
                x->at = at;
            }
            return;
        }
    }
    if (r->n < PREVIEW_REMEDIES_MAX) {
        r->v[r->n++] = (struct preview_remedy){.queue = queue, .at = at, .bar = *b};
    }
}

/* Adds those of one that waits; of one that has quota, or is in no queue, there are none. */
static int explain_one(struct explain_index *x, const struct insight *in, size_t i,
                       struct preview_remedies *out, size_t *explained) {
    struct explain_options o = {.now = in->now};
    struct explanation why;
    struct arena a;
    arena_init(&a, 64 << 20);
    int r = explain_workload(x, in->clone.works[i].in.uid, &o, &a, &why);
    for (size_t k = 0; r == 0 && k < why.n_bars; k++) {
        if (why.bars[k].remedy) {
            remedy_add(out, in->clone.works[i].in.queue, i, &why.bars[k]);
        }
    }
    *explained += r == 0;
    arena_release(&a);
    return r == ERR_NOT_FOUND ? 0 : r;
}

static int remedy_write(struct engine *e, const struct insight *in, struct arena *keep,
                        struct preview_remedy *x) {
    struct str resource = names_text(engine_resources(e), x->bar.resource);
    struct buf b;
    buf_init(&b, LIMIT_CONDITION_MESSAGE);
    remedy_field(&x->bar, &b);
    x->field = arena_str(keep, buf_view(&b));
    buf_reset(&b);
    amount_text(resource, amount_add(x->bar.nominal, x->bar.missing), &b);
    x->quota = arena_str(keep, buf_view(&b));
    buf_reset(&b);
    remedy_text(e, in, x->at, &x->bar, &b);
    x->text = arena_str(keep, buf_view(&b));
    int r = buf_ok(&b);
    buf_release(&b);
    return r != 0 ? r : arena_ok(keep);
}

int preview_remedies(struct engine *e, const struct insight *in, const struct insight_viewer *v,
                     struct arena *keep, struct preview_remedies *ret) {
    struct explain_index *x;
    size_t explained = 0;
    int r = explain_index_new(e, &x);
    if (r != 0) {
        return r;
    }
    *ret = (struct preview_remedies){0};
    for (size_t i = 0; i < in->clone.n_works && r == 0 && explained < EXPLAINED_MAX; i++) {
        if (!in->works[i].booked && (v->queues || insight_shows(in, v, i))) {
            r = explain_one(x, in, i, ret, &explained);
        }
    }
    explain_index_free(x);
    for (size_t i = 0; i < ret->n && r == 0; i++) {
        r = remedy_write(e, in, keep, &ret->v[i]);
    }
    return r;
}
