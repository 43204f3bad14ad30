/*
 * priority_class: keys are Workloads. See priority_class.h.
 *
 * Those that name a class are a list of it, kept up to date by their specs, so that a class that changes goes through
 * its own alone. Without memory for that, `unlisted`, it goes through all, as at the start.
 */
#include "control/load/priority_class.h"

#include "api/schema/codec.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/mem.h"
#include "control/kit/controller.h"
#include "control/kit/edit.h"
#include "control/kit/views.h"
#include "control/load/workload_draft.h"

/* The Workloads of a class; its name is in the record's memory. */
struct class_list {
    struct str name;
    struct member *first;
};

/* A Workload that names a class; its key, "ns/name", is in the record's memory. */
struct member {
    struct str key, ns, name;
    struct class_list *of;
    struct member *next, *prev;
};

struct priority_class_controller {
    struct controller base;
    struct map members, lists; /* by key; by the name of the class */
    struct arena arena;        /* of one spec */
    bool unlisted;             /* somebody is in no list for want of memory */
};

enum { WORKLOADS, CLASSES }; /* of the row's kinds */
enum { ARENA_BYTES = 64 << 20 };

struct class_search {
    struct priority_class_controller *c;
    struct str name; /* of the class */
};

static int64_t value_of(const struct object *o, struct arena *a, int64_t otherwise) {
    yyjson_doc *d;
    return object_tree(o, a, &d, NULL) == 0
               ? json_i64_at(yyjson_doc_get_root(d), "value", otherwise)
               : otherwise;
}

static enum work step(void *self, struct work_key key) {
    struct priority_class_controller *c = self;
    struct arena *a = &c->base.arena;
    const struct object *o =
        mirror_get(c->base.env.mirror, c->base.kinds[WORKLOADS], key.ns, key.name);
    yyjson_doc *d;
    if (o == NULL || o->deleting_ns || object_tree(o, a, &d, NULL) != 0) {
        return o && !o->deleting_ns ? WORK_RETRY : WORK_OK;
    }
    yyjson_val *spec = json_path(yyjson_doc_get_root(d), "spec");
    struct str class = json_str_at(spec, "priorityClassRef.name");
    int64_t now = json_i64_at(spec, "priority", 0);
    const struct object *k =
        str_is(json_str_at(spec, "priorityClassRef.kind"), "WorkloadPriorityClass")
            ? mirror_get(c->base.env.mirror, c->base.kinds[CLASSES], STR(""), class)
            : NULL;
    int64_t want = k ? value_of(k, a, now) : now;
    struct round *r = want != now ? controller_begin(&c->base) : NULL;
    if (want == now || r == NULL) {
        return want == now ? WORK_OK : WORK_RETRY;
    }
    struct workload_draft was, draft;
    struct workload_draft_spec other;
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    int code = workload_draft_read(yyjson_doc_get_root(d), a, &was);
    if (code == 0) {
        other = *was.spec;
        other.priority = (struct opt_i32){true, (int32_t)want};
        draft = (struct workload_draft){was.metadata, &other};
        code = workload_draft_patch(o, EDIT_VERSION, &was, &draft, &b);
    }
    if (code == 0) {
        round_patch(r, o->kind, o->ns, o->name, "", PATCH_MERGE, buf_view(&b));
    } else {
        round_fail(r, code);
    }
    buf_release(&b);
    return round_end(r);
}

/* ---- who names which ---- */

static void leave(struct priority_class_controller *c, struct member *m) {
    struct class_list *l = m->of;
    *(m->prev != NULL ? &m->prev->next : &l->first) = m->next;
    if (m->next != NULL) {
        m->next->prev = m->prev;
    }
    map_del(&c->members, m->key);
    mem_free(m);
    if (l->first == NULL) {
        map_del(&c->lists, l->name);
        mem_free(l);
    }
}

static struct class_list *list_of(struct priority_class_controller *c, struct str name) {
    struct class_list *l = map_get(&c->lists, name);
    if (l != NULL) {
        return l;
    }
    l = mem_zalloc(sizeof(*l) + name.n);
    if (l == NULL) {
        return NULL;
    }
    memcpy(l + 1, name.p, name.n);
    l->name = str_from((const char *)(l + 1), name.n);
    if (map_put(&c->lists, l->name, l, NULL) != 0) {
        mem_free(l);
        return NULL;
    }
    return l;
}

static int join(struct priority_class_controller *c, struct str key, size_t ns, struct str class) {
    struct member *m = mem_zalloc(sizeof(*m) + key.n);
    struct class_list *l = m != NULL ? list_of(c, class) : NULL;
    if (l == NULL) {
        mem_free(m);
        return ERR_NOMEM;
    }
    memcpy(m + 1, key.p, key.n);
    m->key = str_from((const char *)(m + 1), key.n);
    m->ns = str_from(m->key.p, ns);
    m->name = str_from(m->key.p + ns + 1, key.n - ns - 1);
    if (map_put(&c->members, m->key, m, NULL) != 0) {
        mem_free(m);
        if (l->first == NULL) {
            map_del(&c->lists, l->name);
            mem_free(l);
        }
        return ERR_NOMEM;
    }
    m->of = l;
    m->next = l->first;
    if (m->next != NULL) {
        m->next->prev = m;
    }
    l->first = m;
    return 0;
}

