/*
 * snapshot_step: one look at a snapshot, or at the content that holds its files.
 *
 * A snapshot gets a content `snapcontent-<uid>` that names the volume and its node; the node copies the folder and says
 * so in the content's status, and the snapshot shows that. A snapshot may also name a content that is there already and
 * names it back. What is deleted goes in the order snapshot, content, files, where the content's policy is Delete.
 */
#include "api/meta.h"
#include "base/limits.h"
#include "control/kit/edit.h"
#include "control/volumes/volume_rules.h"
#include "control/volumes/volumes_step.h"
#include "wire/text/quantity.h"

struct snapshot_look {
    struct volumes *v;
    const struct object *o;
    struct snapshot s;
};

static struct str content_name(struct snapshot_look *l) {
    struct str given = l->s.spec->source->content_name;
    return given.n > 0 ? given : arena_f(&l->v->base.arena, "snapcontent-%.*s", STR_ARG(l->o->uid));
}

/* ---- errors ---- */

static enum work fail(struct snapshot_look *l, const char *reason, struct str text) {
    struct snapshot want = l->s;
    struct snapshot_status status = l->s.status ? *l->s.status : (struct snapshot_status){0};
    struct snapshot_error e = {clock_wall(l->v->base.env.clock), text};
    if (status.error != NULL && str_eq(status.error->message, text)) {
        return WORK_OK;
    }
    struct round *r = controller_begin(&l->v->base);
    status.error = &e;
    status.ready_to_use = (struct opt_bool){true, false};
    want.status = &status;
    (void)edit_send(r, l->o, "status", EDIT_UID, &l->s, &want);
    volumes_tell(l->v, l->o, EVENT_WARNING, reason, "%.*s", STR_ARG(text));
    return round_end(r);
}

/* ---- its class ---- */

struct default_search {
    struct volumes *v;
    struct str name; /* of the default one */
    size_t n;
};

static bool find_default(void *ctx, const struct object *o) {
    struct default_search *s = ctx;
    struct snapshot_class c;
    if (volumes_decode(s->v, VOL_SNAPSHOT_CLASS, o, &c) == 0 &&
        str_is(meta_annotation(c.metadata, STORAGE_DEFAULT_SNAPSHOT_CLASS), "true") &&
        str_is(c.driver, STORAGE_DRIVER)) {
        s->name = c.metadata->name;
        s->n++;
    }
    return true;
}

static bool class_of(struct snapshot_look *l, struct str *ret_name, struct snapshot_class *ret,
                     struct str *ret_why) {
    struct default_search s = {.v = l->v};
    struct arena *a = &l->v->base.arena;
    bool again;
    *ret_name = l->s.spec->class_name;
    if (ret_name->n == 0) {
        mirror_scan(l->v->base.env.mirror, l->v->base.kinds[VOL_SNAPSHOT_CLASS], STR(""),
                    find_default, &s);
        *ret_name = s.name;
    }
    if (s.n > 1 || ret_name->n == 0) {
        *ret_why = arena_f(a, "%zu default snapshot classes were found, expected one", s.n);
        return false;
    }
    if (volumes_read(l->v, VOL_SNAPSHOT_CLASS, STR(""), *ret_name, ret, &again) == NULL) {
        *ret_why = arena_f(a, "volumesnapshotclass.snapshot.storage.k8s.io \"%.*s\" not found",
                           STR_ARG(*ret_name));
        return false;
    }
    return true;
}

/* ---- making its content ---- */

static bool volume_of(struct snapshot_look *l, struct persistent_volume *ret, struct str *ret_why) {
    struct arena *a = &l->v->base.arena;
    struct claim c;
    bool again;
    struct str name = l->s.spec->source->claim_name;
    if (volumes_read(l->v, VOL_CLAIM, l->o->ns, name, &c, &again) == NULL) {
        *ret_why = arena_f(a, "persistentvolumeclaim \"%.*s\" not found", STR_ARG(name));
        return false;
    }
    bool bound = c.status != NULL && str_is(c.status->phase, "Bound") &&
                 volumes_read(l->v, VOL_VOLUME, STR(""), c.spec->volume_name, ret, &again) != NULL;
    if (!bound) {
        *ret_why =
            arena_f(a, "the source persistentvolumeclaim \"%.*s\" is not bound yet", STR_ARG(name));
    } else if (ret->spec == NULL || ret->spec->csi == NULL) {
        *ret_why = arena_f(a, "the volume \"%.*s\" is not one of the driver " STORAGE_DRIVER,
                           STR_ARG(c.spec->volume_name));
    }
    return ret_why->n == 0;
}

