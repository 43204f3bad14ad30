/* bootstrap: a key is the place of an object among the first ones. See bootstrap.h. */
#include "control/kube/bootstrap.h"

#include "api/kinds/kinds.h"
#include "api/tables/storage.h"
#include "api/tables/view_core.h"
#include "api/tables/view_misc.h"
#include "api/tables/view_storage.h"
#include "control/kit/controller.h"
#include "control/kit/edit.h"

struct first_object {
    const struct kind *kind;
    const char *name;
    int (*create)(struct round *r, const struct first_object *f, struct meta *meta);
    int32_t value; /* of a PriorityClass */
    const char *text;
};

static int bare(struct round *r, const struct first_object *f, struct meta *meta) {
    return edit_create(r, f->kind, STR(""), &(struct namespace_object){.metadata = meta});
}

static int priority(struct round *r, const struct first_object *f, struct meta *meta) {
    struct priority_class class = {
        .metadata = meta, .value = f->value, .description = str_of(f->text)};
    return edit_create(r, f->kind, STR(""), &class);
}

static int storage(struct round *r, const struct first_object *f, struct meta *meta) {
    struct str_pair default_class = {STR(STORAGE_DEFAULT_CLASS), STR("true")};
    struct storage_class class = {.metadata = meta,
                                  .provisioner = STR(STORAGE_PROVISIONER),
                                  .reclaim_policy = STR("Delete"),
                                  .volume_binding_mode = STR("Immediate"),
                                  .allow_volume_expansion = {true, true}};
    meta->annotations = (struct str_map){&default_class, 1};
    return edit_create(r, f->kind, STR(""), &class);
}

static int snapshots(struct round *r, const struct first_object *f, struct meta *meta) {
    struct str_pair default_class = {STR(STORAGE_DEFAULT_SNAPSHOT_CLASS), STR("true")};
    struct snapshot_class class = {
        .metadata = meta, .driver = STR(STORAGE_DRIVER), .deletion_policy = STR("Delete")};
    meta->annotations = (struct str_map){&default_class, 1};
    return edit_create(r, f->kind, STR(""), &class);
}

static const struct first_object first_objects[] = {
    {&kind_namespace, "default", bare},
    {&kind_namespace, "kube-system", bare},
    {&kind_namespace, "kube-public", bare},
    {&kind_namespace, "kube-node-lease", bare},
    {&kind_namespace, "berth-system", bare},
    {&kind_priority_class, "system-cluster-critical", priority, 2000000000,
     "Used for system critical pods that must run in the cluster, but can be moved to another node "
     "if necessary."},
    {&kind_priority_class, "system-node-critical", priority, 2000001000,
     "Used for system critical pods that must not be moved from their current node."},
    {&kind_storage_class, "local", storage},
    {&kind_volume_snapshot_class, "local", snapshots},
};

enum { FIRST_OBJECTS = sizeof first_objects / sizeof *first_objects };

static bool is_there(const struct mirror *m, const struct first_object *f) {
    return mirror_get(m, f->kind, STR(""), str_of(f->name)) != NULL;
}

static enum work step(void *self, struct work_key key) {
    struct controller *c = self;
    const struct first_object *f = &first_objects[key.what];
    if (is_there(c->env.mirror, f)) {
        return WORK_OK;
    }
    struct round *r = controller_begin(c);
    (void)f->create(r, f, &(struct meta){.name = str_of(f->name)});
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
    for (size_t i = 0; i < FIRST_OBJECTS; i++) {
        if (!is_there(m, &first_objects[i])) {
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
