/* stateful_write: copies, with names. See stateful_write.h. */
#include "control/apps/stateful_write.h"

#include "control/kit/template_pod.h"

static struct str pod_name(const struct stateful_write *w, struct arena *a) {
    return arena_f(a, "%.*s-%lld", STR_ARG(w->set->name), (long long)w->ordinal);
}

struct str stateful_claim_name(const struct stateful_write *w, yyjson_val *claim, struct arena *a) {
    return arena_f(a, "%.*s-%.*s-%lld", STR_ARG(json_str_at(claim, "metadata.name")),
                   STR_ARG(w->set->name), (long long)w->ordinal);
}

static int finish(yyjson_mut_val *root, int r, struct buf *out) {
    if (r == 0) {
        json_write_mut(out, root);
        r = buf_ok(out);
    }
    return r;
}

/* ---- pods ---- */

/* A claim takes the place of the template's volume of that name. */
static int add_volume(yyjson_mut_doc *d, yyjson_mut_val *list, struct str name, struct str claim) {
    for (size_t i = yyjson_mut_arr_size(list); i-- > 0;) {
        if (str_eq(json_mstr_at(yyjson_mut_arr_get(list, i), "name"), name)) {
            (void)yyjson_mut_arr_remove(list, i);
        }
    }
    yyjson_mut_val *v = yyjson_mut_arr_add_obj(d, list);
    yyjson_mut_val *ref = v && json_mset_str(d, v, "name", name) == 0
                              ? json_mensure(d, v, "persistentVolumeClaim")
                              : NULL;
    return ref ? json_mset_str(d, ref, "claimName", claim) : ERR_NOMEM;
}

static int add_volumes(const struct stateful_write *w, yyjson_mut_doc *d, yyjson_mut_val *spec,
                       struct arena *a) {
    yyjson_val *claims = json_path(w->tree, "spec.volumeClaimTemplates"), *c;
    yyjson_mut_val *list = json_mget(spec, STR("volumes"));
    size_t i, n;
    int r = 0;
    if (yyjson_arr_size(claims) > 0 && !yyjson_mut_is_arr(list)) {
        list = yyjson_mut_arr(d);
        r = list ? json_mset(d, spec, STR("volumes"), list) : ERR_NOMEM;
    }
    yyjson_arr_foreach(claims, i, n, c) {
        r = r ? r
              : add_volume(d, list, json_str_at(c, "metadata.name"), stateful_claim_name(w, c, a));
    }
    return r;
}

int stateful_write_pod(const struct stateful_write *w, struct arena *a, struct buf *out) {
    struct template_pod t = {.owner = w->set, .template = w->template, .name = pod_name(w, a)};
    struct str service = json_str_at(w->tree, "spec.serviceName");
    struct str index = arena_f(a, "%lld", (long long)w->ordinal);
    yyjson_mut_doc *d = template_pod_new(&t, a);
    yyjson_mut_val *root = d ? yyjson_mut_doc_get_root(d) : NULL;
    yyjson_mut_val *labels = json_mpath(root, "metadata.labels");
    yyjson_mut_val *spec = json_mget(root, STR("spec"));
    if (root == NULL || arena_ok(a) != 0) {
        return ERR_NOMEM;
    }
    int r = json_mset_str(d, labels, "statefulset.kubernetes.io/pod-name", t.name);
    r = r ? r : json_mset_str(d, labels, "apps.kubernetes.io/pod-index", index);
    r = r ? r : json_mset_str(d, labels, STATEFUL_REVISION_LABEL, w->revision);
    r = r ? r : json_mset_str(d, spec, "hostname", t.name);
    r = r || str_empty(service) ? r : json_mset_str(d, spec, "subdomain", service);
    r = r ? r : add_volumes(w, d, spec, a);
    return finish(root, r, out);
}

/* ---- claims ---- */

int stateful_write_claim(const struct stateful_write *w, yyjson_val *claim, struct arena *a,
                         struct buf *out) {
    yyjson_mut_doc *d = json_mut_copy(a, claim);
    yyjson_mut_val *root = d ? yyjson_mut_doc_get_root(d) : NULL;
    yyjson_mut_val *meta = root ? json_mensure(d, root, "metadata") : NULL;
    yyjson_mut_val *labels = meta ? json_mensure(d, meta, "labels") : NULL;
    yyjson_val *match = json_path(w->tree, "spec.selector.matchLabels"), *key, *v;
    size_t i, n;
    int r = labels ? json_mset_str(d, root, "apiVersion", STR("v1")) : ERR_NOMEM;
    json_mdel(root, STR("status"));
    r = r ? r : json_mset_str(d, root, "kind", STR("PersistentVolumeClaim"));
    r = r ? r : json_mset_str(d, meta, "name", stateful_claim_name(w, claim, a));
    r = r ? r : json_mset_str(d, meta, "namespace", w->set->ns);
    yyjson_obj_foreach(match, i, n, key, v) {
        r = r ? r : json_mset(d, labels, json_str(key), yyjson_val_mut_copy(d, v));
    }
    return finish(root, r ? r : arena_ok(a), out);
}

/* ---- revisions ---- */

int stateful_write_revision(const struct object *set, yyjson_val *tree, struct str name,
                            struct str hash, int64_t revision, struct arena *a, struct buf *out) {
    yyjson_mut_doc *d = json_mut_new(a);
    yyjson_mut_val *root = d ? yyjson_mut_obj(d) : NULL;
    if (root == NULL) {
        return ERR_NOMEM;
    }
    yyjson_mut_doc_set_root(d, root);
    yyjson_val *template = json_path(tree, "spec.template");
    yyjson_val *own = json_path(template, "metadata.labels");
    int r = json_mset_str(d, root, "apiVersion", STR("apps/v1"));
    r = r ? r : json_mset_str(d, root, "kind", STR("ControllerRevision"));
    yyjson_mut_val *meta = json_mensure(d, root, "metadata"), *owners = yyjson_mut_arr(d);
    yyjson_mut_val *labels = own ? yyjson_val_mut_copy(d, own) : yyjson_mut_obj(d);
    yyjson_mut_val *spec = json_mensure(d, root, "data.spec");
    yyjson_mut_val *copy = yyjson_val_mut_copy(d, template);
    r = r ? r : meta && owners && labels && spec && copy ? 0 : ERR_NOMEM;
    r = r ? r : json_mset_str(d, meta, "name", name);
    r = r ? r : json_mset_str(d, meta, "namespace", set->ns);
    r = r ? r : json_mset_str(d, labels, "controller.kubernetes.io/hash", hash);
    r = r ? r : json_mset(d, meta, STR("labels"), labels);
    r = r ? r : template_pod_own(d, owners, set);
    r = r ? r : json_mset(d, meta, STR("ownerReferences"), owners);
    /* Read as a strategic merge patch of the set, by which kubectl goes back. */
    r = r ? r : json_mset_str(d, copy, "$patch", STR("replace"));
    r = r ? r : json_mset(d, spec, STR("template"), copy);
    r = r ? r : json_mset_i64(d, root, "revision", revision);
    return finish(root, r, out);
}