static int create_content(struct snapshot_look *l, struct str name, struct str class_name,
                          const struct snapshot_class *class, const struct persistent_volume *pv,
                          struct round *r) {
    struct str_pair notes[] = {{STR(STORAGE_NODE), rules_node(pv)}};
    struct str finalizers[] = {STR(STORAGE_CONTENT_FILES)};
    struct meta meta = {.name = name, .annotations = {notes, 1}, .finalizers = {finalizers, 1}};
    struct object_reference ref = {.kind = STR("VolumeSnapshot"),
                                   .api_version = STR("snapshot.storage.k8s.io/v1"),
                                   .namespace = l->o->ns,
                                   .name = l->o->name,
                                   .uid = l->o->uid};
    struct snapshot_content_source source = {.volume_handle = pv->spec->csi->volume_handle};
    struct snapshot_content_spec spec = {.snapshot_ref = &ref,
                                         .deletion_policy = class->deletion_policy,
                                         .driver = STR(STORAGE_DRIVER),
                                         .class_name = class_name,
                                         .source = &source};
    struct snapshot_content content = {.metadata = &meta, .spec = &spec};
    return edit_create(r, l->v->base.kinds[VOL_CONTENT], STR(""), &content);
}

/* The finalizer and the class first: a content is never without a snapshot that waits for its end. */
static enum work prepare(struct snapshot_look *l, struct str class_name) {
    struct round *r = controller_begin(&l->v->base);
    struct snapshot want = l->s;
    struct meta meta = *l->s.metadata;
    struct snapshot_spec spec = *l->s.spec;
    int code = meta_add_finalizer(&meta, &l->v->base.arena, STORAGE_SNAPSHOT_BOUND);
    spec.class_name = class_name.n > 0 ? class_name : spec.class_name;
    want.metadata = &meta;
    want.spec = &spec;
    if (code) {
        round_fail(r, code);
    } else {
        (void)edit_send(r, l->o, "", EDIT_UID, &l->s, &want);
    }
    return round_end(r);
}

static enum work make_content(struct snapshot_look *l) {
    struct snapshot_class class;
    struct persistent_volume pv;
    struct str class_name, why = {0};
    if (!class_of(l, &class_name, &class, &why)) {
        return fail(l, "GetSnapshotClassFailed", why);
    }
    if (!str_is(class.driver, STORAGE_DRIVER)) {
        return WORK_OK; /* somebody else's */
    }
    if (!volume_of(l, &pv, &why)) {
        return fail(l, "SnapshotContentCreationFailed", why);
    }
    if (!meta_has_finalizer(l->s.metadata, STORAGE_SNAPSHOT_BOUND) ||
        !str_eq(class_name, l->s.spec->class_name)) {
        return prepare(l, class_name);
    }
    struct round *r = controller_begin(&l->v->base);
    if (create_content(l, content_name(l), class_name, &class, &pv, r) == 0) {
        volumes_tell(l->v, l->o, EVENT_NORMAL, "CreatingSnapshot",
                     "Waiting for a snapshot %.*s/%.*s to be created by the CSI driver.",
                     STR_ARG(l->o->ns), STR_ARG(l->o->name));
    }
    return round_end(r);
}

/* ---- showing it ---- */

static enum work show(struct snapshot_look *l, const struct object *co,
                      const struct snapshot_content *c) {
    struct snapshot want = l->s;
    struct snapshot_status status = l->s.status ? *l->s.status : (struct snapshot_status){0};
    const struct snapshot_content_status *from = c->status;
    bool was_ready = status.ready_to_use.set && status.ready_to_use.v;
    struct round *r = controller_begin(&l->v->base);
    status.content_name = co->name;
    status.ready_to_use = (struct opt_bool){true, from != NULL && from->ready_to_use.v};
    status.error = from != NULL ? from->error : NULL;
    if (from != NULL) {
        status.creation_ns = from->creation_ns;
        status.restore_size = (struct opt_quantity){
            from->restore_size.set, quantity_of(from->restore_size.v, QUANTITY_BINARY)};
    }
    want.status = &status;
    (void)edit_send(r, l->o, "status", EDIT_UID, &l->s, &want);
    if (!was_ready && status.ready_to_use.v) {
        volumes_tell(l->v, l->o, EVENT_NORMAL, "SnapshotReady",
                     "Snapshot %.*s/%.*s is ready to use.", STR_ARG(l->o->ns), STR_ARG(l->o->name));
    }
    return round_end(r);
}

