/* namespace: keys are namespaces. See namespace.h. */
#include "control/kube/namespace.h"

#include "api/conditions.h"
#include "api/schema/codec.h"
#include "base/limits.h"
#include "control/kit/controller.h"
#include "control/kit/edit.h"
#include "control/kit/views.h"

enum { BURST = 500 };

enum { NAMESPACES }; /* of the row's kinds */

/* What is left in a namespace. */
struct remains {
    struct controller *c;
    struct round *round; /* deletions; NULL: only count */
    size_t deleted;
    size_t total, of_kind, with_finalizers;
    struct buf kinds; /* "pods. has 2 resource instances, ..." */
};

static bool stored(const struct kind *k) {
    return (k->flags & KIND_NAMESPACED) && !(k->flags & KIND_VIRTUAL) && kind_stored(k) == k;
}

static bool remove_one(void *ctx, const struct object *o) {
    struct remains *r = ctx;
    r->of_kind++;
    r->with_finalizers += o->n_finalizers != 0;
    if (!o->deleting_ns && r->round && r->deleted < BURST) {
        struct delete_options opts = {
            .uid = o->uid, .grace_seconds = -1, .propagation = STR("Background")};
        round_remove(r->round, o->kind, o->ns, o->name, &opts);
        r->deleted++;
    }
    return true;
}

static void visit_content(struct remains *r, struct str ns) {
    size_t n;
    const struct kind *const *kinds = kinds_all(&n);
    for (size_t i = 0; i < n; i++) {
        r->of_kind = 0;
        if (stored(kinds[i])) {
            mirror_scan(r->c->env.mirror, kinds[i], ns, remove_one, r);
        }
        if (r->of_kind) {
            buf_f(&r->kinds, "%s%s.%s has %zu resource instances", r->total ? ", " : "",
                  kinds[i]->plural, kinds[i]->group, r->of_kind);
            r->total += r->of_kind;
        }
    }
}

static int set_conditions(struct controller *c, struct condition_list *l, const struct remains *r) {
    struct arena *a = &c->arena;
    int64_t now = clock_wall(c->env.clock);
    int e = conditions_set(l, a, "NamespaceDeletionDiscoveryFailure", false, "ResourcesDiscovered",
                           STR("All resources successfully discovered"), now, 0, NULL);
    e = e ? e
          : conditions_set(l, a, "NamespaceDeletionGroupVersionParsingFailure", false,
                           "ParsedGroupVersions", STR("All legacy kube types successfully parsed"),
                           now, 0, NULL);
    e = e ? e
          : conditions_set(l, a, "NamespaceDeletionContentFailure", false, "ContentDeleted",
                           STR("All content successfully deleted, may be waiting on finalization"),
                           now, 0, NULL);
    if (r->total) {
        struct str left =
            arena_f(a, "Some resources are remaining: %.*s", STR_ARG(buf_view(&r->kinds)));
        e = e ? e
              : conditions_set(l, a, "NamespaceContentRemaining", true, "SomeResourcesRemain", left,
                               now, 0, NULL);
    } else {
        e = e ? e
              : conditions_set(l, a, "NamespaceContentRemaining", false, "ContentRemoved",
                               STR("All content successfully removed"), now, 0, NULL);
    }
    if (r->with_finalizers) {
        return e ? e
                 : conditions_set(l, a, "NamespaceFinalizersRemaining", true,
                                  "SomeFinalizersRemain",
                                  arena_f(a,
                                          "Some content in the namespace has finalizers "
                                          "remaining in %zu resource instances",
                                          r->with_finalizers),
                                  now, 0, NULL);
    }
    return e ? e
             : conditions_set(l, a, "NamespaceFinalizersRemaining", false, "ContentHasNoFinalizers",
                              STR("All content-preserving finalizers finished"), now, 0, NULL);
}

static void write_status(struct controller *c, struct round *r, const struct object *ns,
                         const struct namespace_object *view, const struct remains *left) {
    struct namespace_status status = {.phase = STR("Terminating")};
    struct namespace_object want = *view;
    const struct condition_list *was = view->status ? &view->status->conditions : NULL;
    if (conditions_copy(was, &c->arena, &status.conditions) != 0 ||
        set_conditions(c, &status.conditions, left) != 0) {
        round_fail(r, ERR_NOMEM);
        return;
    }
    want.status = &status;
    (void)edit_send(r, ns, "status", 0, view, &want);
}

/* Nothing is left: spec.finalizers without ours. */
static void write_finalize(struct controller *c, struct round *r, const struct object *ns,
                           const struct namespace_object *view) {
    struct namespace_spec spec = {.finalizers = {0}};
    struct namespace_object want = *view;
    spec.finalizers.v = ARENA_ARRAY(&c->arena, struct str, view->spec->finalizers.n);
    if (spec.finalizers.v == NULL) {
        round_fail(r, ERR_NOMEM);
        return;
    }
    for (size_t i = 0; i < view->spec->finalizers.n; i++) {
        if (!str_is(view->spec->finalizers.v[i], "kubernetes")) {
            spec.finalizers.v[spec.finalizers.n++] = view->spec->finalizers.v[i];
        }
    }
    want.spec = &spec;
    (void)edit_send(r, ns, "finalize", 0, view, &want);
}

static enum work empty_namespace(struct controller *c, const struct object *ns) {
    struct namespace_object view;
    yyjson_doc *d;
    struct remains left = {.c = c};
    if (object_tree(ns, &c->arena, &d, NULL) != 0 ||
        codec_decode(&schema_namespace, yyjson_doc_get_root(d), &c->arena, &view, NULL) != 0) {
        return WORK_RETRY;
    }
    left.round = controller_begin(c);
    buf_init(&left.kinds, LIMIT_CONDITION_MESSAGE);
    visit_content(&left, ns->name);
    if (left.total == 0 && view.spec && view.spec->finalizers.n) {
        write_finalize(c, left.round, ns, &view);
    } else if (left.deleted == 0) {
        write_status(c, left.round, ns, &view, &left); /* it waits for something: say for what */
    }
    buf_release(&left.kinds);
    return round_end(left.round);
}

static enum work step(void *self, struct work_key key) {
    struct controller *c = self;
    const struct object *o = mirror_get(c->env.mirror, c->kinds[NAMESPACES], STR(""), key.name);
    return o && o->deleting_ns ? empty_namespace(c, o) : WORK_OK;
}

static void namespace_changed(void *ctx, const struct change *ch) {
    struct controller *c = ctx;
    if (ch->type != CHANGE_DELETED && ch->obj->deleting_ns) {
        workqueue_add(c->queue, STR(""), ch->obj->name);
    }
}

/* Something left a namespace, or came into one, that is being emptied. */
static void content_changed(void *ctx, const struct change *ch) {
    struct controller *c = ctx;
    if (str_empty(ch->obj->ns) || ch->type == CHANGE_MODIFIED) {
        return;
    }
    const struct object *ns = mirror_get(c->env.mirror, c->kinds[NAMESPACES], STR(""), ch->obj->ns);
    if (ns && ns->deleting_ns) {
        workqueue_add(c->queue, STR(""), ns->name);
    }
}

const struct controller_row namespace_controller = {
    .name = "namespaces",
    .set = CONTROL_NAMESPACES,
    .who = "namespace-controller",
    CONTROLLER_KINDS([NAMESPACES] = {"", "Namespace", namespace_changed, .first = true,
                                     .may = MAY_STATUS},
                     {NULL, NULL, content_changed, .may = MAY_DELETE}),
    .step = step,
};
