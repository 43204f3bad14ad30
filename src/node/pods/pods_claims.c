/* pods_claims: what becomes of pods when the volume of a claim of theirs holds more than its size. */
#include "node/pods/pods_private.h"

static bool names_claim(const struct pod *p, struct str claim, struct arena *a) {
    yyjson_doc *doc;
    yyjson_val *v;
    size_t i, n;

    arena_reset(a);
    if (p->obj == NULL || !str_contains(p->obj->json, STR("\"claimName\"")) ||
        object_tree(p->obj, a, &doc, NULL)) {
        return false;
    }
    yyjson_arr_foreach(json_path(yyjson_doc_get_root(doc), "spec.volumes"), i, n, v) {
        if (str_eq(json_str_at(v, "persistentVolumeClaim.claimName"), claim)) {
            return true;
        }
    }
    return false;
}

void pods_claim_over(struct pods *ps, struct str ns, struct str claim, const char *why) {
    const struct map_entry *e;
    struct arena a;

    arena_init(&a, 32 << 20);
    for (size_t i = 0; (e = map_next(&ps->by_uid, &i));) {
        struct pod *p = e->value;
        if ((p->state == POD_RUNNING || p->state == POD_STARTING) && str_is(ns, p->ns) &&
            names_claim(p, claim, &a)) {
            p->evicted = true;
            pods_end(ps, str_of(p->uid), "Evicted", why);
        }
    }
    arena_release(&a);
}
