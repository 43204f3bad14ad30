/* autoscaler: see autoscaler.h. A look that writes the scale is kept until the answer is in: then the status is made.
 * */
#include "control/scale/autoscaler.h"

#include "api/scaling/view_scaling.h"
#include "api/schema/codec.h"
#include "base/map.h"
#include "base/mem.h"
#include "control/kit/edit.h"
#include "control/scale/scale_target.h"
#include "control/scale/scaled_pods.h"
#include "core/scale/hpa.h"

enum { AUTOSCALERS, PODS, SCALED }; /* of the row's kinds */
enum { WRITE_SCALE = 1, WRITE_STATUS };
enum { EVERY_S = 15, LOOK_BYTES = 64 << 20, RIVALS_MAX = 500 };

/* One look, with all that it points to. */
struct autoscaler_look {
    struct arena arena;
    const struct object *object; /* one reference */
    struct hpa hpa;
    struct hpa_input in;
    struct hpa_answer answer;
};

/* What is kept of each autoscaler. */
struct autoscaler_entry {
    char *key;      /* "namespace/name" */
    char *selector; /* that its target had last; NULL: none */
    struct hpa_memory memory;
    struct autoscaler_look *look; /* its scale is being written */
};

struct autoscaler {
    struct controller base;
    struct map entries; /* by key */
};

/* ---- entries ---- */

static void look_free(struct autoscaler_look *l) {
    if (l != NULL) {
        object_unref(l->object);
        arena_release(&l->arena);
        mem_free(l);
    }
}

static void entry_free(struct autoscaler_entry *e) {
    look_free(e->look);
    hpa_memory_release(&e->memory);
    mem_free(e->selector);
    mem_free(e->key);
    mem_free(e);
}

static struct str key_text(struct arena *a, struct str ns, struct str name) {
    return arena_f(a, "%.*s/%.*s", STR_ARG(ns), STR_ARG(name));
}

static struct autoscaler_entry *entry_of(struct autoscaler *c, struct str ns, struct str name) {
    struct str key = key_text(&c->base.arena, ns, name);
    struct autoscaler_entry *e = map_get(&c->entries, key);
    if (e != NULL || key.p == NULL) {
        return e;
    }
    e = mem_zalloc(sizeof(*e));
    if (e != NULL) {
        e->key = mem_cstr(key);
    }
    if (e == NULL || e->key == NULL || map_put(&c->entries, str_of(e->key), e, NULL) != 0) {
        if (e != NULL) {
            entry_free(e);
        }
        return NULL;
    }
    return e;
}

static void entry_drop(struct autoscaler *c, struct str ns, struct str name) {
    struct autoscaler_entry *e = map_del(&c->entries, key_text(&c->base.arena, ns, name));
    if (e != NULL) {
        entry_free(e);
    }
}

/* ---- reading ---- */

struct autoscaler_rivals {
    struct autoscaler *c;
    struct autoscaler_look *l;
    struct hpa_rival *v;
    size_t n, cap, looked;
    bool failed;
};

/* Of the same namespace, by name: the first RIVALS_MAX are compared. Each look at an autoscaler makes this round, so
 * that all of a namespace together would cost the square of their number. */
static bool add_rival(void *ctx, const struct object *o) {
    struct autoscaler_rivals *r = ctx;
    struct autoscaler_entry *e = map_get(&r->c->entries, key_text(&r->l->arena, o->ns, o->name));
    if (r->looked++ == RIVALS_MAX) {
        return false;
    }
    if (str_eq(o->name, r->l->object->name) || e == NULL || e->selector == NULL) {
        return true;
    }
    if (r->n == r->cap && ARENA_GROW(&r->l->arena, r->v, r->cap) != 0) {
        r->failed = true;
        return false;
    }
    r->v[r->n++] = (struct hpa_rival){arena_str(&r->l->arena, o->name),
                                      arena_str(&r->l->arena, str_of(e->selector))};
    return true;
}

static bool wants_use(const struct hpa_spec *s) {
    for (size_t i = 0; i < s->metrics.n; i++) {
        if (s->metrics.v[i].resource != NULL || s->metrics.v[i].container_resource != NULL) {
            return true;
        }
    }
    return false;
}

static struct str not_served(struct arena *a, const struct hpa_metric *m) {
    const struct hpa_metric_name *name = m->external != NULL ? m->external->metric
                                         : m->pods != NULL   ? m->pods->metric
                                         : m->object != NULL ? m->object->metric
                                                             : NULL;
    if (name == NULL) {
        return STR("");
    }
    return arena_f(a,
                   "the server could not find the requested resource (get %.*s.%s.metrics.k8s.io)",
                   STR_ARG(name->name), m->external != NULL ? "external" : "custom");
}

