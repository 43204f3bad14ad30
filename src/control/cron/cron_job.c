/* cron_job: feeds in, decisions from cron_decide, a round of writes out. See cron_job.h. */
#include "control/cron/cron_job.h"

#include "api/conditions.h"
#include "api/meta.h"
#include "api/schema/codec.h"
#include "base/limits.h"
#include "control/cron/cron_decide.h"
#include "control/kit/edit.h"
#include "wire/text/time.h"

#define MANUAL_ANNOTATION "cronjob.kubernetes.io/instantiate"

enum { CRON_JOBS, JOBS }; /* of the row's kinds */
enum { WRITE_STATUS, WRITE_DELETE, WRITE_CREATE };
enum { GATHER_MS = 50, SCRATCH = 64 << 20, DUE_TEXT_MAX = 48 };
_Static_assert(DUE_TEXT_MAX >= (int)ZONE_TEXT_MAX && DUE_TEXT_MAX >= (int)TIME_TEXT_MAX, "room");

struct cron_controller {
    struct controller base;
    struct arena scratch; /* of one Job */
};

/* ---- what to look at ---- */

static bool of_cron_job(const struct owner_ref *o) {
    return o && str_is(o->kind, "CronJob") && str_starts(o->api_version, STR("batch/"));
}

static void look_at_owner(struct controller *c, const struct object *job) {
    const struct owner_ref *owner = object_controller(job);
    if (of_cron_job(owner)) { /* changes of a Job come in bursts */
        workqueue_add_after(c->queue, job->ns, owner->name, GATHER_MS * NS_PER_MS);
    }
}

static void job_changed(void *self, const struct change *ch) {
    if (object_left(ch->old, ch->obj)) {
        look_at_owner(self, ch->old);
    }
    look_at_owner(self, ch->obj);
}

/* ---- its Jobs ---- */

struct cron_runs {
    struct cron_controller *c;
    const struct object *cron;
    struct cron_run *v;
    const struct object **objects;
    size_t n, cap;
    int code;
};

static int grow(struct cron_runs *r) {
    struct arena *a = &r->c->base.arena;
    size_t cap = r->cap ? r->cap * 2 : 16;
    struct cron_run *v = ARENA_ARRAY(a, struct cron_run, cap);
    const struct object **objects = ARENA_ARRAY(a, const struct object *, cap);
    if (v == NULL || objects == NULL) {
        return ERR_NOMEM;
    }
    if (r->n) {
        memcpy(v, r->v, r->n * sizeof *v);
        memcpy(objects, r->objects, r->n * sizeof *objects);
    }
    r->v = v;
    r->objects = objects;
    r->cap = cap;
    return 0;
}

/* The time for which we made it: the annotation's, where the name says the same. */
static int64_t due_of(const struct object *cron, const struct object *job, const struct meta *m,
                      struct arena *a) {
    int64_t ns;
    struct str text = meta_annotation(m, CRON_TIME_ANNOTATION);
    if (text.n == 0 || time_parse(text, &ns, NULL) != 0 || ns < 0) {
        return -1;
    }
    return str_eq(cron_run_name(cron->name, ns / NS_PER_SEC, a), job->name) ? ns / NS_PER_SEC : -1;
}

static int read_run(const struct object *cron, const struct object *o, struct arena *a,
                    struct cron_run *ret) {
    yyjson_doc *d;
    struct job job;
    struct err err = {0};
    int r = object_tree(o, a, &d, &err);
    r = r ? r : codec_decode(&schema_job, yyjson_doc_get_root(d), a, &job, &err);
    if (r != 0) {
        return r;
    }
    const struct condition_list *c = job.status ? &job.status->conditions : NULL;
    *ret = (struct cron_run){
        .name = o->name,
        .uid = o->uid,
        .finished = conditions_true(c, "Complete") ? "Complete"
                    : conditions_true(c, "Failed") ? "Failed"
                                                   : NULL,
        .manual = str_is(meta_annotation(job.metadata, MANUAL_ANNOTATION), "manual"),
        .deleting = o->deleting_ns != 0,
        .start_ns = job.status ? job.status->start_ns : 0,
        .completion_ns = job.status ? job.status->completion_ns : 0,
        .due_s = due_of(cron, o, job.metadata, a),
    };
    return 0;
}

static bool gather(void *ctx, const struct object *o) {
    struct cron_runs *r = ctx;
    const struct owner_ref *owner = object_controller(o);
    if (o->kind != r->c->base.kinds[JOBS] || owner == NULL ||
        !object_named_by(r->cron, o->ns, owner)) {
        return true;
    }
    r->code = r->n == r->cap ? grow(r) : 0;
    arena_reset(&r->c->scratch);
    r->code = r->code ? r->code : read_run(r->cron, o, &r->c->scratch, &r->v[r->n]);
    if (r->code == 0) {
        r->objects[r->n++] = o;
    }
    return r->code == 0;
}

