/*
 * volume_keeper: see volume_keeper.h. One step a volume or content, run when it changed and again when a copy ended:
 * what waits for that, or failed, is in a list of names.
 */
#include "node/volumes/volume_keeper.h"

#include "api/meta.h"
#include "api/schema/codec.h"
#include "api/schema/codec_encode.h"
#include "api/tables/storage.h"
#include "api/tables/view_storage.h"
#include "base/limits.h"
#include "base/mem.h"
#include "kube/reflector.h"
#include "node/files/disk_walk.h"
#include "wire/text/quantity.h"

#define WHO "berth-node"

enum { KEEP_VOLUMES, KEEP_CONTENTS, KEEP_KINDS };
enum { AGAIN_S = 15 };
enum {
    STEPS = 5000, /* entries that are looked at a second */
    ROUND_S = 10, /* between two rounds through all volumes */
};

/* A volume or content to be looked at again. */
struct keep_later {
    struct keep_later *next;
    unsigned what;
    char *name;
};

struct volume_keeper {
    struct volume_keeper_options o;
    struct clock *clock;
    struct volume_files files;
    struct mirror *mirror;
    const struct kind *kinds[KEEP_KINDS];
    struct feed *feeds[KEEP_KINDS];
    struct reflector *reflectors[KEEP_KINDS];
    struct arena arena;
    struct keep_later *later;
    struct timer *timer, *measure;
    struct disk_walk walk;
    char measured[256]; /* the volume that is measured, or was last; empty: a round begins */
    unsigned synced;
    /* the copy that is being made */
    unsigned what;
    char name[256],
        error[200]; /* error: of the last one that failed, told on the volume called `failed` */
    char failed[256];
};

static void step(struct volume_keeper *k, unsigned what, struct str name);

/* ---- later ---- */

static void look_later(struct volume_keeper *k, unsigned what, struct str name) {
    for (struct keep_later *l = k->later; l != NULL; l = l->next) {
        if (l->what == what && str_is(name, l->name)) {
            return;
        }
    }
    struct keep_later *l = mem_zalloc(sizeof(*l));
    char *text = l != NULL ? mem_cstr(name) : NULL;
    if (text == NULL) {
        mem_free(l);
        return;
    }
    *l = (struct keep_later){k->later, what, text};
    k->later = l;
}

static void look_now(void *ctx) {
    struct volume_keeper *k = ctx;
    struct keep_later *l = TAKE(k->later);
    while (l != NULL) {
        struct keep_later *next = l->next;
        step(k, l->what, str_of(l->name));
        mem_free(l->name);
        mem_free(l);
        l = next;
    }
}

static void wait_for(struct volume_keeper *k, unsigned what, struct str name, int64_t ns) {
    look_later(k, what, name);
    k->clock->timer_start(k->timer, ns);
}

/* ---- writing ---- */

struct keep_write {
    struct volume_keeper *k;
    unsigned what;
    char *name;
};

static void on_written(void *ctx, const struct write_result *r) {
    struct keep_write *w = ctx;
    if (r->code != 0 && r->code != ERR_NOT_FOUND) {
        wait_for(w->k, w->what, str_of(w->name), NS_PER_SEC);
    }
    mem_free(w->name);
    mem_free(w);
}

static void send_patch(struct volume_keeper *k, unsigned what, const struct object *o,
                       const char *subresource, const void *was, const void *want) {
    struct codec_lock lock = {.rv = o->rv, .uid = o->uid};
    struct keep_write *w = mem_zalloc(sizeof(*w));
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    char *name = w != NULL ? mem_cstr(o->name) : NULL;
    if (name != NULL && codec_patch(kind_storage(o->kind)->schema, was, want, &lock, &b) &&
        buf_ok(&b) == 0) {
        *w = (struct keep_write){k, what, name};
        writer_patch(k->o.writer, WHO, o->kind, STR(""), o->name, subresource, PATCH_MERGE,
                     buf_view(&b), on_written, w);
    } else {
        mem_free(name);
        mem_free(w);
    }
    buf_release(&b);
}

/* ---- volumes ---- */

