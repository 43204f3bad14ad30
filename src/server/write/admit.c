/* admit: the order of the steps, and the namespace's own rule. */
#include "server/write/admit.h"

#include "base/mem.h"
#include "server/kit/claim_class.h"
#include "server/kit/id_range.h"
#include "wire/json/json.h"

static const struct kind *namespace_kind(void) {
    static const struct kind *k;
    if (k == NULL) {
        k = kind_by_name(STR(""), STR("Namespace"));
    }
    return k;
}

int admit_namespace(struct write *w) {
    const struct kind *k = w->req->kind;
    if (!(k->flags & KIND_NAMESPACED)) {
        return 0;
    }
    if (w->req->ns.n == 0) {
        return failure_set(&w->failure, w->arena, ERR_BAD_REQUEST,
                           "a namespace is required to create %s", k->plural);
    }
    const struct object *ns =
        mirror_pending(w->s->o.mirror, namespace_kind(), (struct str){0}, w->req->ns);
    if (ns == NULL) {
        return failure_not_found(&w->failure, w->arena, namespace_kind(), w->req->ns);
    }
    return 0;
}

/* What is being deleted takes nothing new. */
static int admit_lifecycle(struct write *w) {
    if (!(w->req->kind->flags & KIND_NAMESPACED) || w->old != NULL) {
        return 0;
    }
    struct str ns = w->req->ns;
    const struct object *o = mirror_pending(w->s->o.mirror, namespace_kind(), (struct str){0}, ns);
    if (o == NULL || o->deleting_ns == 0) {
        return 0;
    }
    struct str name = json_mstr_at(yyjson_mut_doc_get_root(w->doc), "metadata.name");
    (void)failure_forbidden(&w->failure, w->arena, w->req->kind, name,
                            "unable to create new content in namespace %.*s because it is being "
                            "terminated",
                            STR_ARG(ns));
    return failure_cause(&w->failure, w->arena, STR("NamespaceTerminating"),
                         arena_f(w->arena, "namespace %.*s is being terminated", STR_ARG(ns)),
                         STR("metadata.namespace"));
}

static bool is_kind(const struct kind *k, const char *group, const char *name) {
    return str_is(str_of(k->group), group) && str_is(str_of(k->kind), name);
}

static int admit_claim(struct write *w) {
    const struct mirror *m = w->s->o.mirror;
    if (w->old == NULL && claim_class_give(m, w->doc, w->arena) != 0) {
        return failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
    }
    if (w->old == NULL ||
        claim_class_allows(m, yyjson_mut_doc_get_root(w->doc), w->old, w->arena)) {
        return 0;
    }
    return failure_forbidden(&w->failure, w->arena, w->req->kind, w->req->name,
                             "only dynamically provisioned pvc can be resized and the storageclass "
                             "that provisions the pvc must support resize");
}

/* A new namespace has ids that its pods may ask for. */
static int admit_ids(struct write *w) {
    struct server *s = w->s;
    s->ids = s->ids ? s->ids : mem_zalloc(sizeof(*s->ids));
    return s->ids == NULL || id_range_give(s->ids, s->o.mirror, w->doc)
               ? failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory")
               : 0;
}

int admit_object(struct write *w) {
    int r = admit_lifecycle(w);
    if (r == 0 && w->old == NULL && w->req->kind == namespace_kind()) {
        r = admit_ids(w);
    }
    if (r == 0 && w->old == NULL && is_kind(w->req->kind, "", "Pod")) {
        r = admit_pod(w);
        r = r ? r : admit_limits(w);
    }
    if (r == 0 && is_kind(w->req->kind, "", "Service")) {
        r = admit_service(w);
    }
    if (r == 0 && is_kind(w->req->kind, "", "PersistentVolumeClaim")) {
        r = admit_claim(w);
    }
    return r ? r : admit_mutate(w);
}