static int read_metrics(struct autoscaler *c, struct autoscaler_look *l) {
    struct arena *a = &l->arena;
    const struct hpa_metric_list *m = &l->hpa.spec->metrics;
    struct hpa_reading *readings = ARENA_ARRAY(a, struct hpa_reading, m->n + 1);
    struct hpa_use *use = ARENA_NEW(a, struct hpa_use);
    if (readings == NULL || use == NULL) {
        return ERR_NOMEM;
    }
    if (wants_use(l->hpa.spec)) {
        scaled_pods_use(&c->base.env, l->object->ns, l->in.selector, a, use);
    }
    for (size_t i = 0; i < m->n; i++) {
        readings[i].error = not_served(a, &m->v[i]);
    }
    l->in.use = use;
    l->in.readings = readings;
    return arena_ok(a);
}

static int read_target(struct autoscaler *c, struct autoscaler_look *l,
                       struct autoscaler_entry *e) {
    const struct scaled_ref *ref = l->hpa.spec->scale_target_ref;
    struct arena *a = &l->arena;
    struct scaled_pods pods;
    struct autoscaler_rivals rivals = {.c = c, .l = l};
    struct scale_target t = scale_target_read(c->base.env.mirror, a, ref->api_version, ref->kind,
                                              l->object->ns, ref->name);
    l->in.scale_error = t.error;
    l->in.target_kind = ref->kind;
    l->in.spec_replicas = t.spec_replicas;
    l->in.status_replicas = t.status_replicas;
    l->in.selector = t.selector;
    if (t.error.n > 0) {
        return 0;
    }
    mem_free(e->selector);
    e->selector = mem_cstr(t.selector);
    int rc = e->selector == NULL ? ERR_NOMEM : 0;
    rc = rc ? rc
            : scaled_pods_read(&c->base.env, c->base.kinds[PODS], l->object->ns, t.selector, a,
                               &pods);
    if (rc == 0) {
        l->in.pods = pods.v;
        l->in.n_pods = pods.n;
        mirror_scan(c->base.env.mirror, c->base.kinds[AUTOSCALERS], l->object->ns, add_rival,
                    &rivals);
        l->in.rivals = rivals.v;
        l->in.n_rivals = rivals.n;
    }
    return rc ? rc : rivals.failed ? ERR_NOMEM : read_metrics(c, l);
}

/* ---- writing ---- */

static void tell(struct autoscaler *c, const struct object *o, const struct hpa_answer *answer) {
    for (size_t i = 0; i < answer->n_events; i++) {
        const struct hpa_event *e = &answer->events[i];
        recorder_event(c->base.recorder, o, e->warning ? EVENT_WARNING : EVENT_NORMAL, e->reason,
                       "%.*s", STR_ARG(e->message));
    }
}

static void write_status(struct round *r, const struct object *o, const struct autoscaler_look *l) {
    struct hpa want = l->hpa;
    struct hpa_status status = l->answer.status;
    if (l->answer.status_changed) {
        want.status = &status;
        round_tag(r, WRITE_STATUS);
        (void)edit_send(r, o, "status", EDIT_UID, &l->hpa, &want);
    }
}

/* The scale was written, or could not be: the rest of the look follows in the same round. */
static int answered(void *ctx, struct round *r, uint64_t what, const struct write_result *res) {
    struct autoscaler *c = ctx;
    struct autoscaler_entry *e = entry_of(c, round_ns(r), round_name(r));
    const struct object *o =
        mirror_get(c->base.env.mirror, c->base.kinds[AUTOSCALERS], round_ns(r), round_name(r));
    if (what != WRITE_SCALE || e == NULL || e->look == NULL) {
        return res->code == ERR_NOT_FOUND ? 0 : res->code;
    }
    struct autoscaler_look *l = TAKE(e->look);
    struct str error = res->code != 0 ? str_of(res->err.text) : STR("");
    error = res->code != 0 && error.n == 0 ? str_of(err_name(res->code)) : error;
    int rc = res->code == ERR_CONFLICT ? ERR_CONFLICT /* decided again */
                                       : hpa_written(&hpa_config_default, &l->in, &e->memory,
                                                     &l->arena, error, &l->answer);
    if (rc == 0 && o != NULL) {
        write_status(r, o, l);
        tell(c, o, &l->answer);
    }
    look_free(l);
    return rc;
}

static int send_scale(struct round *r, const struct autoscaler_look *l,
                      const struct object *target) {
    struct scale_view_spec had = {l->in.spec_replicas}, wanted = {l->answer.replicas};
    struct meta meta = {.name = target->name, .namespace = target->ns};
    const struct scale_view was = {&meta, &had}, want = {&meta, &wanted};
    struct buf body;
    buf_init(&body, 0);
    int rc = edit_write_as(&schema_scale_view, target, EDIT_UID, &was, &want, &body);
    if (rc == 0) {
        round_tag(r, WRITE_SCALE);
        round_patch(r, target->kind, target->ns, target->name, "scale", PATCH_MERGE,
                    buf_view(&body));
    } else {
        round_fail(r, rc);
    }
    buf_release(&body);
    return rc;
}

