/* stateful_retain: see stateful_retain.h. */
#include "control/apps/stateful_retain.h"

#include "control/apps/stateful_write.h"
#include "control/kit/edit.h"

static bool deletes(const struct stateful_retain *t, const char *when) {
    yyjson_val *policy = json_path(t->tree, "spec.persistentVolumeClaimRetentionPolicy");

    return str_is(json_str_at(policy, when), "Delete");
}

/* A reference to the set, or to a pod of the ordinal, whichever it was. */
static bool is_ours(const struct stateful_retain *t, const struct owner_reference *o,
                    struct str pod) {
    return str_eq(o->uid, t->set->uid) || (str_is(o->kind, "Pod") && str_eq(o->name, pod));
}

static struct owner_reference reference_to(const struct object *owner) {
    return (struct owner_reference){.api_version = str_of(kind_api_version(owner->kind)),
                                    .kind = str_of(owner->kind->kind),
                                    .name = owner->name,
                                    .uid = owner->uid,
                                    .block_owner_deletion = {true, true}};
}

/* Already as it shall be: the owner (NULL: none) is among them, and nobody else of ours. */
static bool is_right(const struct stateful_retain *t, const struct meta *m,
                     const struct object *owner, struct str pod) {
    bool found = owner == NULL;

    for (size_t i = 0; i < m->owner_references.n; i++) {
        const struct owner_reference *o = &m->owner_references.v[i];
        bool meant = owner && str_eq(o->uid, owner->uid);
        if (is_ours(t, o, pod) && !meant) {
            return false;
        }
        found = found || meant;
    }
    return found;
}

static bool put_owner(const struct stateful_retain *t, const struct object *claim,
                      const struct object *owner, struct str pod, struct round *r) {
    struct meta *was, want;
    size_t n = 0;

    if (claim->deleting_ns || edit_read_meta(claim, t->arena, &was) != 0 ||
        is_right(t, was, owner, pod)) {
        return false;
    }
    want = *was;
    want.owner_references.v =
        ARENA_ARRAY(t->arena, struct owner_reference, was->owner_references.n + 1);
    if (want.owner_references.v == NULL) {
        round_fail(r, ERR_NOMEM);
        return true;
    }
    for (size_t i = 0; i < was->owner_references.n; i++) {
        if (!is_ours(t, &was->owner_references.v[i], pod)) {
            want.owner_references.v[n++] = was->owner_references.v[i];
        }
    }
    if (owner) {
        want.owner_references.v[n++] = reference_to(owner);
    }
    want.owner_references.n = n;
    (void)edit_send_meta(r, claim, EDIT_VERSION | EDIT_UID, was, &want);
    return true;
}

bool stateful_retain_claims(const struct stateful_retain *t, int64_t ordinal,
                            const struct object *pod, bool gone, struct round *r) {
    const struct stateful_write w = {.set = t->set, .tree = t->tree, .ordinal = ordinal};
    yyjson_arr_iter it = yyjson_arr_iter_with(json_path(t->tree, "spec.volumeClaimTemplates"));
    bool with_pod = gone && deletes(t, "whenScaled"), with_set = deletes(t, "whenDeleted");
    const struct object *owner = with_pod ? pod : with_set ? t->set : NULL;
    bool wrote = false;

    if (with_pod && pod == NULL) {
        return false; /* too late: it has gone */
    }
    for (yyjson_val *claim; (claim = yyjson_arr_iter_next(&it));) {
        struct str name = stateful_claim_name(&w, claim, t->arena);
        const struct object *o = mirror_get(t->mirror, t->claims, t->set->ns, name);
        if (o && (o->n_owners || owner)) {
            struct str pod_name =
                arena_f(t->arena, "%.*s-%lld", STR_ARG(t->set->name), (long long)ordinal);
            wrote |= put_owner(t, o, owner, pod_name, r);
        }
    }
    return wrote;
}
