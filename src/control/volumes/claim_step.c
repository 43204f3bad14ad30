/*
 * claim_step: one look at a claim.
 *
 *     deleted     its finalizer goes when no pod names it any more
 *     has volume  the volume is there and is the claim's: Bound, and grown where more is asked for; else Lost
 *     has none    the best volume that fits; else one is made for it, and it is bound once its node has the folder
 */
#include "api/conditions.h"
#include "api/meta.h"
#include "base/limits.h"
#include "control/kit/edit.h"
#include "control/volumes/volume_rules.h"
#include "control/volumes/volumes_step.h"
#include "wire/text/quantity.h"

#define NO_CLASS "no persistent volumes available for this claim and no storage class is set"
#define FIRST_CONSUMER "waiting for first consumer to be created before binding"

struct claim_look {
    struct volumes *v;
    const struct object *o;
    struct claim c;
};

static enum work tell(struct claim_look *l, enum event_type type, const char *reason,
                      const char *text) {
    volumes_tell(l->v, l->o, type, reason, "%s", text);
    return WORK_OK;
}

/* ---- deletion ---- */

struct holder {
    struct volumes *v;
    const struct object *pod; /* one that has a node */
    struct str node;
};

static bool find_holder(void *ctx, struct str uid) {
    struct holder *h = ctx;
    const struct object *o = mirror_by_uid(h->v->base.env.mirror, uid);
    yyjson_doc *d;
    if (o == NULL || object_tree(o, &h->v->base.arena, &d, NULL) != 0) {
        return true;
    }
    struct str node = json_str_at(yyjson_doc_get_root(d), "spec.nodeName");
    if (node.n == 0) {
        return true;
    }
    h->pod = o;
    h->node = node;
    return false;
}

static struct holder holder_of(struct volumes *v, struct str ns, struct str claim) {
    struct holder h = {.v = v};
    claim_users_each(&v->users, ns, claim, find_holder, &h);
    return h;
}

static enum work drop_protection(struct volumes *v, const struct object *o, const char *finalizer) {
    struct round *r = controller_begin(&v->base);
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    int code = edit_drop_finalizer(o, finalizer, &v->base.arena, &b);
    if (code == 0) {
        round_patch(r, o->kind, o->ns, o->name, "", PATCH_MERGE, buf_view(&b));
    } else if (code != ERR_NOT_FOUND) {
        round_fail(r, code);
    }
    buf_release(&b);
    return round_end(r);
}

static enum work let_go(struct claim_look *l) {
    struct holder h = holder_of(l->v, l->o->ns, l->o->name);
    return h.pod != NULL ? WORK_OK : drop_protection(l->v, l->o, STORAGE_CLAIM_PROTECTION);
}

/* ---- writing ---- */

static int copy_modes(struct claim_look *l, const struct persistent_volume *pv,
                      struct claim_status *s) {
    (void)l;
    s->phase = STR("Bound");
    s->access_modes = pv->spec->access_modes;
    return 0;
}

/* What the claim's status becomes: bound to the volume, with the size that the volume has. */
static int bound_status(struct claim_look *l, const struct persistent_volume *pv, bool growing,
                        struct claim_status *s) {
    struct arena *a = &l->v->base.arena;
    int64_t now = clock_wall(l->v->base.env.clock);
    const struct condition_list *was = l->c.status ? &l->c.status->conditions : NULL;
    int r = conditions_copy(was, a, &s->conditions);
    (void)copy_modes(l, pv, s);
    if (growing) {
        r = r ? r
              : conditions_set(&s->conditions, a, "Resizing", true, "", (struct str){0}, now, 0,
                               NULL);
        s->allocated_resources = pv->spec->capacity;
    } else {
        conditions_remove(&s->conditions, "Resizing", NULL);
        s->capacity = pv->spec->capacity;
        s->allocated_resources = (struct quantity_map){0};
        s->allocated_resource_statuses = (struct str_map){0};
    }
    return r;
}