/* ---- the Job ---- */

static yyjson_mut_val *copy_or_new(yyjson_mut_doc *d, yyjson_val *v) {
    return yyjson_is_obj(v) ? yyjson_val_mut_copy(d, v) : yyjson_mut_obj(d);
}

static int set_owner(yyjson_mut_doc *d, yyjson_mut_val *meta, const struct object *cron) {
    yyjson_mut_val *list = yyjson_mut_arr(d), *o = yyjson_mut_arr_add_obj(d, list);
    int r = o ? 0 : ERR_NOMEM;
    r = r ? r : json_mset_str(d, o, "apiVersion", str_of(kind_api_version(cron->kind)));
    r = r ? r : json_mset_str(d, o, "kind", str_of(cron->kind->kind));
    r = r ? r : json_mset_str(d, o, "name", cron->name);
    r = r ? r : json_mset_str(d, o, "uid", cron->uid);
    r = r ? r : json_mset_bool(d, o, "controller", true);
    r = r ? r : json_mset_bool(d, o, "blockOwnerDeletion", true);
    return r ? r : json_mset(d, meta, STR("ownerReferences"), list);
}

/* As Go writes it: with the zone's offset, and "Z" where that is none. */
static struct str due_text(const struct zone *z, int64_t due_s, char out[static DUE_TEXT_MAX]) {
    return zone_at(z, due_s).offset == 0 ? time_text(due_s * NS_PER_SEC, out)
                                         : zone_text(z, due_s, out);
}

static int write_job(const struct object *cron, yyjson_val *tree, int64_t due_s,
                     const struct zone *z, struct arena *a, struct buf *out) {
    yyjson_mut_doc *d = json_mut_new(a);
    yyjson_mut_val *root = d ? yyjson_mut_obj(d) : NULL, *meta = json_mensure(d, root, "metadata");
    yyjson_val *template = json_path(tree, "spec.jobTemplate");
    char text[DUE_TEXT_MAX];
    if (meta == NULL) {
        return ERR_NOMEM;
    }
    yyjson_mut_val *labels = json_path(template, "metadata.labels")
                                 ? yyjson_val_mut_copy(d, json_path(template, "metadata.labels"))
                                 : NULL;
    yyjson_mut_val *notes = copy_or_new(d, json_path(template, "metadata.annotations"));
    yyjson_mut_doc_set_root(d, root);
    int r = json_mset_str(d, root, "apiVersion", STR("batch/v1"));
    r = r ? r : json_mset_str(d, root, "kind", STR("Job"));
    r = r ? r : json_mset_str(d, meta, "name", cron_run_name(cron->name, due_s, a));
    r = r ? r : json_mset_str(d, meta, "namespace", cron->ns);
    r = r || labels == NULL ? r : json_mset(d, meta, STR("labels"), labels);
    r = r ? r : json_mset_str(d, notes, CRON_TIME_ANNOTATION, due_text(z, due_s, text));
    r = r ? r : json_mset(d, meta, STR("annotations"), notes);
    r = r ? r : set_owner(d, meta, cron);
    r = r ? r : json_mset(d, root, STR("spec"), copy_or_new(d, json_get(template, STR("spec"))));
    if (r == 0) {
        json_write_mut(out, root);
        r = buf_ok(out);
    }
    return r;
}

/* ---- one look ---- */

static int job_made(struct cron_controller *c, const struct object *cron,
                    const struct write_result *res) {
    if (res->code == 0 && res->obj) {
        recorder_event(c->base.recorder, cron, EVENT_NORMAL, "SuccessfulCreate", "Created job %.*s",
                       STR_ARG(res->obj->name));
    } else if (res->code != 0) {
        recorder_event(c->base.recorder, cron, EVENT_WARNING, "FailedCreate",
                       "Error creating job: %s", res->err.text);
    }
    /* A namesake that is somebody else's stays, and this time is let pass. */
    return res->code == ERR_EXISTS ? 0 : res->code;
}

static int answered(void *ctx, struct round *r, uint64_t what, const struct write_result *res) {
    struct cron_controller *c = ctx;
    const struct object *cron =
        mirror_get(c->base.env.mirror, c->base.kinds[CRON_JOBS], round_ns(r), round_name(r));
    if (cron == NULL) {
        return 0;
    }
    if (what == WRITE_CREATE) {
        return job_made(c, cron, res);
    }
    if (what == WRITE_DELETE && res->code == 0 && res->obj) {
        recorder_event(c->base.recorder, cron, EVENT_NORMAL, "SuccessfulDelete", "Deleted job %.*s",
                       STR_ARG(res->obj->name));
    }
    return res->code == ERR_NOT_FOUND ? 0 : res->code;
}

