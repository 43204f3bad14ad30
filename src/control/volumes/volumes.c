/* volumes: which changes lead to which keys. See volumes.h; the steps are in files of their own. */
#include "control/volumes/volumes.h"

#include "api/schema/codec.h"
#include "base/mem.h"
#include "control/volumes/volume_rules.h"
#include "control/volumes/volumes_step.h"

enum { KEYS_A_TURN = 32 };

static void look(struct volumes *v, unsigned what, struct str ns, struct str name) {
    workqueue_look(v->base.queue, (struct work_key){what, ns, name}, 0);
}

int volumes_decode(struct volumes *v, unsigned kind, const struct object *o, void *ret_view) {
    yyjson_doc *d;
    int r = object_tree(o, &v->base.arena, &d, NULL);
    return r ? r
             : codec_decode(kind_storage(v->base.kinds[kind])->schema, yyjson_doc_get_root(d),
                            &v->base.arena, ret_view, NULL);
}

const struct object *volumes_read(struct volumes *v, unsigned kind, struct str ns, struct str name,
                                  void *ret_view, bool *ret_again) {
    const struct object *o = mirror_get(v->base.env.mirror, v->base.kinds[kind], ns, name);
    *ret_again = o != NULL && volumes_decode(v, kind, o, ret_view) != 0;
    return *ret_again ? NULL : o;
}

/* ---- changes ---- */

static void claim_changed(void *self, const struct change *ch) {
    struct volumes *v = self;
    yyjson_doc *d;
    look(v, KEY_CLAIM, ch->obj->ns, ch->obj->name);
    arena_reset(&v->scratch);
    if (object_tree(ch->obj, &v->scratch, &d, NULL) == 0) {
        struct str name = json_str_at(yyjson_doc_get_root(d), "spec.volumeName");
        if (name.n > 0) {
            look(v, KEY_VOLUME, STR(""), name);
        }
    }
    /* A volume whose claim went before it was bound is found by the name that was given to it. */
    char text[80];
    int n = snprintf(text, sizeof(text), "pvc-%.*s", STR_ARG(ch->obj->uid));
    if (ch->type == CHANGE_DELETED && n > 0 && n < (int)sizeof(text)) {
        look(v, KEY_VOLUME, STR(""), str_from(text, (size_t)n));
    }
}

static void open_set(struct volumes *v, struct str name, bool open) {
    char *there = map_get(&v->open, name);
    if (open && there == NULL) {
        char *copy = mem_cstr(name);
        if (copy == NULL || map_put(&v->open, str_of(copy), copy, NULL) != 0) {
            mem_free(copy);
            look(v, KEY_PODS_ALL, STR(""), STR(""));
        }
    } else if (!open && there != NULL) {
        (void)map_del(&v->open, name);
        mem_free(there);
    }
}

/* A volume that is nobody's yet may be what any claim waits for. */
static void volume_changed(void *self, const struct change *ch) {
    struct volumes *v = self;
    yyjson_doc *d;
    bool loose = false, open = false; /* open: nobody's, or not yet Bound to whose it is */
    look(v, KEY_VOLUME, STR(""), ch->obj->name);
    arena_reset(&v->scratch);
    if (object_tree(ch->obj, &v->scratch, &d, NULL) == 0) {
        yyjson_val *ref = json_path(yyjson_doc_get_root(d), "spec.claimRef");
        struct str ns = json_str_at(ref, "namespace"), name = json_str_at(ref, "name");
        struct str phase = json_str_at(yyjson_doc_get_root(d), "status.phase");
        loose = ch->type != CHANGE_DELETED && json_str_at(ref, "uid").n == 0;
        open = loose || (ch->type != CHANGE_DELETED &&
                         (phase.n == 0 || str_is(phase, "Pending") || str_is(phase, "Available")));
        if (name.n > 0) {
            look(v, KEY_CLAIM, ns, name);
        }
    }
    open_set(v, ch->obj->name, open);
    if (loose) { /* also when it only became Available */
        look(v, KEY_CLAIMS_ALL, STR(""), STR(""));
    }
}

static void others_changed(void *self, const struct change *ch) {
    struct volumes *v = self;
    if (ch->type != CHANGE_MODIFIED || ch->obj->kind == v->base.kinds[VOL_CLASS]) {
        look(v, KEY_CLAIMS_ALL, STR(""), STR(""));
    }
}

static void claim_of_pod(void *ctx, struct str ns, struct str claim) {
    look(ctx, KEY_CLAIM, ns, claim);
}