static struct str host_of(const struct persistent_volume *v) {
    const struct node_selector_view *s =
        v->spec->node_affinity != NULL ? v->spec->node_affinity->required : NULL;
    if (s == NULL || s->node_selector_terms.n != 1 ||
        s->node_selector_terms.v[0].match_expressions.n != 1) {
        return (struct str){0};
    }
    const struct node_requirement *q = &s->node_selector_terms.v[0].match_expressions.v[0];
    return str_is(q->key, STORAGE_HOSTNAME) && q->values.n == 1 ? q->values.v[0] : (struct str){0};
}

static bool decode(struct volume_keeper *k, const struct object *o, void *ret) {
    yyjson_doc *d;
    return object_tree(o, &k->arena, &d, NULL) == 0 &&
           codec_decode(kind_storage(o->kind)->schema, yyjson_doc_get_root(d), &k->arena, ret,
                        NULL) == 0;
}

static struct str hold(struct volume_keeper *k, const struct persistent_volume *pv,
                       struct quantity size) {
    int64_t bytes = quantity_value(size);
    return volume_files_hold(&k->files, pv->spec->csi->volume_handle,
                             bytes > 0 ? (uint64_t)bytes : 0)
               ? STR("quota")
               : STR("measured");
}

/* ready, limit: of a volume that is as it should be, or empty. */
static void say_volume(struct volume_keeper *k, const struct object *o,
                       const struct persistent_volume *pv, struct str ready, struct str limit,
                       struct str error) {
    struct persistent_volume want = *pv;
    struct meta meta = *pv->metadata;
    const struct str none = {0};
    int r = meta_set(&meta.annotations, &k->arena, STORAGE_ERROR, error.n > 0 ? error : none);
    if (ready.n > 0) {
        r = r ? r : meta_set(&meta.annotations, &k->arena, STORAGE_READY, ready);
        r = r ? r : meta_set(&meta.annotations, &k->arena, STORAGE_LIMIT, limit);
    }
    want.metadata = &meta;
    if (r == 0) {
        send_patch(k, KEEP_VOLUMES, o, "", pv, &want);
    }
}

static void drop_finalizer(struct volume_keeper *k, unsigned what, const struct object *o,
                           const struct meta *meta, const char *finalizer) {
    struct meta want = *meta;
    struct partial_object before = {(struct meta *)meta}, after = {&want};
    struct codec_lock lock = {.rv = o->rv, .uid = o->uid};
    struct keep_write *w = mem_zalloc(sizeof(*w));
    char *name = w != NULL ? mem_cstr(o->name) : NULL;
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    if (name != NULL && meta_remove_finalizer(&want, &k->arena, finalizer) == 0 &&
        codec_patch(&schema_partial_object, &before, &after, &lock, &b) && buf_ok(&b) == 0) {
        *w = (struct keep_write){k, what, name};
        writer_patch(k->o.writer, WHO, o->kind, STR(""), o->name, "", PATCH_MERGE, buf_view(&b),
                     on_written, w);
    } else {
        mem_free(name);
        mem_free(w);
    }
    buf_release(&b);
}

static void on_copy(void *ctx, bool ok) {
    struct volume_keeper *k = ctx;
    if (!ok) {
        memcpy(k->failed, k->name, sizeof(k->failed));
        str_copy(STR("its data could not be copied: see the log of the node"), k->error,
                 sizeof(k->error));
        wait_for(k, k->what, str_of(k->name), AGAIN_S * NS_PER_SEC);
    } else {
        k->failed[0] = 0;
        look_later(k, k->what, str_of(k->name));
        k->clock->timer_start(k->timer, 0);
    }
}

/* Begins a copy, or waits for its turn. 0, or an error that the object shall tell. */
static int begin_copy(struct volume_keeper *k, unsigned what, const struct object *o,
                      enum volume_place from, struct str source, enum volume_place to,
                      struct str handle, struct err *err) {
    if (volume_files_busy(&k->files)) {
        if (!(k->what == what && str_is(o->name, k->name))) {
            wait_for(k, what, o->name, NS_PER_SEC);
        }
        return 0;
    }
    k->what = what;
    if (!str_copy(o->name, k->name, sizeof(k->name))) {
        return err_set(err, ERR_INVALID, "its name is too long");
    }
    return volume_files_copy(&k->files, from, source, to, handle, on_copy, k, err);
}

