/* quota_count: see quota_count.h. */
#include "control/bounds/quota_count.h"

#include "api/allowance.h"
#include "api/schema/codec.h"
#include "api/walk/value.h"
#include "control/kit/edit.h"

enum { QUOTAS };                     /* of the row's kinds */
enum { LOOK_QUOTA, LOOK_NAMESPACE }; /* sorts of keys */
enum { SOON_MS = 100, MANY_MS = 2000, LATER_MS = 5000, AGAIN_S = 300, SCRATCH = 64 << 20 };
enum { MANY_OBJECTS = 2000 };

struct quota_controller {
    struct controller base;
    struct arena scratch; /* of one object */
};

/* ---- what to look at ---- */

static bool has_ended(const struct object *pod) {
    return str_contains(pod->json, STR("\"phase\":\"Succeeded\"")) ||
           str_contains(pod->json, STR("\"phase\":\"Failed\""));
}

/* How soon the namespace is counted for a change; 0: not. What is made was charged: that is only looked over. */
static int64_t delay_ms(const struct controller *c, const struct change *ch) {
    const struct kind *k = ch->obj->kind;
    bool pod = strcmp(k->kind, "Pod") == 0 && k->group[0] == '\0';
    bool many = mirror_count(c->env.mirror, k) > MANY_OBJECTS;
    if (ch->type == CHANGE_ADDED) {
        return LATER_MS;
    }
    if (ch->type == CHANGE_MODIFIED &&
        (pod ? !has_ended(ch->obj) || has_ended(ch->old) : !allowance_reads(k))) {
        return 0;
    }
    return many ? MANY_MS : SOON_MS;
}

static void any_changed(void *self, const struct change *ch) {
    struct controller *c = self;
    const struct object *o = ch->obj;
    bool event = strcmp(o->kind->kind, "Event") == 0;
    if (o->ns.n == 0 || event || mirror_count(c->env.mirror, c->kinds[QUOTAS]) == 0) {
        return;
    }
    int64_t ms = delay_ms(c, ch);
    if (ms > 0) {
        workqueue_look(c->queue, (struct work_key){LOOK_NAMESPACE, o->ns, STR("")}, ms * NS_PER_MS);
    }
}

static bool add_quota(void *ctx, const struct object *o) {
    struct controller *c = ctx;
    workqueue_add(c->queue, o->ns, o->name);
    return true;
}

/* ---- counting ---- */

struct quota_tally {
    struct quota_controller *c;
    const struct namespace_quota_spec *spec;
    struct quantity_map used; /* of each name of spec.hard */
    size_t n;                 /* objects of a kind that is not read */
    int code;
};

static struct quantity *used_of(struct quota_tally *t, struct str name) {
    return (struct quantity *)allowance_find(&t->used, name);
}

static bool read_one(void *ctx, const struct object *o) {
    struct quota_tally *t = ctx;
    struct arena *a = &t->c->scratch;
    struct quantity_map usage;
    yyjson_doc *d;
    arena_reset(a);
    t->code = object_tree(o, a, &d, NULL);
    if (t->code == 0 && allowance_covers(t->spec, o->kind, yyjson_doc_get_root(d))) {
        t->code = allowance_usage(o->kind, yyjson_doc_get_root(d), a, &usage, NULL);
        for (size_t i = 0; t->code == 0 && i < usage.n; i++) {
            struct quantity *to = used_of(t, usage.v[i].key);
            if (to) { /* the name is there, and nothing of the object is kept */
                t->code = allowance_add(&t->used, a, usage.v[i].key, usage.v[i].value);
            }
        }
    }
    return t->code == 0;
}

static bool count_one(void *ctx, const struct object *o) {
    struct quota_tally *t = ctx;
    (void)o;
    t->n++;
    return true;
}

static void count_kind(struct quota_tally *t, const struct kind *k, struct str ns) {
    const struct mirror *m = t->c->base.env.mirror;
    bool any = false;
    for (size_t i = 0; i < t->used.n; i++) {
        any = any || allowance_is_of(t->used.v[i].key, k);
    }
    if (!any) {
        return;
    }
    if (allowance_reads(k)) {
        mirror_scan(m, k, ns, read_one, t);
        return;
    }
    t->n = 0;
    mirror_scan(m, k, ns, count_one, t);
    for (size_t i = 0; i < t->used.n && allowance_covers(t->spec, k, NULL); i++) {
        if (allowance_is_of(t->used.v[i].key, k)) {
            t->used.v[i].value = quantity_of((int64_t)t->n, QUANTITY_DECIMAL);
        }
    }
}

