/* deployment_write: copies with one label more. See deployment_write.h. */
#include "control/apps/deployment_write.h"

#include "control/apps/template_text.h"
#include "control/kit/template_pod.h"

static int write_meta(yyjson_mut_doc *d, yyjson_mut_val *meta, const struct object *o,
                      struct str name, yyjson_mut_val *labels, const struct str_map *notes) {
    yyjson_mut_val *owners = yyjson_mut_arr(d), *annotations = yyjson_mut_obj(d);
    int r = owners && annotations ? 0 : ERR_NOMEM;
    r = r ? r : json_mset_str(d, meta, "name", name);
    r = r ? r : json_mset_str(d, meta, "namespace", o->ns);
    r = r ? r : json_mset(d, meta, STR("labels"), yyjson_mut_val_mut_copy(d, labels));
    for (size_t i = 0; r == 0 && i < notes->n; i++) {
        yyjson_mut_val *v = yyjson_mut_strncpy(d, notes->v[i].value.p, notes->v[i].value.n);
        r = json_mset(d, annotations, notes->v[i].key, v);
    }
    r = r ? r : json_mset(d, meta, STR("annotations"), annotations);
    r = r ? r : template_pod_own(d, owners, o);
    return r ? r : json_mset(d, meta, STR("ownerReferences"), owners);
}

int deployment_write_set(const struct object *o, yyjson_val *tree, struct str name, struct str hash,
                         const struct deployment_plan *plan, struct arena *a, struct buf *out) {
    yyjson_mut_doc *d = json_mut_new(a);
    yyjson_mut_val *root = d ? yyjson_mut_obj(d) : NULL;
    if (root == NULL) {
        return ERR_NOMEM;
    }
    yyjson_mut_doc_set_root(d, root);
    int r = json_mset_str(d, root, "apiVersion", STR("apps/v1"));
    r = r ? r : json_mset_str(d, root, "kind", STR("ReplicaSet"));
    yyjson_mut_val *meta = json_mensure(d, root, "metadata");
    yyjson_mut_val *spec = json_mensure(d, root, "spec");
    r = r ? r : json_mset_i64(d, spec, "replicas", plan->create_replicas);
    int64_t ready = json_i64_at(tree, "spec.minReadySeconds", 0);
    r = r || !ready ? r : json_mset_i64(d, spec, "minReadySeconds", ready);
    yyjson_val *selector = json_path(tree, "spec.selector");
    yyjson_val *template = json_path(tree, "spec.template");
    r = r ? r : json_mset(d, spec, STR("selector"), yyjson_val_mut_copy(d, selector));
    r = r ? r : json_mset(d, spec, STR("template"), yyjson_val_mut_copy(d, template));
    yyjson_mut_val *match = json_mensure(d, spec, "selector.matchLabels");
    yyjson_mut_val *labels = json_mensure(d, spec, "template.metadata.labels");
    r = r ? r : match && labels ? 0 : ERR_NOMEM;
    r = r ? r : json_mset_str(d, match, POD_TEMPLATE_HASH, hash);
    r = r ? r : json_mset_str(d, labels, POD_TEMPLATE_HASH, hash);
    r = r ? r : write_meta(d, meta, o, name, labels, &plan->annotations);
    if (r == 0) {
        json_write_mut(out, root);
        r = buf_ok(out);
    }
    return r;
}