/* The WorkloadPriorityClass that it names; empty: none. ERR_NOMEM. */
static int class_of(struct priority_class_controller *c, const struct object *o, struct str *ret) {
    yyjson_doc *d;
    *ret = (struct str){0};
    if (!str_contains(o->json, STR("\"WorkloadPriorityClass\""))) {
        return 0; /* one look at the bytes spares most of them the reading */
    }
    int r = object_tree(o, &c->arena, &d, NULL);
    yyjson_val *ref = r == 0 ? json_path(yyjson_doc_get_root(d), "spec.priorityClassRef") : NULL;
    if (str_is(json_str_at(ref, "kind"), "WorkloadPriorityClass")) {
        *ret = json_str_at(ref, "name");
    }
    return r;
}

/* Puts it where its spec says. */
static void note(struct priority_class_controller *c, const struct object *o, bool gone) {
    char text[2 * LIMIT_NAME + 2];
    int n = snprintf(text, sizeof(text), "%.*s/%.*s", STR_ARG(o->ns), STR_ARG(o->name));
    struct str class = {0};
    if (n < 0 || (size_t)n >= sizeof(text)) {
        c->unlisted = true;
        return;
    }
    struct str key = str_from(text, (size_t)n);
    int r = gone ? 0 : class_of(c, o, &class);
    struct member *m = map_get(&c->members, key);
    bool same = m != NULL && str_eq(m->of->name, class);
    if (r == 0 && m != NULL && !same) {
        leave(c, m);
    }
    if (r == 0 && !same && !str_empty(class)) {
        r = join(c, key, o->ns.n, class);
    }
    c->unlisted = c->unlisted || r != 0;
    arena_reset(&c->arena);
}

static void workload_changed(void *ctx, const struct change *ch) {
    bool status_only = ch->type == CHANGE_MODIFIED && ch->old != NULL &&
                       ch->old->generation == ch->obj->generation;
    if (!status_only) {
        note(ctx, ch->obj, ch->type == CHANGE_DELETED);
    }
}

/* ---- a class changed ---- */

static bool add(void *ctx, const struct object *o) {
    struct class_search *s = ctx;
    if (str_contains(o->json, STR("\"WorkloadPriorityClass\"")) &&
        (str_empty(s->name) || str_contains(o->json, s->name)) &&
        !str_contains(o->json, STR("\"type\":\"Finished\""))) {
        workqueue_add(s->c->base.queue, o->ns, o->name);
    }
    return true;
}

static void class_changed(void *ctx, const struct change *ch) {
    struct priority_class_controller *c = ctx;
    struct class_search s = {c, ch->obj->name};
    if (ch->type == CHANGE_DELETED) {
        return;
    }
    if (c->unlisted) {
        mirror_scan(c->base.env.mirror, c->base.kinds[WORKLOADS], STR(""), add, &s);
        return;
    }
    const struct class_list *l = map_get(&c->lists, ch->obj->name);
    for (const struct member *m = l != NULL ? l->first : NULL; m != NULL; m = m->next) {
        const struct object *o =
            mirror_get(c->base.env.mirror, c->base.kinds[WORKLOADS], m->ns, m->name);
        if (o != NULL) {
            add(&s, o);
        }
    }
}

static int init(void *self, struct err *err) {
    struct priority_class_controller *c = self;
    arena_init(&c->arena, ARENA_BYTES);
    return 0;
}

static void start(void *self) {
    struct priority_class_controller *c = self;
    struct class_search s = {c, STR("")};
    mirror_scan(c->base.env.mirror, c->base.kinds[WORKLOADS], STR(""), add, &s);
}

static void release(void *self) {
    struct priority_class_controller *c = self;
    size_t i = 0;
    for (const struct map_entry *e; (e = map_next(&c->members, &i)) != NULL;) {
        mem_free(e->value);
    }
    i = 0;
    for (const struct map_entry *e; (e = map_next(&c->lists, &i)) != NULL;) {
        mem_free(e->value);
    }
    map_release(&c->members);
    map_release(&c->lists);
    arena_release(&c->arena);
}

const struct controller_row priority_class_controller = {
    .name = "workloads",
    .set = CONTROL_WORKLOADS,
    .who = "kueue-priority-class-controller",
    CONTROLLER_KINDS([WORKLOADS] = {"kueue.x-k8s.io", "Workload", workload_changed, .first = true,
                                    .may = MAY_PATCH},
                     [CLASSES] = {"kueue.x-k8s.io", "WorkloadPriorityClass", class_changed,
                                  .optional = true}),
    .start = start,
    .step = step,
    .size = sizeof(struct priority_class_controller),
    .init = init,
    .release = release,
};