static int group_of(struct volume_keeper *k, const struct persistent_volume *pv, gid_t *ret,
                    struct err *err) {
    *ret = 0;
    return k->o.users != NULL && pv->spec->claim_ref != NULL
               ? users_group(k->o.users, pv->spec->claim_ref->namespace, ret, err)
               : 0;
}

/* The folder, as it should be. *ret_wait: a copy is on its way. */
static int prepare_volume(struct volume_keeper *k, const struct object *o,
                          const struct persistent_volume *pv, bool *ret_wait, struct err *err) {
    struct str handle = pv->spec->csi->volume_handle, kind, source;
    bool there = volume_files_has(&k->files, VOLUME_FOLDER, handle);
    struct str note = meta_annotation(pv->metadata, STORAGE_SOURCE);
    bool ours = meta_annotation(pv->metadata, STORAGE_PROVISIONED_BY).n > 0;
    gid_t gid;
    *ret_wait = false;
    if (!volume_handle_good(handle)) {
        return err_set(err, ERR_INVALID, "spec.csi.volumeHandle \"%.*s\" is no name of a volume",
                       STR_ARG(handle));
    }
    if (!there && !ours) {
        return err_set(err, ERR_NOT_FOUND, "this node has no volume \"%.*s\"", STR_ARG(handle));
    }
    if (!there && note.n > 0 && str_cut(note, '/', &kind, &source)) {
        *ret_wait = true;
        return begin_copy(k, KEEP_VOLUMES, o,
                          str_is(kind, "snapshot") ? VOLUME_SNAPSHOT : VOLUME_FOLDER, source,
                          VOLUME_FOLDER, handle, err);
    }
    int r = group_of(k, pv, &gid, err);
    return r ? r : volume_files_make(&k->files, handle, gid, err);
}

static void keep_volume(struct volume_keeper *k, const struct object *o) {
    const struct str none = {0};
    struct persistent_volume pv;
    struct quantity ready;
    struct err err = {0};
    bool wait;
    if (!decode(k, o, &pv) || pv.spec == NULL || pv.spec->csi == NULL || pv.metadata == NULL ||
        !str_is(pv.spec->csi->driver, STORAGE_DRIVER) || !str_is(host_of(&pv), k->o.node_name)) {
        return;
    }
    if (o->deleting_ns != 0) {
        bool held = meta_has_finalizer(pv.metadata, STORAGE_VOLUME_PROTECTION);
        if (held || !meta_has_finalizer(pv.metadata, STORAGE_VOLUME_FILES) ||
            !str_is(pv.spec->reclaim_policy, "Delete")) {
            return;
        }
        if (volume_files_busy(&k->files)) { /* it may be what is copied from, or to */
            wait_for(k, KEEP_VOLUMES, o->name, NS_PER_SEC);
            return;
        }
        if (volume_files_retire(&k->files, VOLUME_FOLDER, pv.spec->csi->volume_handle, &err) != 0) {
            say_volume(k, o, &pv, none, none, str_of(err.text));
            return;
        }
        drop_finalizer(k, KEEP_VOLUMES, o, pv.metadata, STORAGE_VOLUME_FILES);
        return;
    }
    struct quantity size = {0};
    for (size_t i = 0; i < pv.spec->capacity.n; i++) {
        if (str_is(pv.spec->capacity.v[i].key, "storage")) {
            size = pv.spec->capacity.v[i].value;
        }
    }
    bool said = quantity_parse(meta_annotation(pv.metadata, STORAGE_READY), &ready, NULL) == 0 &&
                quantity_cmp(ready, size) == 0;
    if (said && volume_files_has(&k->files, VOLUME_FOLDER, pv.spec->csi->volume_handle) &&
        str_eq(meta_annotation(pv.metadata, STORAGE_LIMIT), hold(k, &pv, size))) {
        return;
    }
    if (k->failed[0] != 0 && str_is(o->name, k->failed)) {
        struct str was = meta_annotation(pv.metadata, STORAGE_ERROR);
        k->failed[0] = 0;
        if (!str_is(was, k->error)) {
            say_volume(k, o, &pv, none, none, str_of(k->error));
            return;
        }
    }
    char text[QUANTITY_TEXT_MAX];
    if (prepare_volume(k, o, &pv, &wait, &err) != 0) {
        if (!str_is(meta_annotation(pv.metadata, STORAGE_ERROR), err.text)) {
            say_volume(k, o, &pv, none, none, str_of(err.text));
        }
        wait_for(k, KEEP_VOLUMES, o->name, AGAIN_S * NS_PER_SEC);
    } else if (!wait) {
        say_volume(k, o, &pv, quantity_text(size, text), hold(k, &pv, size), none);
    }
}

