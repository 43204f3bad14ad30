/* bootstrap: a key is the place of an object among the first ones. See bootstrap.h. */
#include "control/kube/bootstrap.h"

#include "api/tables/storage.h"
#include "control/kit/controller.h"

static const struct first_object {
    const char *group, *kind, *name, *json;
} first_objects[] = {
#define NAMESPACE(name)                                                                            \
    {                                                                                              \
        "", "Namespace", name,                                                                     \
            "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"" name "\"}}"  \
    }
    NAMESPACE("default"),
    NAMESPACE("kube-system"),
    NAMESPACE("kube-public"),
    NAMESPACE("kube-node-lease"),
    NAMESPACE("berth-system"),
#undef NAMESPACE
#define PRIORITY(name, value, text)                                                                \
    {                                                                                              \
        "scheduling.k8s.io", "PriorityClass", name,                                                \
            "{\"apiVersion\":\"scheduling.k8s.io/"                                                 \
            "v1\",\"kind\":\"PriorityClass\",\"metadata\":{\"name\":\"" name                       \
            "\"},\"value\":" value ",\"description\":\"" text "\"}"                                \
    }
    PRIORITY("system-cluster-critical", "2000000000",
             "Used for system critical pods that must run in the cluster, but can be moved to "
             "another node if necessary."),
    PRIORITY("system-node-critical", "2000001000",
             "Used for system critical pods that must not be moved from their current node."),
#undef PRIORITY
    {"storage.k8s.io", "StorageClass", "local",
     "{\"apiVersion\":\"storage.k8s.io/v1\",\"kind\":\"StorageClass\",\"metadata\":{\"name\":"
     "\"local\",\"annotations\":{\"" STORAGE_DEFAULT_CLASS "\":\"true\"}},\"provisioner\":"
     "\"" STORAGE_PROVISIONER "\",\"reclaimPolicy\":\"Delete\","
     "\"volumeBindingMode\":\"Immediate\","
     "\"allowVolumeExpansion\":true}"},
    {"snapshot.storage.k8s.io", "VolumeSnapshotClass", "local",
     "{\"apiVersion\":\"snapshot.storage.k8s.io/v1\",\"kind\":\"VolumeSnapshotClass\","
     "\"metadata\":{\"name\":\"local\",\"annotations\":{\"" STORAGE_DEFAULT_SNAPSHOT_CLASS
     "\":\"true\"}},"
     "\"driver\":\"" STORAGE_DRIVER "\",\"deletionPolicy\":\"Delete\"}"},
};

enum { FIRST_OBJECTS = sizeof first_objects / sizeof *first_objects };

static const struct object *find(const struct mirror *m, const struct first_object *f,
                                 const struct kind **ret_kind) {
    *ret_kind = kind_by_name(str_of(f->group), str_of(f->kind));
    return mirror_get(m, *ret_kind, STR(""), str_of(f->name));
}

static enum work step(void *self, struct work_key key) {
    struct controller *c = self;
    const struct first_object *f = &first_objects[key.what];
    const struct kind *k;
    if (find(c->env.mirror, f, &k)) {
        return WORK_OK;
    }
    struct round *r = controller_begin(c);
    round_create(r, k, STR(""), str_of(f->json));
    return round_end(r);
}

static void start(void *self) {
    struct controller *c = self;
    for (unsigned i = 0; i < FIRST_OBJECTS; i++) {
        workqueue_look(c->queue, (struct work_key){i}, 0);
    }
}

static void changed(void *self, const struct change *ch) {
    if (ch->type == CHANGE_DELETED) {
        start(self);
    }
}

bool bootstrap_done(const struct mirror *m) {
    const struct kind *k;
    for (size_t i = 0; i < FIRST_OBJECTS; i++) {
        if (find(m, &first_objects[i], &k) == NULL) {
            return false;
        }
    }
    return true;
}

const struct controller_row bootstrap_controller = {
    .name = "bootstrap",
    .set = CONTROL_BOOTSTRAP,
    .who = "berth-bootstrap",
    CONTROLLER_KINDS(
        {"", "Namespace", changed, .may = MAY_CREATE},
        {"scheduling.k8s.io", "PriorityClass", changed, .may = MAY_CREATE},
        {"storage.k8s.io", "StorageClass", changed, .may = MAY_CREATE},
        {"snapshot.storage.k8s.io", "VolumeSnapshotClass", changed, .may = MAY_CREATE}),
    .start = start,
    .step = step,
};