static int count(struct quota_tally *t, struct str ns) {
    struct arena *a = &t->c->base.arena;
    size_t n;
    const struct kind *const *kinds = kinds_all(&n);
    t->used.v = ARENA_ARRAY(a, struct quantity_pair, t->spec->hard.n + 1);
    t->used.n = t->used.v ? t->spec->hard.n : 0;
    for (size_t i = 0; i < t->used.n; i++) {
        t->used.v[i] = (struct quantity_pair){.key = t->spec->hard.v[i].key};
    }
    for (size_t i = 0; t->code == 0 && i < n; i++) {
        if ((kinds[i]->flags & KIND_NAMESPACED) && kinds[i]->stored_as == NULL &&
            !(kinds[i]->flags & (KIND_VIRTUAL | KIND_COMPUTED))) {
            count_kind(t, kinds[i], ns);
        }
    }
    return t->used.v ? t->code : ERR_NOMEM;
}

/* ---- one look ---- */

static int read_quota(struct quota_controller *c, const struct object *o,
                      struct namespace_quota *ret) {
    static const struct namespace_quota_spec no_spec;
    yyjson_doc *d;
    int r = object_tree(o, &c->base.arena, &d, NULL);
    r = r ? r
          : codec_decode(&schema_namespace_quota, yyjson_doc_get_root(d), &c->base.arena, ret,
                         NULL);
    if (r == 0 && ret->spec == NULL) {
        ret->spec = (struct namespace_quota_spec *)&no_spec;
    }
    return r;
}

/* Adds what the newest status has more than the committed one: objects that are not seen yet. */
static void add_staged(struct quantity_map *used, const struct namespace_quota *newest,
                       const struct namespace_quota *seen) {
    for (size_t i = 0; newest->status && seen->status && i < used->n; i++) {
        const struct quantity *now = allowance_find(&newest->status->used, used->v[i].key);
        const struct quantity *was = allowance_find(&seen->status->used, used->v[i].key);
        if (now && was) {
            (void)quantity_add(&used->v[i].value, *now);
            (void)quantity_sub(&used->v[i].value, *was);
        }
        if (quantity_sign(used->v[i].value) < 0) {
            used->v[i].value = quantity_of(0, QUANTITY_DECIMAL);
        }
    }
}

static enum work look(struct quota_controller *c, const struct object *seen,
                      const struct object *newest) {
    struct namespace_quota was, before, want;
    struct quota_tally t = {.c = c};
    int r = read_quota(c, newest, &was);
    r = r ? r : read_quota(c, seen, &before);
    t.spec = was.spec;
    r = r ? r : count(&t, seen->ns);
    if (r != 0) {
        return WORK_RETRY;
    }
    if (newest != seen) {
        add_staged(&t.used, &was, &before);
    }
    struct namespace_quota_status status = {.hard = was.spec->hard, .used = t.used};
    if (was.status && value_views_same(&schema_namespace_quota_status, was.status, &status)) {
        return WORK_OK;
    }
    want = was;
    want.status = &status;
    struct round *round = controller_begin(&c->base);
    (void)edit_send(round, newest, "status", EDIT_VERSION, &was, &want);
    return round_end(round);
}

static enum work step(void *self, struct work_key key) {
    struct quota_controller *c = self;
    const struct mirror *m = c->base.env.mirror;
    const struct kind *k = c->base.kinds[QUOTAS];
    if (key.what == LOOK_NAMESPACE || key.name.n == 0) {
        mirror_scan(m, k, key.ns, add_quota, c);
        return WORK_OK;
    }
    const struct object *seen = mirror_get(m, k, key.ns, key.name);
    const struct object *newest = mirror_pending(m, k, key.ns, key.name);
    enum work w = seen && newest ? look(c, seen, newest) : WORK_OK;
    arena_reset(&c->scratch);
    return w;
}

/* ---- life ---- */

static int init(void *self, struct err *err) {
    struct quota_controller *c = self;
    (void)err;
    arena_init(&c->scratch, SCRATCH);
    return 0;
}

static void release(void *self) {
    struct quota_controller *c = self;
    arena_release(&c->scratch);
}

const struct controller_row quota_controller = {
    .name = "quotas",
    .set = CONTROL_QUOTAS,
    .who = "resourcequota-controller",
    CONTROLLER_KINDS([QUOTAS] = {"", "ResourceQuota", controller_changed, .first = true,
                                 .may = MAY_STATUS},
                     {NULL, NULL, any_changed}),
    .every_ns = AGAIN_S * NS_PER_SEC,
    .step = step,
    .size = sizeof(struct quota_controller),
    .init = init,
    .release = release,
};