/* ---- snapshots ---- */

struct keep_search {
    struct volume_keeper *k;
    struct str handle;
    int64_t size; /* of the volume with the handle; 0: there is none */
};

static bool find_size(void *ctx, const struct object *o) {
    struct keep_search *s = ctx;
    struct persistent_volume pv;
    if (!str_contains(o->json, s->handle) || !decode(s->k, o, &pv) || pv.spec->csi == NULL ||
        !str_eq(pv.spec->csi->volume_handle, s->handle) || pv.spec->capacity.n == 0) {
        return true;
    }
    s->size = quantity_value(pv.spec->capacity.v[0].value);
    return false;
}

static void say_content(struct volume_keeper *k, const struct object *o,
                        const struct snapshot_content *c, struct str handle, struct str error) {
    struct snapshot_content want = *c;
    struct snapshot_content_status status =
        c->status != NULL ? *c->status : (struct snapshot_content_status){0};
    struct keep_search s = {.k = k, .handle = c->spec->source->volume_handle};
    int64_t now = clock_wall(k->clock);
    struct snapshot_error e = {now, error};
    status.error = error.n > 0 ? &e : NULL;
    status.ready_to_use = (struct opt_bool){true, error.n == 0};
    if (error.n == 0) {
        if (s.handle.n > 0) {
            mirror_scan(k->mirror, k->kinds[KEEP_VOLUMES], STR(""), find_size, &s);
        }
        status.snapshot_handle = handle;
        status.creation_ns = status.creation_ns != 0 ? status.creation_ns : now;
        status.restore_size = (struct opt_i64){true, s.size};
    }
    want.status = &status;
    send_patch(k, KEEP_CONTENTS, o, "status", c, &want);
}

static void take_snapshot(struct volume_keeper *k, const struct object *o,
                          const struct snapshot_content *c) {
    struct str given = c->spec->source->snapshot_handle;
    struct str handle = given.n > 0 ? given : arena_f(&k->arena, "snap-%.*s", STR_ARG(o->uid));
    struct err err = {0};
    int r = 0;
    if (k->failed[0] != 0 && str_is(o->name, k->failed)) {
        k->failed[0] = 0;
        r = err_set(&err, ERR_IO, "%s", k->error);
    } else if (volume_files_has(&k->files, VOLUME_SNAPSHOT, handle)) {
        say_content(k, o, c, handle, (struct str){0});
        return;
    } else if (given.n > 0) {
        r = err_set(&err, ERR_NOT_FOUND, "this node has no snapshot \"%.*s\"", STR_ARG(given));
    } else {
        r = begin_copy(k, KEEP_CONTENTS, o, VOLUME_FOLDER, c->spec->source->volume_handle,
                       VOLUME_SNAPSHOT, handle, &err);
    }
    if (r != 0) {
        bool told = c->status != NULL && c->status->error != NULL &&
                    str_is(c->status->error->message, err.text);
        if (!told) {
            say_content(k, o, c, handle, str_of(err.text));
        }
        wait_for(k, KEEP_CONTENTS, o->name, AGAIN_S * NS_PER_SEC);
    }
}

static void keep_content(struct volume_keeper *k, const struct object *o) {
    struct snapshot_content c;
    struct err err = {0};
    if (!decode(k, o, &c) || c.spec == NULL || c.spec->source == NULL || c.metadata == NULL ||
        !str_is(c.spec->driver, STORAGE_DRIVER) ||
        !str_is(meta_annotation(c.metadata, STORAGE_NODE), k->o.node_name)) {
        return;
    }
    bool ready = c.status != NULL && c.status->ready_to_use.v;
    if (o->deleting_ns == 0) {
        if (!ready) {
            take_snapshot(k, o, &c);
        }
        return;
    }
    if (!meta_has_finalizer(c.metadata, STORAGE_CONTENT_FILES) ||
        !str_is(c.spec->deletion_policy, "Delete")) {
        return;
    }
    if (volume_files_busy(&k->files)) { /* it may be what is copied from, or to */
        wait_for(k, KEEP_CONTENTS, o->name, NS_PER_SEC);
        return;
    }
    struct str handle = c.status != NULL && c.status->snapshot_handle.n > 0
                            ? c.status->snapshot_handle
                            : arena_f(&k->arena, "snap-%.*s", STR_ARG(o->uid));
    if (volume_files_retire(&k->files, VOLUME_SNAPSHOT, handle, &err) != 0) {
        log_warn(k->o.log, "snapshot %.*s: %s", STR_ARG(o->name), err.text);
        wait_for(k, KEEP_CONTENTS, o->name, AGAIN_S * NS_PER_SEC);
        return;
    }
    drop_finalizer(k, KEEP_CONTENTS, o, c.metadata, STORAGE_CONTENT_FILES);
}

