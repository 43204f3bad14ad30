/*
 * admission_key: whose a ModelKey is, and which priority it may have.
 *
 * The maker is who asked, whatever the manifest says. A project's limits, share and highest priority are annotations of
 * its Namespace (api/serving/view_key.h), which only administrators write. Limits of a key come on top of the project's
 * and can only narrow them, so that everyone may choose them; its priority is compared with those of other projects,
 * so that the Namespace bounds it. The gateway applies the same bound, for clusters without these webhooks.
 */
#include "api/serving/view_key.h"

#include "control/admit/admission.h"

static int mutate(const struct admission_context *c, struct admission_ask *q, struct err *err) {
    (void)c;
    yyjson_mut_val *spec = json_mget(q->obj, STR("spec"));
    if (q->subresource.n || q->op != ADMISSION_CREATE || q->internal || spec == NULL) {
        return 0;
    }
    return json_mset_str(q->doc, spec, "user", q->user) == 0
               ? 0
               : err_set(err, ERR_NOMEM, "out of memory");
}

/* What a Namespace without the annotation, or with a broken one, gives: 0. */
static int64_t highest(const struct admission_context *c, const struct admission_ask *q) {
    const struct kind *k = kind_by_name(STR(""), STR("Namespace"));
    const struct object *ns = k ? mirror_pending(c->mirror, k, STR(""), q->ns) : NULL;
    int64_t most = 0;
    yyjson_doc *d;
    if (ns != NULL && object_tree(ns, q->arena, &d, NULL) == 0) {
        yyjson_val *notes = json_path(yyjson_doc_get_root(d), "metadata.annotations");
        (void)str_to_i64(json_str(json_get(notes, STR(MODEL_PROJECT_PRIORITY))), &most);
    }
    return most;
}

static int64_t priority_of(yyjson_mut_val *obj) {
    yyjson_mut_val *v = json_mpath(obj, "spec.priority");
    return yyjson_mut_is_int(v) ? yyjson_mut_get_sint(v) : 0;
}

static int validate(const struct admission_context *c, struct admission_ask *q, struct err *err) {
    (void)err;
    if (q->subresource.n || q->op == ADMISSION_DELETE || q->internal) {
        return 0;
    }
    int64_t now = priority_of(q->obj), was = json_i64_at(q->old, "spec.priority", 0);
    int64_t most = highest(c, q);
    if (now > most && !(q->old && now <= was)) {
        causes_add(&q->causes, CAUSE_INVALID, STR("spec.priority"),
                   "Invalid value: %lld: must be at most %lld, the highest priority of project "
                   "%.*s (annotation " MODEL_PROJECT_PRIORITY " of its Namespace)",
                   (long long)now, (long long)most, STR_ARG(q->ns));
    }
    return 0;
}

const struct admission_row admission_key_rows[] = {
    {"berth.dev", "ModelKey", mutate, validate},
    {0},
};
