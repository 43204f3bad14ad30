/* claim_class: see claim_class.h. */
#include "server/kit/claim_class.h"

#include "api/tables/storage.h"
#include "wire/text/quantity.h"

struct marked_class {
    const struct object *newest;
    struct arena *arena;
};

static bool find_marked(void *ctx, const struct object *o) {
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

int claim_class_give(const struct mirror *m, yyjson_mut_doc *doc, struct arena *a) {
    struct marked_class d = {.arena = a};
    yyjson_mut_val *spec = json_mensure(doc, yyjson_mut_doc_get_root(doc), "spec");
    if (json_mget(spec, STR("storageClassName")) != NULL) {
        return 0;
    }
    mirror_scan(m, class_kind(), (struct str){0}, find_marked, &d);
    if (spec == NULL) {
        return ERR_NOMEM;
    }
    return d.newest == NULL ? 0 : json_mset_str(doc, spec, "storageClassName", d.newest->name);
}

static bool expands(const struct mirror *m, struct str name, struct arena *a) {
    yyjson_doc *doc;
    const struct object *o = mirror_pending(m, class_kind(), (struct str){0}, name);
    return o != NULL && object_tree(o, a, &doc, NULL) == 0 &&
           json_bool_at(yyjson_doc_get_root(doc), "allowVolumeExpansion", false);
}

bool claim_class_allows(const struct mirror *m, yyjson_mut_val *claim, const struct object *old,
                        struct arena *a) {
    struct quantity now, was;
    yyjson_doc *doc;
    if (object_tree(old, a, &doc, NULL) != 0) {
        return true;
    }
    yyjson_val *o = yyjson_doc_get_root(doc);
    return quantity_parse(json_mstr_at(claim, "spec.resources.requests.storage"), &now, NULL) ||
           quantity_parse(json_str_at(o, "spec.resources.requests.storage"), &was, NULL) ||
           quantity_cmp(now, was) <= 0 || !str_is(json_str_at(o, "status.phase"), "Bound") ||
           expands(m, json_str_at(o, "spec.storageClassName"), a);
}