static void step(struct volume_keeper *k, unsigned what, struct str name) {
    const struct object *o = mirror_get(k->mirror, k->kinds[what], STR(""), name);
    arena_reset(&k->arena);
    if (o != NULL) {
        (what == KEEP_VOLUMES ? keep_volume : keep_content)(k, o);
    }
}

/* ---- sizes ---- */

struct keep_next {
    struct str after, found;
};

static bool find_next(void *ctx, const struct object *o) {
    struct keep_next *n = ctx;
    bool later = str_cmp(o->name, n->after) > 0;
    n->found = later ? o->name : n->found;
    return !later;
}

static bool decode_own(struct volume_keeper *k, struct str name, struct persistent_volume *ret) {
    const struct object *o = mirror_get(k->mirror, k->kinds[KEEP_VOLUMES], STR(""), name);
    arena_reset(&k->arena);
    return o != NULL && o->deleting_ns == 0 && decode(k, o, ret) && ret->spec != NULL &&
           ret->spec->csi != NULL && ret->spec->capacity.n > 0 && ret->spec->claim_ref != NULL &&
           str_is(ret->spec->csi->driver, STORAGE_DRIVER) && str_is(host_of(ret), k->o.node_name) &&
           volume_handle_good(ret->spec->csi->volume_handle);
}

static void begin_next(struct volume_keeper *k) {
    struct keep_next n = {.after = str_of(k->measured)};
    struct persistent_volume pv;
    char path[PATH_LEN + 256];
    mirror_scan(k->mirror, k->kinds[KEEP_VOLUMES], STR(""), find_next, &n);
    if (!str_copy(n.found, k->measured, sizeof(k->measured))) {
        k->measured[0] = 0;
    }
    if (k->measured[0] != 0 && decode_own(k, str_of(k->measured), &pv)) {
        snprintf(path, sizeof(path), "%s/%.*s", k->files.path,
                 STR_ARG(pv.spec->csi->volume_handle));
        disk_walk_begin(&k->walk, path);
    }
}

static void judge(struct volume_keeper *k) {
    struct persistent_volume pv;
    char why[300], size[QUANTITY_TEXT_MAX];
    if (!decode_own(k, str_of(k->measured), &pv)) {
        return;
    }
    struct quantity most = pv.spec->capacity.v[0].value;
    if (k->walk.bytes > (uint64_t)quantity_value(most) && k->o.over != NULL) {
        struct str claim = pv.spec->claim_ref->name;
        snprintf(why, sizeof(why), "Usage of the volume of claim \"%.*s\" exceeds its size %s.",
                 STR_ARG(claim), quantity_text(most, size).p);
        k->o.over(k->o.ctx, pv.spec->claim_ref->namespace, claim, why);
    }
}

static void on_measure(void *ctx) {
    struct volume_keeper *k = ctx;
    unsigned left = STEPS;
    for (unsigned i = 0; i < 64 && left > 0; i++) {
        if (k->walk.at == NULL) {
            begin_next(k);
        }
        if (k->measured[0] == 0) {
            break;
        }
        bool walked = k->walk.at != NULL;
        unsigned used = walked ? disk_walk_on(&k->walk, left) : 1;
        left -= used < left ? used : left;
        if (walked && k->walk.at == NULL) {
            judge(k);
        }
    }
    k->clock->timer_start(k->measure, (k->measured[0] == 0 ? ROUND_S : 1) * NS_PER_SEC);
}

/* ---- watching ---- */

