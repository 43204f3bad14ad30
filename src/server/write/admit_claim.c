/*
 * admit_claim: what admission does with claims: one that says no StorageClass gets the default one, the newest where
 * several are marked; and the size of one that has its volume may grow where its class allows that.
 */
#include "server/write/admit.h"

#include "api/tables/storage.h"
#include "wire/json/json.h"
#include "wire/text/quantity.h"

struct marked_class {
    const struct object *newest;
    struct arena *arena;
};

static bool look(void *ctx, const struct object *o) {
    struct marked_class *d = ctx;
    yyjson_doc *doc;
    if (!str_contains(o->json, STR(STORAGE_DEFAULT_CLASS)) ||
        object_tree(o, d->arena, &doc, NULL) != 0) {
        return true;
    }
    yyjson_val *notes = json_path(yyjson_doc_get_root(doc), "metadata.annotations");
    bool marked = str_is(json_str(json_get(notes, STR(STORAGE_DEFAULT_CLASS))), "true");
    if (marked && (d->newest == NULL || o->created_ns > d->newest->created_ns)) {
        d->newest = o;
    }
    return true;
}

static const struct kind *class_kind(void) {
    return kind_by_name(STR("storage.k8s.io"), STR("StorageClass"));
}

static int give_default(struct write *w, yyjson_mut_val *root) {
    struct marked_class d = {.arena = w->arena};
    yyjson_mut_val *spec = json_mensure(w->doc, root, "spec");
    if (json_mget(spec, STR("storageClassName")) != NULL) {
        return 0;
    }
    mirror_scan(w->s->o.mirror, class_kind(), (struct str){0}, look, &d);
    if (spec == NULL || (d.newest != NULL && json_mset_str(w->doc, spec, "storageClassName",
                                                           d.newest->name) != 0)) {
        return failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
    }
    return 0;
}

static bool class_expands(struct write *w, struct str name) {
    yyjson_doc *doc;
    const struct object *o =
        mirror_pending(w->s->o.mirror, class_kind(), (struct str){0}, name);
    return o != NULL && object_tree(o, w->arena, &doc, NULL) == 0 &&
           json_bool_at(yyjson_doc_get_root(doc), "allowVolumeExpansion", false);
}

static int check_growth(struct write *w, yyjson_mut_val *root) {
    struct quantity now, was;
    yyjson_doc *doc;
    if (w->old == NULL || object_tree(w->old, w->arena, &doc, NULL) != 0) {
        return 0;
    }
    yyjson_val *old = yyjson_doc_get_root(doc);
    if (quantity_parse(json_mstr_at(root, "spec.resources.requests.storage"), &now, NULL) != 0 ||
        quantity_parse(json_str_at(old, "spec.resources.requests.storage"), &was, NULL) != 0 ||
        quantity_cmp(now, was) <= 0 || !str_is(json_str_at(old, "status.phase"), "Bound") ||
        class_expands(w, json_str_at(old, "spec.storageClassName"))) {
        return 0;
    }
    return failure_forbidden(&w->failure, w->arena, w->req->kind, w->req->name,
                             "only dynamically provisioned pvc can be resized and the storageclass "
                             "that provisions the pvc must support resize");
}

int admit_claim(struct write *w) {
    yyjson_mut_val *root = yyjson_mut_doc_get_root(w->doc);
    return w->old == NULL ? give_default(w, root) : check_growth(w, root);
}