static int put_notes(struct claim_look *l, const struct persistent_volume *pv, struct meta *m,
                     bool by_us) {
    struct arena *a = &l->v->base.arena;
    struct str limit = meta_annotation(pv->metadata, STORAGE_LIMIT);
    int r = meta_set(&m->annotations, a, STORAGE_BIND_COMPLETED, STR("yes"));
    if (by_us) {
        r = r ? r : meta_set(&m->annotations, a, STORAGE_BOUND_BY_CONTROLLER, STR("yes"));
    }
    if (limit.n > 0) {
        r = r ? r : meta_set(&m->annotations, a, STORAGE_LIMIT, limit);
    }
    return r;
}

/* The folder is there, and as large as the volume says. */
static bool is_ready(const struct persistent_volume *pv) {
    struct quantity ready;
    if (pv->spec->csi == NULL) {
        return true;
    }
    return quantity_parse(meta_annotation(pv->metadata, STORAGE_READY), &ready, NULL) == 0 &&
           quantity_cmp(ready, rules_storage(&pv->spec->capacity)) >= 0;
}

/* The claim says its volume, and both say Bound. */
static enum work write_bound(struct claim_look *l, const struct object *po,
                             const struct persistent_volume *pv) {
    struct round *r = controller_begin(&l->v->base);
    struct claim want = l->c;
    struct claim_spec spec = *l->c.spec;
    struct meta meta = *l->c.metadata;
    struct claim_status status =
        l->c.status ? *l->c.status : (struct claim_status){.phase = STR("Pending")};
    bool growing = !is_ready(pv), was_bound = str_is(status.phase, "Bound");
    bool grown = was_bound && !growing && conditions_find(&status.conditions, "Resizing") != NULL;
    int code = put_notes(l, pv, &meta, str_empty(spec.volume_name));
    spec.volume_name = po->name;
    want.spec = &spec;
    want.metadata = &meta;
    if (code == 0) {
        (void)edit_send(r, l->o, "", EDIT_UID, &l->c, &want);
        code = bound_status(l, pv, growing, &status);
    }
    struct claim after = want;
    after.status = &status;
    if (code == 0) {
        (void)edit_send(r, l->o, "status", EDIT_UID, &want, &after);
    } else {
        round_fail(r, code);
    }
    if (grown) {
        volumes_tell(l->v, l->o, EVENT_NORMAL, "VolumeResizeSuccessful",
                     "Resize volume %.*s succeeded", STR_ARG(po->name));
    }
    return round_end(r);
}

/* Gives a volume that is nobody's to the claim. */
static enum work write_ref(struct claim_look *l, const struct object *po,
                           const struct persistent_volume *pv) {
    struct round *r = controller_begin(&l->v->base);
    struct persistent_volume want = *pv;
    struct volume_spec spec = *pv->spec;
    struct object_reference ref = {.kind = STR("PersistentVolumeClaim"),
                                   .api_version = STR("v1"),
                                   .namespace = l->o->ns,
                                   .name = l->o->name,
                                   .uid = l->o->uid};
    struct meta meta = *pv->metadata;
    int code = pv->spec->claim_ref != NULL ? 0
                                           : meta_set(&meta.annotations, &l->v->base.arena,
                                                      STORAGE_BOUND_BY_CONTROLLER, STR("yes"));
    spec.claim_ref = &ref;
    want.spec = &spec;
    want.metadata = &meta;
    if (code) {
        round_fail(r, code);
    } else {
        (void)edit_send(r, po, "", EDIT_VERSION | EDIT_UID, pv, &want);
    }
    return round_end(r); /* the change of the volume brings the claim back here */
}

/* ---- a claim that has its volume ---- */

static enum work lost(struct claim_look *l, const char *reason, const char *text) {
    struct claim want = l->c;
    struct claim_status status = l->c.status ? *l->c.status : (struct claim_status){0};
    if (str_is(status.phase, "Lost")) {
        return WORK_OK;
    }
    struct round *r = controller_begin(&l->v->base);
    status.phase = STR("Lost");
    want.status = &status;
    (void)edit_send(r, l->o, "status", EDIT_VERSION, &l->c, &want);
    volumes_tell(l->v, l->o, EVENT_WARNING, reason, "%s", text);
    return round_end(r);
}