static bool names(const struct snapshot_look *l, const struct snapshot_content *c) {
    const struct object_reference *ref = c->spec != NULL ? c->spec->snapshot_ref : NULL;
    return ref != NULL && str_eq(ref->namespace, l->o->ns) && str_eq(ref->name, l->o->name) &&
           (ref->uid.n == 0 || str_eq(ref->uid, l->o->uid));
}

/* ---- deletion ---- */

static enum work let_go(struct snapshot_look *l) {
    struct snapshot_content c;
    struct buf b;
    bool again;
    const struct object *co = volumes_read(l->v, VOL_CONTENT, STR(""), content_name(l), &c, &again);
    if (again) {
        return WORK_RETRY;
    }
    struct round *r = controller_begin(&l->v->base);
    if (co != NULL && names(l, &c) && str_is(c.spec->deletion_policy, "Delete")) {
        if (co->deleting_ns == 0) {
            round_remove(r, co->kind, STR(""), co->name,
                         &(struct delete_options){.uid = co->uid, .grace_seconds = -1});
        }
        return round_end(r); /* its end brings the snapshot here again */
    }
    buf_init(&b, LIMIT_OBJECT_BYTES);
    int code = edit_drop_finalizer(l->o, STORAGE_SNAPSHOT_BOUND, &l->v->base.arena, &b);
    if (code == 0) {
        round_patch(r, l->o->kind, l->o->ns, l->o->name, "", PATCH_MERGE, buf_view(&b));
    } else if (code != ERR_NOT_FOUND) {
        round_fail(r, code);
    }
    buf_release(&b);
    return round_end(r);
}

enum work snapshot_step(struct volumes *v, struct str ns, struct str name) {
    struct snapshot_look l = {.v = v};
    struct snapshot_content c;
    bool again;
    l.o = volumes_read(v, VOL_SNAPSHOT, ns, name, &l.s, &again);
    if (l.o == NULL || l.s.spec == NULL || l.s.spec->source == NULL || l.s.metadata == NULL) {
        return again ? WORK_RETRY : WORK_OK;
    }
    if (l.o->deleting_ns != 0) {
        return let_go(&l);
    }
    bool given = l.s.spec->source->content_name.n > 0;
    const struct object *co = volumes_read(v, VOL_CONTENT, STR(""), content_name(&l), &c, &again);
    if (again) {
        return WORK_RETRY;
    }
    if (co == NULL) {
        return !given ? make_content(&l)
                      : fail(&l, "SnapshotContentMissing",
                             arena_f(&v->base.arena, "VolumeSnapshotContent \"%.*s\" is missing",
                                     STR_ARG(content_name(&l))));
    }
    if (!names(&l, &c)) {
        return fail(&l, "SnapshotContentMisbound",
                    arena_f(&v->base.arena,
                            "VolumeSnapshotContent \"%.*s\" is for another VolumeSnapshot",
                            STR_ARG(co->name)));
    }
    if (!meta_has_finalizer(l.s.metadata, STORAGE_SNAPSHOT_BOUND)) {
        return prepare(&l, (struct str){0});
    }
    return show(&l, co, &c);
}

/* ---- a content by itself ---- */

/* Its files are taken away by its node, unless they are to stay or the node is gone. */
enum work content_step(struct volumes *v, struct str name) {
    struct snapshot_content c;
    struct buf b;
    bool again;
    const struct object *o = volumes_read(v, VOL_CONTENT, STR(""), name, &c, &again);
    if (o == NULL || c.spec == NULL || o->deleting_ns == 0) {
        return again ? WORK_RETRY : WORK_OK;
    }
    struct str node = meta_annotation(c.metadata, STORAGE_NODE);
    bool there = mirror_get(v->base.env.mirror, v->base.kinds[VOL_NODE], STR(""), node) != NULL;
    if (there && str_is(c.spec->deletion_policy, "Delete")) {
        return WORK_OK;
    }
    struct round *r = controller_begin(&v->base);
    buf_init(&b, LIMIT_OBJECT_BYTES);
    int code = edit_drop_finalizer(o, STORAGE_CONTENT_FILES, &v->base.arena, &b);
    if (code == 0) {
        round_patch(r, o->kind, STR(""), name, "", PATCH_MERGE, buf_view(&b));
    } else if (code != ERR_NOT_FOUND) {
        round_fail(r, code);
    }
    buf_release(&b);
    return round_end(r);
}