static void on_volume(void *ctx, const struct change *ch) {
    if (ch->type != CHANGE_DELETED) {
        step(ctx, KEEP_VOLUMES, ch->obj->name);
    }
}

static void on_content(void *ctx, const struct change *ch) {
    if (ch->type != CHANGE_DELETED) {
        step(ctx, KEEP_CONTENTS, ch->obj->name);
    }
}

struct keep_known {
    struct str handle;
    bool found;
};

static bool mentions(void *ctx, const struct object *o) {
    struct keep_known *w = ctx;
    w->found = str_contains(o->json, w->handle);
    return !w->found;
}

static bool is_known(void *ctx, enum volume_place place, struct str handle) {
    struct volume_keeper *k = ctx;
    struct keep_known w = {.handle = handle};
    mirror_scan(k->mirror, k->kinds[place == VOLUME_FOLDER ? KEEP_VOLUMES : KEEP_CONTENTS], STR(""),
                mentions, &w);
    return w.found || (place == VOLUME_SNAPSHOT && str_starts(handle, STR("snap-")) &&
                       mirror_by_uid(k->mirror, str_skip(handle, 5)) != NULL);
}

static void on_synced(void *ctx) {
    struct volume_keeper *k = ctx;
    if (++k->synced == KEEP_KINDS) {
        volume_files_tell_strays(&k->files, is_known, k);
        k->clock->timer_start(k->measure, NS_PER_SEC);
    }
}

int volume_keeper_watch(struct volume_keeper *k, struct err *err) {
    for (unsigned i = 0; i < KEEP_KINDS; i++) {
        const struct reflector_options o = {
            .kind = k->kinds[i], .synced = on_synced, .ctx = k, .log = k->o.log};
        if (k->reflectors[i] == NULL &&
            (k->reflectors[i] = reflector_start(k->o.kube, k->mirror, &o, err)) == NULL) {
            return ERR_NOMEM;
        }
    }
    return 0;
}

struct volume_keeper *volume_keeper_new(const struct volume_keeper_options *o, struct err *err) {
    struct volume_keeper *k = mem_zalloc(sizeof(*k));
    if (k == NULL) {
        err_set(err, ERR_NOMEM, "no memory");
        return NULL;
    }
    k->o = *o;
    k->clock = loop_clock(o->loop);
    k->files.dir = -1;
    arena_init(&k->arena, 32 << 20);
    int r = volume_files_init(&k->files, o->loop, o->log, o->data_dir, err);
    const struct mirror_options m = {.clock = k->clock};
    k->kinds[KEEP_VOLUMES] = kind_by_name(STR(""), STR("PersistentVolume"));
    k->kinds[KEEP_CONTENTS] =
        kind_by_name(STR("snapshot.storage.k8s.io"), STR("VolumeSnapshotContent"));
    k->mirror = r == 0 ? mirror_new(&m) : NULL;
    k->timer = k->clock->timer_new(k->clock, look_now, k);
    k->measure = k->clock->timer_new(k->clock, on_measure, k);
    if (k->mirror != NULL) {
        k->feeds[KEEP_VOLUMES] = mirror_feed(k->mirror, k->kinds[KEEP_VOLUMES], on_volume, k);
        k->feeds[KEEP_CONTENTS] = mirror_feed(k->mirror, k->kinds[KEEP_CONTENTS], on_content, k);
    }
    if (k->timer == NULL || k->measure == NULL || k->feeds[KEEP_VOLUMES] == NULL ||
        k->feeds[KEEP_CONTENTS] == NULL) {
        if (r == 0) {
            err_set(err, ERR_NOMEM, "no memory");
        }
        volume_keeper_free(k);
        return NULL;
    }
    return k;
}

void volume_keeper_free(struct volume_keeper *k) {
    if (k == NULL) {
        return;
    }
    for (unsigned i = 0; i < KEEP_KINDS; i++) {
        reflector_free(k->reflectors[i]);
        feed_free(k->feeds[i]);
    }
    mirror_free(k->mirror);
    volume_files_release(&k->files);
    while (k->later != NULL) {
        struct keep_later *next = k->later->next;
        mem_free(k->later->name);
        mem_free(k->later);
        k->later = next;
    }
    k->clock->timer_free(k->timer);
    k->clock->timer_free(k->measure);
    disk_walk_end(&k->walk);
    arena_release(&k->arena);
    mem_free(k);
}