/* More is asked for than the volume has: the volume says more, and its node makes it so. */
static enum work grow(struct claim_look *l, const struct object *po,
                      const struct persistent_volume *pv, struct quantity asked) {
    struct round *r = controller_begin(&l->v->base);
    struct persistent_volume want = *pv;
    struct volume_spec spec = *pv->spec;
    struct quantity_pair size = {STR("storage"), asked};
    spec.capacity = (struct quantity_map){&size, 1};
    want.spec = &spec;
    (void)edit_send(r, po, "", EDIT_VERSION | EDIT_UID, pv, &want);
    volumes_tell(l->v, l->o, EVENT_NORMAL, "Resizing", "External resizer is resizing volume %.*s",
                 STR_ARG(po->name));
    return round_end(r);
}

static enum work has_volume(struct claim_look *l) {
    struct persistent_volume pv;
    struct str name = l->c.spec->volume_name;
    bool again, bound = l->c.status != NULL && !str_is(l->c.status->phase, "Pending");
    const struct object *po = volumes_read(l->v, VOL_VOLUME, STR(""), name, &pv, &again);
    if (again) {
        return WORK_RETRY;
    }
    if (po == NULL || pv.spec == NULL) {
        return bound ? lost(l, "ClaimLost",
                            "Bound claim has lost its PersistentVolume. Data on the "
                            "volume is lost!")
                     : WORK_OK; /* it may be made yet */
    }
    if (!rules_refers(&pv, l->o->ns, l->o->name, l->o->uid)) {
        if (pv.spec->claim_ref == NULL && po->deleting_ns == 0) {
            const char *misfit = bound ? NULL : rules_misfit(&l->c, &pv);
            if (misfit == NULL) {
                return write_ref(l, po, &pv);
            }
            volumes_tell(l->v, l->o, EVENT_WARNING, "VolumeMismatch",
                         "Cannot bind to requested volume \"%.*s\": %s", STR_ARG(name), misfit);
            return WORK_OK;
        }
        if (bound) {
            return lost(l, "ClaimMisbound",
                        "Two claims are bound to the same volume, this one is "
                        "bound incorrectly");
        }
        volumes_tell(l->v, l->o, EVENT_WARNING, "FailedBinding",
                     "volume \"%.*s\" already bound to a different claim.", STR_ARG(name));
        return WORK_OK;
    }
    if (str_empty(pv.spec->claim_ref->uid)) {
        return write_ref(l, po, &pv);
    }
    struct quantity asked = rules_asked(&l->c);
    if (bound && pv.spec->csi != NULL &&
        quantity_cmp(asked, rules_storage(&pv.spec->capacity)) > 0) {
        return grow(l, po, &pv, asked);
    }
    return bound || is_ready(&pv) ? write_bound(l, po, &pv) : WORK_OK;
}

/* ---- a claim that has none ---- */

struct volume_search {
    struct claim_look *l;
    const struct object *best, *own;
    struct persistent_volume pv, own_pv;
};

static void consider(struct volume_search *s, struct str name) {
    struct persistent_volume pv;
    struct volumes *v = s->l->v;
    const struct object *o = s->l->o;
    bool again;
    const struct object *po = volumes_read(v, VOL_VOLUME, STR(""), name, &pv, &again);
    if (po == NULL || po->deleting_ns != 0 || pv.spec == NULL) {
        return;
    }
    if (pv.spec->claim_ref != NULL) { /* it is given to somebody, or waits for somebody by name */
        if (rules_refers(&pv, o->ns, o->name, o->uid)) {
            s->own = po;
            s->own_pv = pv;
        }
        return;
    }
    bool available = pv.status != NULL && str_is(pv.status->phase, "Available");
    if (available && rules_misfit(&s->l->c, &pv) == NULL &&
        rules_is_better(&pv, s->best != NULL ? &s->pv : NULL)) {
        s->best = po;
        s->pv = pv;
    }
}

static bool first_ready(void *ctx, const struct object *o) {
    const struct object **ret = ctx;
    if (*ret == NULL || o->created_ns < (*ret)->created_ns) {
        *ret = o->deleting_ns == 0 ? o : *ret;
    }
    return true;
}

