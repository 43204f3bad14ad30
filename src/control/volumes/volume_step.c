/*
 * volume_step: one look at a volume: its phase, what becomes of it when its claim is gone, and when it may go.
 */
#include "api/meta.h"
#include "base/limits.h"
#include "control/kit/edit.h"
#include "control/volumes/volume_rules.h"
#include "control/volumes/volumes_step.h"

struct volume_look {
    struct volumes *v;
    const struct object *o;
    struct persistent_volume pv;
};

static enum work set_phase(struct volume_look *l, const char *phase, struct str message) {
    struct persistent_volume want = l->pv;
    struct volume_status status = l->pv.status != NULL ? *l->pv.status : (struct volume_status){0};
    if (str_is(status.phase, phase) && str_eq(status.message, message)) {
        return WORK_OK;
    }
    struct round *r = controller_begin(&l->v->base);
    status.last_transition_ns =
        str_is(status.phase, phase) ? status.last_transition_ns : clock_wall(l->v->base.env.clock);
    status.phase = str_of(phase);
    status.message = message;
    want.status = &status;
    (void)edit_send(r, l->o, "status", EDIT_UID, &l->pv, &want);
    return round_end(r);
}

/* The claim that the volume is given to; NULL when it is gone, or another one has its name. */
static const struct object *claim_of(struct volume_look *l) {
    const struct object_reference *ref = l->pv.spec->claim_ref;
    const struct object *o =
        mirror_get(l->v->base.env.mirror, l->v->base.kinds[VOL_CLAIM], ref->namespace, ref->name);
    return o != NULL && str_eq(o->uid, ref->uid) ? o : NULL;
}

/* ---- deletion ---- */

/* A folder is taken away by its node; where that is gone for good, or the folder is to stay, nobody needs to. */
static bool files_wait(struct volume_look *l) {
    struct str node = rules_node(&l->pv);
    bool there =
        mirror_get(l->v->base.env.mirror, l->v->base.kinds[VOL_NODE], STR(""), node) != NULL;
    bool wait = str_is(l->pv.spec->reclaim_policy, "Delete") && l->pv.spec->csi != NULL && there;
    if (!wait && !there && node.n > 0) {
        log_warn(l->v->base.env.log, "volume %.*s: its node %.*s is gone, and its folder with it",
                 STR_ARG(l->o->name), STR_ARG(node));
    }
    return wait;
}

static enum work let_go(struct volume_look *l) {
    struct meta want = *l->pv.metadata;
    struct arena *a = &l->v->base.arena;
    bool bound = l->pv.spec->claim_ref != NULL && !rules_is_loose(&l->pv) && claim_of(l) != NULL;
    if (bound) {
        return WORK_OK;
    }
    struct round *r = controller_begin(&l->v->base);
    int code = meta_remove_finalizer(&want, a, STORAGE_VOLUME_PROTECTION);
    if (code == 0 && meta_has_finalizer(&want, STORAGE_VOLUME_FILES) && !files_wait(l)) {
        code = meta_remove_finalizer(&want, a, STORAGE_VOLUME_FILES);
    }
    if (code) {
        round_fail(r, code);
    } else {
        (void)edit_send_meta(r, l->o, EDIT_VERSION | EDIT_UID, l->pv.metadata, &want);
    }
    return round_end(r);
}

/* ---- its claim is gone ---- */

static enum work reclaim(struct volume_look *l) {
    bool released = l->pv.status != NULL && (str_is(l->pv.status->phase, "Released") ||
                                             str_is(l->pv.status->phase, "Failed"));
    if (!released) {
        return set_phase(l, "Released", (struct str){0}); /* that change brings it here again */
    }
    if (!str_is(l->pv.spec->reclaim_policy, "Delete")) {
        return WORK_OK;
    }
    if (l->pv.spec->csi == NULL) {
        struct str why = arena_f(&l->v->base.arena,
                                 "error getting deleter volume plugin for volume \"%.*s\": no "
                                 "deletable volume plugin matched",
                                 STR_ARG(l->o->name));
        if (!str_is(l->pv.status->phase, "Failed")) {
            volumes_tell(l->v, l->o, EVENT_WARNING, "VolumeFailedDelete", "%.*s", STR_ARG(why));
        }
        return set_phase(l, "Failed", why);
    }
    struct round *r = controller_begin(&l->v->base);
    round_remove(r, l->o->kind, STR(""), l->o->name,
                 &(struct delete_options){.uid = l->o->uid, .grace_seconds = -1});
    return round_end(r);
}

enum work volume_step(struct volumes *v, struct str name) {
    struct volume_look l = {.v = v};
    bool again;
    l.o = volumes_read(v, VOL_VOLUME, STR(""), name, &l.pv, &again);
    if (l.o == NULL || l.pv.spec == NULL || l.pv.metadata == NULL) {
        return again ? WORK_RETRY : WORK_OK;
    }
    if (l.o->deleting_ns != 0) {
        return let_go(&l);
    }
    if (rules_is_loose(&l.pv)) {
        return set_phase(&l, "Available", (struct str){0});
    }
    const struct object *co = claim_of(&l);
    struct claim c;
    if (co == NULL) {
        return reclaim(&l);
    }
    if (volumes_decode(v, VOL_CLAIM, co, &c) != 0) {
        return WORK_RETRY;
    }
    if (c.spec != NULL && str_eq(c.spec->volume_name, l.o->name)) {
        return set_phase(&l, "Bound", (struct str){0});
    }
    workqueue_look(v->base.queue, (struct work_key){KEY_CLAIM, co->ns, co->name}, 0);
    return WORK_OK;
}