/* ---- what a claim begins with ---- */

static bool from_claim(struct volumes *v, const struct object *o, struct str name,
                       struct str *ret_note, struct str *ret_node, struct quantity *ret_size,
                       struct str *ret_why) {
    struct arena *a = &v->base.arena;
    struct persistent_volume pv;
    struct claim c;
    bool again;
    bool bound = volumes_read(v, VOL_CLAIM, o->ns, name, &c, &again) != NULL && c.status != NULL &&
                 str_is(c.status->phase, "Bound") &&
                 volumes_read(v, VOL_VOLUME, STR(""), c.spec->volume_name, &pv, &again) != NULL;
    if (!bound || pv.spec->csi == NULL) {
        *ret_why = arena_f(a,
                           "error getting PVC %.*s to clone: it must be there, and be bound to a "
                           "volume of the driver " STORAGE_DRIVER,
                           STR_ARG(name));
        return false;
    }
    *ret_note = arena_f(a, "volume/%.*s", STR_ARG(pv.spec->csi->volume_handle));
    *ret_node = rules_node(&pv);
    *ret_size = rules_storage(&pv.spec->capacity);
    return true;
}

static bool from_snapshot(struct volumes *v, const struct object *o, struct str name,
                          struct str *ret_note, struct str *ret_node, struct quantity *ret_size,
                          struct str *ret_why) {
    struct arena *a = &v->base.arena;
    struct snapshot_content c;
    struct snapshot s;
    bool again;
    bool ready =
        volumes_read(v, VOL_SNAPSHOT, o->ns, name, &s, &again) != NULL && s.status != NULL &&
        s.status->ready_to_use.v &&
        volumes_read(v, VOL_CONTENT, STR(""), s.status->content_name, &c, &again) != NULL &&
        c.status != NULL && c.status->snapshot_handle.n > 0 && c.spec != NULL &&
        c.spec->snapshot_ref != NULL && str_eq(c.spec->snapshot_ref->namespace, o->ns) &&
        str_eq(c.spec->snapshot_ref->name, name);
    if (!ready) {
        *ret_why = arena_f(a,
                           "error getting handle for DataSource Type VolumeSnapshot by Name "
                           "%.*s: snapshot %.*s is not there or not ready",
                           STR_ARG(name), STR_ARG(name));
        return false;
    }
    *ret_note = arena_f(a, "snapshot/%.*s", STR_ARG(c.status->snapshot_handle));
    *ret_node = meta_annotation(c.metadata, STORAGE_NODE);
    *ret_size = quantity_of(c.status->restore_size.v, QUANTITY_BINARY);
    return true;
}

bool claim_source(struct volumes *v, const struct object *o, const struct claim *c,
                  struct str *ret_note, struct str *ret_node, struct str *ret_why) {
    const struct typed_reference *ref =
        c->spec->data_source != NULL ? c->spec->data_source : c->spec->data_source_ref;
    struct quantity least = {0};
    char had[QUANTITY_TEXT_MAX], wanted[QUANTITY_TEXT_MAX];
    *ret_note = *ret_node = *ret_why = (struct str){0};
    if (ref == NULL) {
        return true;
    }
    bool snapshot = str_is(ref->kind, "VolumeSnapshot");
    if (!(snapshot ? from_snapshot : from_claim)(v, o, ref->name, ret_note, ret_node, &least,
                                                 ret_why)) {
        return false;
    }
    if (quantity_cmp(rules_asked(c), least) >= 0) {
        return true;
    }
    *ret_why = arena_f(&v->base.arena,
                       "requested volume size %s is less than the size %s for the source %s %.*s",
                       quantity_text(rules_asked(c), wanted).p, quantity_text(least, had).p,
                       snapshot ? "snapshot" : "PVC", STR_ARG(ref->name));
    return false;
}