static void write_create(struct cron_controller *c, struct round *r, const struct object *cron,
                         yyjson_val *tree, int64_t due_s, const struct zone *z) {
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    arena_reset(&c->scratch);
    int code = write_job(cron, tree, due_s, z, &c->scratch, &b);
    if (code == 0) {
        round_tag(r, WRITE_CREATE);
        round_create(r, c->base.kinds[JOBS], cron->ns, buf_view(&b));
    } else {
        round_fail(r, code);
    }
    buf_release(&b);
}

static enum work carry_out(struct cron_controller *c, const struct object *cron, yyjson_val *tree,
                           const struct cron_facts *f, const struct cron_plan *p,
                           const struct cron_runs *runs) {
    for (size_t i = 0; i < p->n_notes; i++) {
        recorder_event(c->base.recorder, cron, p->notes[i].type, p->notes[i].reason, "%.*s",
                       STR_ARG(p->notes[i].text));
    }
    if (p->again_ns) {
        workqueue_add_after(c->base.queue, cron->ns, cron->name, p->again_ns);
    }
    if (!p->write_status && !p->n_deletes && !p->due_s) {
        return WORK_OK;
    }
    struct round *r = controller_begin(&c->base);
    round_on_done(r, answered, c);
    if (p->write_status) {
        struct cron_job want = *f->job;
        want.status = (struct cron_job_status *)&p->status;
        round_tag(r, WRITE_STATUS);
        (void)edit_send(r, cron, "status", EDIT_VERSION, f->job, &want);
    }
    round_tag(r, WRITE_DELETE);
    for (size_t i = 0; i < p->n_deletes; i++) {
        const struct object *o = runs->objects[p->deletes[i]];
        round_remove(r, o->kind, o->ns, o->name,
                     &(struct delete_options){
                         .uid = o->uid, .grace_seconds = -1, .propagation = STR("Background")});
    }
    if (p->due_s) {
        write_create(c, r, cron, tree, p->due_s, f->zone);
    }
    return round_end(r);
}

static enum work look(struct cron_controller *c, const struct object *cron) {
    struct cron_job job;
    struct cron_plan plan;
    struct err err = {0};
    yyjson_doc *d;
    struct cron_runs runs = {.c = c, .cron = cron};
    int r = object_tree(cron, &c->base.arena, &d, &err);
    r = r ? r : codec_decode(&schema_cron_job, yyjson_doc_get_root(d), &c->base.arena, &job, &err);
    if (r != 0 || job.spec == NULL) {
        log_error(c->base.env.log, "cron job %.*s/%.*s: %s", STR_ARG(cron->ns), STR_ARG(cron->name),
                  r ? err.text : "no spec");
        return r == ERR_NOMEM ? WORK_RETRY : WORK_OK;
    }
    mirror_owned(c->base.env.mirror, cron, gather, &runs);
    struct cron_facts f = {.job = &job,
                           .name = cron->name,
                           .created_ns = cron->created_ns,
                           .deleting = cron->deleting_ns != 0,
                           .runs = runs.v,
                           .n_runs = runs.n,
                           .now_ns = clock_wall(c->base.env.clock),
                           .zone = zone_of_utc()};
    if (job.spec->time_zone.n > 0 &&
        (c->base.env.zones == NULL ||
         zones_get(c->base.env.zones, job.spec->time_zone, &f.zone, NULL) != 0)) {
        f.zone = NULL;
    }
    if (runs.code != 0 || cron_decide(&f, &c->base.arena, &plan, &err) != 0) {
        return WORK_RETRY;
    }
    return carry_out(c, cron, yyjson_doc_get_root(d), &f, &plan, &runs);
}

static enum work step(void *self, struct work_key key) {
    struct cron_controller *c = self;
    const struct object *o =
        mirror_get(c->base.env.mirror, c->base.kinds[CRON_JOBS], key.ns, key.name);
    enum work w = o ? look(c, o) : WORK_OK;
    arena_reset(&c->scratch);
    return w;
}

/* ---- life ---- */

static int init(void *self, struct err *err) {
    struct cron_controller *c = self;
    (void)err;
    arena_init(&c->scratch, SCRATCH);
    return 0;
}

static void release(void *self) {
    struct cron_controller *c = self;
    arena_release(&c->scratch);
}

const struct controller_row cron_job_controller = {
    .name = "cron-jobs",
    .set = CONTROL_CRON_JOBS,
    .who = "cronjob-controller",
    CONTROLLER_KINDS([CRON_JOBS] = {"batch", "CronJob", controller_changed, .first = true,
                                    .may = MAY_STATUS},
                     [JOBS] = {"batch", "Job", job_changed, .may = MAY_CREATE | MAY_DELETE}),
    .step = step,
    .size = sizeof(struct cron_controller),
    .init = init,
    .release = release,
};