/* Where the volume is to be: with its data, else with the first pod that names it, else on the oldest node. */
static struct str choose_node(struct claim_look *l, struct str of_data, bool wait) {
    const struct object *node = NULL;
    struct str by_pod = holder_of(l->v, l->o->ns, l->o->name).node;
    if (of_data.n > 0) {
        return of_data;
    }
    if (by_pod.n > 0 || wait) {
        return by_pod;
    }
    mirror_scan(l->v->base.env.mirror, l->v->base.kinds[VOL_NODE], STR(""), first_ready, &node);
    return node != NULL ? node->name : (struct str){0};
}

/* Creates `pvc-<uid>`. */
static int create_volume(struct claim_look *l, const struct storage_class *class, struct str node,
                         struct str note, struct str name, struct round *r) {
    struct str hosts[] = {node};
    struct node_requirement on = {
        .key = STR(STORAGE_HOSTNAME), .operator= STR("In"), .values = {hosts, 1}};
    struct node_term term = {.match_expressions = {&on, 1}};
    struct node_selector_view selector = {.node_selector_terms = {&term, 1}};
    struct volume_node_affinity affinity = {&selector};
    struct str_pair notes[] = {{STR(STORAGE_PROVISIONED_BY), STR(STORAGE_PROVISIONER)},
                               {STR(STORAGE_SOURCE), note}};
    struct str finalizers[] = {STR(STORAGE_VOLUME_FILES)};
    struct meta meta = {
        .name = name, .annotations = {notes, note.n > 0 ? 2 : 1}, .finalizers = {finalizers, 1}};
    struct driver_volume csi = {.driver = STR(STORAGE_DRIVER), .volume_handle = l->o->uid};
    struct object_reference ref = {.kind = STR("PersistentVolumeClaim"),
                                   .api_version = STR("v1"),
                                   .namespace = l->o->ns,
                                   .name = l->o->name,
                                   .uid = l->o->uid};
    struct quantity_pair size = {STR("storage"), rules_asked(&l->c)};
    struct volume_spec spec = {.capacity = {&size, 1},
                               .csi = &csi,
                               .access_modes = l->c.spec->access_modes,
                               .claim_ref = &ref,
                               .reclaim_policy = class->reclaim_policy,
                               .storage_class_name = class->metadata->name,
                               .volume_mode = l->c.spec->volume_mode,
                               .node_affinity = &affinity};
    struct persistent_volume pv = {.metadata = &meta, .spec = &spec};
    return edit_create(r, l->v->base.kinds[VOL_VOLUME], STR(""), &pv);
}

/* What the node said against the volume, told on the claim, which people look at. */
static enum work wait_for_node(struct claim_look *l, const struct persistent_volume *pv) {
    struct str why = meta_annotation(pv->metadata, STORAGE_ERROR);
    if (why.n > 0) {
        volumes_tell(l->v, l->o, EVENT_WARNING, "ProvisioningFailed",
                     "failed to provision volume with StorageClass \"%.*s\": %.*s",
                     STR_ARG(l->c.spec->storage_class_name), STR_ARG(why));
    }
    return WORK_OK;
}

