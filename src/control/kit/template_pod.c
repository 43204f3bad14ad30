/* template_pod: copies, and leaves out. See template_pod.h. */
#include "control/kit/template_pod.h"

#include "api/inventory.h"
#include "api/pod_fields.h"

static yyjson_mut_val *copy_or_new(yyjson_mut_doc *d, yyjson_val *v) {
    return yyjson_is_obj(v) ? yyjson_val_mut_copy(d, v) : yyjson_mut_obj(d);
}

int template_pod_own(yyjson_mut_doc *d, yyjson_mut_val *list, const struct object *owner) {
    yyjson_mut_val *o = yyjson_mut_arr_add_obj(d, list);
    int r = o ? 0 : ERR_NOMEM;
    r = r ? r : json_mset_str(d, o, "apiVersion", str_of(kind_api_version(owner->kind)));
    r = r ? r : json_mset_str(d, o, "kind", str_of(owner->kind->kind));
    r = r ? r : json_mset_str(d, o, "name", owner->name);
    r = r ? r : json_mset_str(d, o, "uid", owner->uid);
    r = r ? r : json_mset_bool(d, o, "controller", true);
    return r ? r : json_mset_bool(d, o, "blockOwnerDeletion", true);
}

static int set_meta(yyjson_mut_doc *d, yyjson_mut_val *meta, const struct template_pod *t) {
    yyjson_val *from = json_get(t->template, STR("metadata"));
    yyjson_val *finalizers = json_get(from, STR("finalizers"));
    yyjson_mut_val *owners = yyjson_mut_arr(d);
    bool named = t->name.n > 0;
    int r =
        json_mset_str(d, meta, named ? "name" : "generateName", named ? t->name : t->generate_name);
    r = r ? r : json_mset_str(d, meta, "namespace", t->owner->ns);
    r = r ? r : json_mset(d, meta, STR("labels"), copy_or_new(d, json_get(from, STR("labels"))));
    r = r ? r
          : json_mset(d, meta, STR("annotations"),
                      copy_or_new(d, json_get(from, STR("annotations"))));
    if (r == 0 && yyjson_arr_size(finalizers) > 0) {
        r = json_mset(d, meta, STR("finalizers"), yyjson_val_mut_copy(d, finalizers));
    }
    r = r ? r : template_pod_own(d, owners, t->owner);
    return r ? r : json_mset(d, meta, STR("ownerReferences"), owners);
}

static void drop_places(yyjson_mut_val *root, bool queued) {
    yyjson_mut_val *notes = json_mpath(root, "metadata.annotations");
    json_mdel(notes, STR(DEVICES_ANNOTATION));
    json_mdel(notes, STR(POD_PLACEMENT_ANNOTATION));
    if (queued) {
        json_mdel(json_mget(root, STR("spec")), STR("nodeName"));
    }
}

yyjson_mut_doc *template_pod_new(const struct template_pod *t, struct arena *a) {
    yyjson_mut_doc *d = json_mut_new(a);
    yyjson_mut_val *root = d ? yyjson_mut_obj(d) : NULL;
    if (root == NULL) {
        return NULL;
    }
    yyjson_mut_doc_set_root(d, root);
    int r = json_mset_str(d, root, "apiVersion", STR("v1"));
    r = r ? r : json_mset_str(d, root, "kind", STR("Pod"));
    yyjson_mut_val *meta = json_mensure(d, root, "metadata");
    r = r || meta == NULL ? ERR_NOMEM : set_meta(d, meta, t);
    r = r ? r : json_mset(d, root, STR("spec"), copy_or_new(d, json_get(t->template, STR("spec"))));
    if (r == 0) {
        drop_places(root, object_label(t->owner, STR(TEMPLATE_QUEUE_LABEL)).n > 0);
    }
    return r == 0 ? d : NULL;
}
