/* pod_claims: one look at each claim that a pod names. See pod_claims.h. */
#include "control/volumes/pod_claims.h"

#include "api/schema/codec.h"
#include "api/tables/view_storage.h"

#define UNBOUND "pod has unbound immediate PersistentVolumeClaims"
#define TAKEN                                                                                      \
    "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"

struct claim_rival {
    const struct mirror *mirror;
    const struct object *pod;
    struct str claim;
    struct arena arena;
    bool found;
};

static bool uses(yyjson_val *pod, struct str claim) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach(json_path(pod, "spec.volumes"), i, n, v) {
        if (str_eq(json_str_at(v, "persistentVolumeClaim.claimName"), claim)) {
            return true;
        }
    }
    return false;
}

static bool find_rival(void *ctx, const struct object *o) {
    struct claim_rival *r = ctx;
    yyjson_doc *d;
    if (str_eq(o->uid, r->pod->uid) || !str_contains(o->json, STR("\"claimName\"")) ||
        !str_contains(o->json, r->claim)) {
        return true;
    }
    /* Also one that is bound by a write under way: several may be looked at in one turn. */
    const struct object *now = mirror_pending(r->mirror, o->kind, o->ns, o->name);
    arena_reset(&r->arena);
    if (object_tree(now ? now : o, &r->arena, &d, NULL) != 0) {
        return true;
    }
    yyjson_val *pod = yyjson_doc_get_root(d);
    struct str phase = json_str_at(pod, "status.phase");
    r->found = json_str_at(pod, "spec.nodeName").n > 0 && !str_is(phase, "Succeeded") &&
               !str_is(phase, "Failed") && uses(pod, r->claim);
    return !r->found;
}

static bool is_taken(const struct mirror *m, const struct object *pod, struct str claim) {
    struct claim_rival r = {.mirror = m, .pod = pod, .claim = claim};
    arena_init(&r.arena, 32 << 20);
    mirror_scan(m, pod->kind, pod->ns, find_rival, &r);
    arena_release(&r.arena);
    return r.found;
}

static bool waits_for_pod(const struct mirror *m, struct str class, struct arena *a) {
    const struct kind *k = kind_by_name(STR("storage.k8s.io"), STR("StorageClass"));
    const struct object *o = class.n > 0 ? mirror_get(m, k, STR(""), class) : NULL;
    yyjson_doc *d;
    return o != NULL && object_tree(o, a, &d, NULL) == 0 &&
           str_is(json_str_at(yyjson_doc_get_root(d), "volumeBindingMode"), "WaitForFirstConsumer");
}

/* What the pod waits for, of one claim; empty: nothing. */
static struct str reason_of(const struct mirror *m, const struct object *pod, struct str name,
                            struct arena *a) {
    const struct kind *k = kind_by_name(STR(""), STR("PersistentVolumeClaim"));
    const struct object *o = mirror_get(m, k, pod->ns, name);
    struct claim view = {0}, *claim = &view;
    yyjson_doc *d;
    if (o == NULL) {
        return arena_f(a, "persistentvolumeclaim \"%.*s\" not found", STR_ARG(name));
    }
    if (o->deleting_ns != 0) {
        return arena_f(a, "persistentvolumeclaim \"%.*s\" is being deleted", STR_ARG(name));
    }
    if (object_tree(o, a, &d, NULL) != 0 ||
        codec_decode(&schema_claim, yyjson_doc_get_root(d), a, claim, NULL) != 0 ||
        claim->spec == NULL || claim->status == NULL) {
        return STR(UNBOUND);
    }
    if (str_is(claim->status->phase, "Lost")) {
        return arena_f(a,
                       "persistentvolumeclaim \"%.*s\" bound to non-existent persistentvolume "
                       "\"%.*s\"",
                       STR_ARG(name), STR_ARG(claim->spec->volume_name));
    }
    if (!str_is(claim->status->phase, "Bound")) {
        return waits_for_pod(m, claim->spec->storage_class_name, a) ? (struct str){0}
                                                                    : STR(UNBOUND);
    }
    bool alone = claim->spec->access_modes.n == 1 &&
                 str_is(claim->spec->access_modes.v[0], "ReadWriteOncePod");
    return alone && is_taken(m, pod, name) ? STR(TAKEN) : (struct str){0};
}

bool pod_claims_wait(const struct mirror *m, const struct object *o, const struct pod *p,
                     struct arena *a, struct str *ret_why) {
    for (size_t i = 0; i < p->spec->volumes.n; i++) {
        const struct claim_volume *v = p->spec->volumes.v[i].persistent_volume_claim;
        struct str why = v != NULL ? reason_of(m, o, v->claim_name, a) : (struct str){0};
        if (why.n > 0) {
            *ret_why = arena_f(a, "0/%zu nodes are available: %.*s.",
                               mirror_count(m, kind_by_name(STR(""), STR("Node"))), STR_ARG(why));
            return true;
        }
    }
    return false;
}
