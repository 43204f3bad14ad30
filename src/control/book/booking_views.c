/* booking_views: see booking_views.h. Of each object the text and the view are in an arena of its own, and the tree
 * between them is not kept. */
#include "control/book/booking_views.h"

#include "base/err.h"
#include "base/mem.h"
#include "wire/json/json.h"

enum { SCRATCH_MAX = 64 << 20, VIEW_MAX = 16 << 20 };

struct booking_view {
    struct str uid; /* behind it */
    uint64_t rv, note;
    void *decoded; /* NULL: it cannot be, or is hollow */
    struct arena arena;
    char text[];
};

void booking_views_init(struct booking_views *v, size_t max_bytes) {
    *v = (struct booking_views){.max = max_bytes};
    map_init(&v->by_uid);
    arena_init(&v->scratch, SCRATCH_MAX);
}

static size_t size_of(const struct booking_view *x) {
    return sizeof(*x) + x->uid.n + x->arena.used;
}

static void view_free(struct booking_views *v, struct booking_view *x) {
    v->bytes -= size_of(x);
    arena_release(&x->arena);
    mem_free(x);
}

void booking_views_release(struct booking_views *v) {
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&v->by_uid, &i)) != NULL;) {
        view_free(v, e->value);
    }
    map_release(&v->by_uid);
    arena_release(&v->scratch);
}

void booking_views_drop(struct booking_views *v, struct str uid) {
    struct booking_view *x = map_del(&v->by_uid, uid);
    if (x != NULL) {
        view_free(v, x);
    }
}

static struct booking_view *find(struct booking_views *v, const struct object *o) {
    struct booking_view *x = map_get(&v->by_uid, o->uid);
    return x != NULL && x->rv == o->rv ? x : NULL;
}

/* The revision, which is not in the text, is no business of a view. */
static void decode(struct booking_views *v, struct booking_view *x, const struct object *o,
                   const struct schema *s) {
    yyjson_doc *doc;
    arena_reset(&v->scratch);
    char *text = arena_alloc(&x->arena, o->json.n + JSON_PADDING);
    void *view = arena_zalloc(&x->arena, s->size);
    if (text == NULL || view == NULL) {
        return;
    }
    memcpy(text, o->json.p, o->json.n);
    if (json_parse_here(&v->scratch, text, o->json.n, &doc, NULL) == 0 &&
        codec_decode(s, yyjson_doc_get_root(doc), &x->arena, view, NULL) == 0) {
        x->decoded = view;
    }
}

static struct booking_view *view_new(struct booking_views *v, const struct object *o,
                                     const struct schema *s) {
    struct booking_view *x = mem_zalloc(sizeof(*x) + o->uid.n);
    if (x == NULL) {
        return NULL;
    }
    memcpy(x->text, o->uid.p, o->uid.n);
    x->uid = str_from(x->text, o->uid.n);
    x->rv = o->rv;
    arena_init(&x->arena, VIEW_MAX);
    decode(v, x, o, s);
    bool whole = arena_ok(&x->arena) == 0 && arena_ok(&v->scratch) == 0;
    if (x->decoded == NULL) {
        arena_release(&x->arena);
    }
    v->bytes += size_of(x);
    v->full = v->full || v->bytes > v->max;
    if (!whole || v->bytes > v->max || map_put(&v->by_uid, x->uid, x, NULL) != 0) {
        view_free(v, x);
        return NULL;
    }
    return x;
}

void *booking_views_get(struct booking_views *v, const struct object *o, const struct schema *s) {
    struct booking_view *x = find(v, o);
    if (x != NULL) {
        return x->decoded;
    }
    booking_views_drop(v, o->uid);
    if (v->left == 0) {
        v->more = true;
        return NULL;
    }
    v->left--;
    v->decoded++;
    x = view_new(v, o, s);
    v->failed = v->failed || x == NULL;
    return x != NULL ? x->decoded : NULL;
}

void booking_views_hollow(struct booking_views *v, const struct object *o) {
    struct booking_view *x = find(v, o);
    if (x != NULL) {
        v->bytes -= x->arena.used;
        arena_release(&x->arena);
        x->decoded = NULL;
    }
}

uint64_t *booking_views_note(struct booking_views *v, const struct object *o) {
    struct booking_view *x = find(v, o);
    return x != NULL ? &x->note : NULL;
}