static enum work provision(struct claim_look *l, const struct storage_class *class, bool wait) {
    struct volumes *v = l->v;
    struct str note, on, why;
    struct persistent_volume pv;
    bool again;
    struct str name = arena_f(&v->base.arena, "pvc-%.*s", STR_ARG(l->o->uid));
    const struct object *po = volumes_read(v, VOL_VOLUME, STR(""), name, &pv, &again);
    if (again) {
        return WORK_RETRY;
    }
    if (po != NULL) {
        if (!rules_refers(&pv, l->o->ns, l->o->name, l->o->uid) || !is_ready(&pv)) {
            return wait_for_node(l, &pv);
        }
        volumes_tell(v, l->o, EVENT_NORMAL, "ProvisioningSucceeded",
                     "Successfully provisioned volume %.*s", STR_ARG(name));
        return write_bound(l, po, &pv);
    }
    if (!claim_source(v, l->o, &l->c, &note, &on, &why)) {
        if (why.n > 0) {
            volumes_tell(v, l->o, EVENT_WARNING, "ProvisioningFailed", "%.*s", STR_ARG(why));
        }
        return WORK_OK;
    }
    struct str node = choose_node(l, on, wait);
    if (node.n == 0) {
        return wait ? tell(l, EVENT_NORMAL, "WaitForFirstConsumer", FIRST_CONSUMER)
                    : tell(l, EVENT_WARNING, "ProvisioningFailed",
                           "there is no node that could have the volume");
    }
    struct round *r = controller_begin(&v->base);
    if (create_volume(l, class, node, note, name, r) == 0) {
        volumes_tell(v, l->o, EVENT_NORMAL, "Provisioning",
                     "External provisioner is provisioning volume for claim \"%.*s/%.*s\"",
                     STR_ARG(l->o->ns), STR_ARG(l->o->name));
    }
    return round_end(r);
}

static enum work has_none(struct claim_look *l) {
    struct volume_search s = {.l = l};
    struct storage_class class;
    const struct map_entry *e;
    bool again;
    struct str name = l->c.spec->storage_class_name;
    for (size_t i = 0; (e = map_next(&l->v->open, &i)) != NULL;) {
        consider(&s, e->key);
    }
    if (s.own != NULL && rules_is_loose(&s.own_pv)) {
        return write_ref(l, s.own, &s.own_pv);
    }
    bool made = s.own != NULL && meta_annotation(s.own_pv.metadata, STORAGE_PROVISIONED_BY).n > 0;
    if (s.own != NULL && !made) {
        return is_ready(&s.own_pv) ? write_bound(l, s.own, &s.own_pv) : wait_for_node(l, &s.own_pv);
    }
    if (s.best != NULL && l->c.spec->data_source_ref == NULL) {
        return write_ref(l, s.best, &s.pv);
    }
    if (name.n == 0) {
        return tell(l, EVENT_NORMAL, "FailedBinding", NO_CLASS);
    }
    const struct object *co = volumes_read(l->v, VOL_CLASS, STR(""), name, &class, &again);
    if (again) {
        return WORK_RETRY;
    }
    if (co == NULL) {
        volumes_tell(l->v, l->o, EVENT_WARNING, "ProvisioningFailed",
                     "storageclass.storage.k8s.io \"%.*s\" not found", STR_ARG(name));
        return WORK_OK;
    }
    bool wait = str_is(class.volume_binding_mode, "WaitForFirstConsumer");
    if (!str_is(class.provisioner, STORAGE_PROVISIONER)) {
        if (wait && holder_of(l->v, l->o->ns, l->o->name).pod == NULL) {
            return tell(l, EVENT_NORMAL, "WaitForFirstConsumer", FIRST_CONSUMER);
        }
        volumes_tell(l->v, l->o, EVENT_NORMAL, "ExternalProvisioning",
                     "Waiting for a volume to be created either by the external provisioner '%.*s' "
                     "or manually by the system administrator. If volume creation is delayed, "
                     "please verify that the provisioner is running and correctly registered.",
                     STR_ARG(class.provisioner));
        return WORK_OK;
    }
    if (l->c.spec->selector != NULL) {
        return tell(l, EVENT_WARNING, "ProvisioningFailed",
                    "claim Selector is not supported: the provisioner " STORAGE_PROVISIONER
                    " makes volumes without labels");
    }
    return provision(l, &class, wait);
}

enum work claim_step(struct volumes *v, struct str ns, struct str name) {
    struct claim_look l = {.v = v};
    bool again;
    l.o = volumes_read(v, VOL_CLAIM, ns, name, &l.c, &again);
    if (l.o == NULL || l.c.spec == NULL || l.c.metadata == NULL) {
        return again ? WORK_RETRY : WORK_OK;
    }
    if (l.o->deleting_ns != 0) {
        return let_go(&l);
    }
    return l.c.spec->volume_name.n > 0 ? has_volume(&l) : has_none(&l);
}