static void pod_changed(void *self, const struct change *ch) {
    struct volumes *v = self;
    arena_reset(&v->scratch);
    if (claim_users_change(&v->users, ch, &v->scratch, claim_of_pod, v) != 0) {
        look(v, KEY_PODS_ALL, STR(""), STR(""));
    }
}

static void snapshot_changed(void *self, const struct change *ch) {
    struct volumes *v = self;
    look(v, KEY_SNAPSHOT, ch->obj->ns, ch->obj->name);
    if (ch->type != CHANGE_DELETED) { /* a claim may wait for it */
        look(v, KEY_CLAIMS_ALL, ch->obj->ns, STR(""));
    }
}

static void content_changed(void *self, const struct change *ch) {
    struct volumes *v = self;
    yyjson_doc *d;
    look(v, KEY_CONTENT, STR(""), ch->obj->name);
    arena_reset(&v->scratch);
    if (object_tree(ch->obj, &v->scratch, &d, NULL) == 0) {
        yyjson_val *ref = json_path(yyjson_doc_get_root(d), "spec.volumeSnapshotRef");
        look(v, KEY_SNAPSHOT, json_str_at(ref, "namespace"), json_str_at(ref, "name"));
    }
}

/* ---- everything again ---- */

static bool claim_again(void *ctx, const struct object *o) {
    /* The phase of a claim that waits is in its text; those that are bound need no second look. */
    if (!str_contains(o->json, STR("\"phase\":\"Bound\""))) {
        look(ctx, KEY_CLAIM, o->ns, o->name);
    }
    return true;
}

static bool pod_again(void *ctx, const struct object *o) {
    pod_changed(ctx, &(struct change){.type = CHANGE_ADDED, .obj = o});
    return true;
}

static bool volume_again(void *ctx, const struct object *o) {
    volume_changed(ctx, &(struct change){.type = CHANGE_ADDED, .obj = o});
    return true;
}

static enum work step(void *self, struct work_key key) {
    struct volumes *v = self;
    struct mirror *m = v->base.env.mirror;
    switch (key.what) {
    case KEY_CLAIM:
        return claim_step(v, key.ns, key.name);
    case KEY_VOLUME:
        return volume_step(v, key.name);
    case KEY_SNAPSHOT:
        return snapshot_step(v, key.ns, key.name);
    case KEY_CONTENT:
        return content_step(v, key.name);
    case KEY_PODS_ALL: /* memory was lost on the way */
        claim_users_release(&v->users);
        mirror_scan(m, v->base.kinds[VOL_POD], STR(""), pod_again, v);
        mirror_scan(m, v->base.kinds[VOL_VOLUME], STR(""), volume_again, v);
        return WORK_OK;
    default:
        mirror_scan(m, v->base.kinds[VOL_CLAIM], key.ns, claim_again, v);
        return WORK_OK;
    }
}

static int init(void *self, struct err *err) {
    struct volumes *v = self;
    (void)err;
    arena_init(&v->scratch, 32 << 20);
    return 0;
}

static void release(void *self) {
    struct volumes *v = self;
    const struct map_entry *e;
    claim_users_release(&v->users);
    for (size_t i = 0; (e = map_next(&v->open, &i)) != NULL;) {
        mem_free(e->value);
    }
    map_release(&v->open);
    arena_release(&v->scratch);
}

#define SNAPSHOTS "snapshot.storage.k8s.io"
const struct controller_row volumes_controller = {
    .name = "volumes",
    .set = CONTROL_VOLUMES,
    .who = "persistentvolume-controller",
    CONTROLLER_KINDS(
        {"", "PersistentVolumeClaim", claim_changed, .first = true, .may = MAY_PATCH | MAY_STATUS},
        {"", "PersistentVolume", volume_changed, .first = true,
         .may = MAY_CREATE | MAY_PATCH | MAY_STATUS | MAY_DELETE},
        {"storage.k8s.io", "StorageClass", others_changed}, {"", "Pod", pod_changed, .first = true},
        {"", "Node", others_changed},
        {SNAPSHOTS, "VolumeSnapshot", snapshot_changed, .first = true,
         .may = MAY_PATCH | MAY_STATUS},
        {SNAPSHOTS, "VolumeSnapshotClass", others_changed},
        {SNAPSHOTS, "VolumeSnapshotContent", content_changed, .first = true,
         .may = MAY_CREATE | MAY_PATCH | MAY_STATUS | MAY_DELETE}),
    .step = step,
    .budget = KEYS_A_TURN,
    .size = sizeof(struct volumes),
    .init = init,
    .release = release,
};