static enum work carry_out(struct autoscaler *c, struct autoscaler_entry *e,
                           struct autoscaler_look *l) {
    const struct scaled_ref *ref = l->hpa.spec->scale_target_ref;
    struct round *r = controller_begin(&c->base);
    round_on_done(r, answered, c);
    if (!l->answer.write) {
        write_status(r, l->object, l);
        tell(c, l->object, &l->answer);
        look_free(l);
        return round_end(r);
    }
    struct scale_target t = scale_target_read(c->base.env.mirror, &l->arena, ref->api_version,
                                              ref->kind, l->object->ns, ref->name);
    if (t.object == NULL || send_scale(r, l, t.object) != 0) {
        look_free(l);
        return round_end(r);
    }
    look_free(e->look);
    e->look = l;
    return round_end(r);
}

/* ---- a look ---- */

static int look_read(struct autoscaler *c, struct autoscaler_look *l, struct autoscaler_entry *e,
                     struct err *err) {
    yyjson_doc *d;
    int rc = object_tree(l->object, &l->arena, &d, err);
    rc = rc ? rc : codec_decode(&schema_hpa, yyjson_doc_get_root(d), &l->arena, &l->hpa, err);
    if (rc == 0 && (l->hpa.spec == NULL || l->hpa.spec->scale_target_ref == NULL)) {
        rc = err_set(err, ERR_INVALID, "no scaleTargetRef");
    }
    if (rc != 0) {
        return rc;
    }
    l->in = (struct hpa_input){.namespace = l->hpa.metadata->namespace,
                               .name = l->hpa.metadata->name,
                               .spec = l->hpa.spec,
                               .status = l->hpa.status,
                               .now_ns = clock_wall(c->base.env.clock)};
    rc = read_target(c, l, e);
    return rc ? rc : hpa_decide(&hpa_config_default, &l->in, &e->memory, &l->arena, &l->answer);
}

static enum work look(struct autoscaler *c, const struct object *o) {
    struct autoscaler_entry *e = entry_of(c, o->ns, o->name);
    struct autoscaler_look *l = mem_zalloc(sizeof(*l));
    struct err err = {0};
    if (e == NULL || l == NULL) {
        mem_free(l);
        return WORK_RETRY;
    }
    arena_init(&l->arena, LOOK_BYTES);
    l->object = object_ref(o);
    int rc = look_read(c, l, e, &err);
    if (rc == 0) {
        return carry_out(c, e, l);
    }
    if (rc == ERR_NOMEM) { /* of no use before the next look: to try costs as much as a look */
        recorder_event(c->base.recorder, o, EVENT_WARNING, "FailedGetPods",
                       "its metrics and the pods of its target do not fit into the %d MiB of one "
                       "look: nothing is scaled",
                       LOOK_BYTES >> 20);
    } else {
        log_error(c->base.env.log, "autoscaler %.*s/%.*s: %s", STR_ARG(o->ns), STR_ARG(o->name),
                  err.text);
    }
    look_free(l);
    return WORK_OK;
}

static enum work step(void *self, struct work_key key) {
    struct autoscaler *c = self;
    const struct object *o =
        mirror_get(c->base.env.mirror, c->base.kinds[AUTOSCALERS], key.ns, key.name);
    if (o == NULL || o->deleting_ns != 0) {
        entry_drop(c, key.ns, key.name);
        return WORK_OK;
    }
    workqueue_look(c->base.queue, key, EVERY_S * NS_PER_SEC);
    return look(c, o);
}

/* Its own status is not looked at. */
static void changed(void *self, const struct change *ch) {
    struct autoscaler *c = self;
    if (ch->type != CHANGE_DELETED && ch->old != NULL &&
        ch->old->generation == ch->obj->generation &&
        ch->old->deleting_ns == ch->obj->deleting_ns) {
        return;
    }
    workqueue_add(c->base.queue, ch->obj->ns, ch->obj->name);
}

static int init(void *self, struct err *err) {
    struct autoscaler *c = self;
    (void)err;
    map_init(&c->entries);
    return 0;
}

static void release(void *self) {
    struct autoscaler *c = self;
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&c->entries, &i)) != NULL;) {
        entry_free(e->value);
    }
    map_release(&c->entries);
}

const struct controller_row autoscaler_controller = {
    .name = "autoscaling",
    .set = CONTROL_AUTOSCALING,
    .budget = 8, /* looks: each may read 64 MiB of pods */
    .who = "horizontal-pod-autoscaler",
    CONTROLLER_KINDS([AUTOSCALERS] = {"autoscaling", "HorizontalPodAutoscaler", changed,
                                      .first = true, .embedded = true, .may = MAY_STATUS},
                     [PODS] = {"", "Pod", .embedded = true},
                     [SCALED] = {NULL, NULL, .embedded = true, .may = MAY_STATUS}),
    .step = step,
    .size = sizeof(struct autoscaler),
    .init = init,
    .release = release,
};
