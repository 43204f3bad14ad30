/* serve: feeds in, one look at a service, a round of writes out. See serve.h. */
#include "control/serve/serve.h"

#include "api/schema/codec.h"
#include "base/limits.h"
#include "base/mem.h"
#include "control/serve/serve_private.h"

#define DEFINITION "inferenceservices.serving.kserve.io"

enum { WRITE_STATUS, WRITE_OTHER }; /* tags */

/* What the last write for a service was answered with. */
struct serve_refusal {
    char uid[LIMIT_NAME + 1], text[sizeof(((struct err *)0)->text)];
};

const struct object *serve_get(const struct serve_look *l, enum serve_kind k, struct str ns,
                               struct str name) {
    const struct kind *kind = l->c->base.kinds[k];
    return kind ? mirror_get(l->c->base.env.mirror, kind, ns, name) : NULL;
}

bool serve_owns(const struct serve_look *l, const struct object *o) {
    const struct owner_ref *ref = object_controller(o);
    return ref != NULL && object_named_by(l->obj, o->ns, ref);
}

/* ---- what to look at ---- */

static void look(struct serve_controller *c, unsigned sort, struct str ns, struct str name) {
    workqueue_look(c->base.queue, (struct work_key){sort, ns, name}, 0);
}

static void forget_refusal(struct serve_controller *c, struct str uid) {
    mem_free(map_del(&c->refused, uid));
}

static void service_changed(void *self, const struct change *ch) {
    struct serve_controller *c = self;
    if (ch->type == CHANGE_DELETED) {
        forget_refusal(c, ch->obj->uid);
        serve_ask_drop(c, ch->obj->uid);
        return;
    }
    look(c, ch->obj->kind == c->base.kinds[SERVE_LLMS] ? SERVE_LLMS : SERVE_SERVICES, ch->obj->ns,
         ch->obj->name);
}

static void owned_changed(void *self, const struct change *ch) {
    struct serve_controller *c = self;
    const struct owner_ref *ref = object_controller(ch->obj);
    if (ref == NULL || !str_starts(ref->api_version, STR("serving.kserve.io/"))) {
        return;
    }
    if (str_is(ref->kind, "InferenceService")) {
        look(c, SERVE_SERVICES, ch->obj->ns, ref->name);
    } else if (str_is(ref->kind, "LLMInferenceService")) {
        look(c, SERVE_LLMS, ch->obj->ns, ref->name);
    }
}

static void pod_of(struct serve_controller *c, const struct object *pod) {
    struct str name = object_label(pod, STR(SERVE_LABEL_SERVICE));
    if (name.n > 0) {
        look(c, SERVE_SERVICES, pod->ns, name);
    } else if (str_is(object_label(pod, STR(SERVE_LLM_PART)), SERVE_LLM)) {
        look(c, SERVE_LLMS, pod->ns, object_label(pod, STR(SERVE_LLM_NAME)));
    }
}

static void pod_changed(void *self, const struct change *ch) {
    pod_of(self, ch->obj);
}

static void workload_changed(void *self, const struct change *ch) {
    struct serve_controller *c = self;
    for (size_t i = 0; i < ch->obj->n_owners; i++) {
        const struct owner_ref *ref = &ch->obj->owners[i];
        const struct object *pod =
            str_is(ref->kind, "Pod") ? mirror_owner(c->base.env.mirror, ch->obj->ns, ref) : NULL;
        if (pod != NULL) {
            pod_of(c, pod);
        }
    }
}

static bool look_at_one(void *ctx, const struct object *o) {
    struct serve_controller *c = ctx;
    look(c, o->kind == c->base.kinds[SERVE_LLMS] ? SERVE_LLMS : SERVE_SERVICES, o->ns, o->name);
    return true;
}

/* A runtime, a profile, a definition: all services that may go by it. */
static void all_changed(void *self, const struct change *ch) {
    struct serve_controller *c = self;
    for (int i = SERVE_SERVICES; i <= SERVE_LLMS; i++) {
        if (c->base.kinds[i] != NULL) {
            mirror_scan(c->base.env.mirror, c->base.kinds[i], ch->obj->ns, look_at_one, c);
        }
    }
}

/* ---- refusals ---- */

static void note_refusal(struct serve_controller *c, const struct object *o, const char *text) {
    struct serve_refusal *x = map_get(&c->refused, o->uid);
    if (x == NULL) {
        x = mem_zalloc(sizeof *x);
        if (x == NULL) {
            return; /* reported again if it is refused again */
        }
        snprintf(x->uid, sizeof x->uid, "%.*s", STR_ARG(o->uid));
        if (map_put(&c->refused, str_of(x->uid), x, NULL) != 0) {
            mem_free(x);
            return;
        }
    }
    snprintf(x->text, sizeof x->text, "%s", text);
}

/* Conflicts and transient failures are tried again and not reported. */
static bool is_refusal(int code) {
    return code == ERR_FORBIDDEN || code == ERR_INVALID || code == ERR_BAD_REQUEST ||
           code == ERR_TOO_LARGE;
}

static int answered(void *ctx, struct round *r, uint64_t tag, const struct write_result *res) {
    struct serve_controller *c = ctx;
    unsigned sort = round_key(r).what;
    const struct object *o =
        mirror_get(c->base.env.mirror, c->base.kinds[sort], round_ns(r), round_name(r));
    if (o != NULL && tag == WRITE_OTHER && is_refusal(res->code)) {
        note_refusal(c, o, res->err.text);
        recorder_event(c->base.recorder, o, EVENT_WARNING, "Refused", "%s", res->err.text);
    } else if (o != NULL && tag == WRITE_OTHER && res->code == 0) {
        forget_refusal(c, o->uid);
    }
    return res->code == ERR_NOT_FOUND ? 0 : res->code;
}

/* ---- one look ---- */

static bool is_ours(const struct serve_controller *c) {
    const struct kind *k = c->base.kinds[SERVE_DEFINITIONS];
    const struct object *o = k ? mirror_get(c->base.env.mirror, k, STR(""), STR(DEFINITION)) : NULL;
    return o == NULL || str_is(object_label(o, STR("app.kubernetes.io/name")), "berth");
}

static int32_t number(yyjson_val *v, const char *path, int32_t otherwise) {
    int64_t n = json_i64_at(v, path, otherwise);
    return n < 0 ? 0 : n > LIMIT_SET_REPLICAS ? LIMIT_SET_REPLICAS : (int32_t)n;
}

static void read_bounds(struct serve_look *l) {
    if (l->llm) {
        bool scaled = json_path(l->spec, "scaling") != NULL;
        l->min = number(l->spec, scaled ? "scaling.minReplicas" : "replicas", 1);
        l->max = number(l->spec, "scaling.maxReplicas", 0);
    } else {
        l->min = number(l->spec, "predictor.minReplicas", 1);
        l->max = number(l->spec, "predictor.maxReplicas", 0);
    }
    l->max = l->max < l->min ? l->min : l->max;
    l->max = l->max < 1 ? 1 : l->max; /* somebody may ask for it */
    l->canary_percent =
        l->llm ? -1 : (int)json_i64_at(l->spec, "predictor.canaryTrafficPercent", -1);
}

static int read_names(struct serve_look *l) {
    const struct object *o = l->obj;
    struct serve_names n;
    if (l->llm) {
        l->stable.name = arena_f(l->a, "%.*s-kserve", STR_ARG(o->name));
        l->address_name = arena_f(l->a, "%.*s-kserve-workload-svc", STR_ARG(o->name));
        l->port = 8000;
        l->url = arena_f(l->a, "http://%.*s.%.*s.svc.cluster.local:8000", STR_ARG(l->address_name),
                         STR_ARG(o->ns));
        return arena_ok(l->a);
    }
    int r = serve_names(l->a, o->name, o->ns, STR("svc.cluster.local"), &n, NULL);
    if (r == 0) {
        l->stable.name = l->address_name = n.predictor;
        l->stable.app = n.app;
        l->canary.name = l->canary_address = n.canary;
        l->canary.app = n.app_canary;
        l->url = n.address;
        l->port = 80;
    }
    return r;
}

static int read_service(struct serve_look *l) {
    yyjson_doc *d;
    int r = object_tree(l->obj, l->a, &d, NULL);
    r = r ? r
          : codec_decode(kind_storage(l->obj->kind)->schema, yyjson_doc_get_root(d), l->a, &l->view,
                         NULL);
    if (r != 0) {
        return r;
    }
    yyjson_val *notes = json_path(yyjson_doc_get_root(d), "metadata.annotations");
    l->spec = l->view.spec;
    l->stopped = str_is(json_str(json_get(notes, STR(SERVE_STOP))), "true");
    read_bounds(l);
    return read_names(l);
}

/* Others' objects of the same name stay as they are. */
static bool check_owned(struct serve_look *l) {
    const struct object *v[] = {l->stable.obj, l->canary.obj,
                                serve_get(l, SERVE_ADDRESSES, l->obj->ns, l->address_name)};
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
        if (v[i] != NULL && !serve_owns(l, v[i])) {
            l->fault = "InvalidPredictorSpec";
            l->fault_text = arena_f(l->a, "%s \"%.*s\" is there and not of this service",
                                    v[i]->kind->kind, STR_ARG(v[i]->name));
            return false;
        }
    }
    return true;
}

static enum work step(void *self, struct work_key key) {
    struct serve_controller *c = self;
    const struct kind *k = c->base.kinds[key.what];
    struct serve_look l = {.c = c, .a = &c->base.arena, .llm = key.what == SERVE_LLMS};
    l.obj = k ? mirror_get(c->base.env.mirror, k, key.ns, key.name) : NULL;
    if (l.obj == NULL || l.obj->deleting_ns != 0 || !is_ours(c)) {
        return WORK_OK; /* what it owns goes with it */
    }
    int r = read_service(&l);
    r = r ? r : serve_see(&l);
    if (r == 0) {
        serve_ask(&l);
    }
    if (r == 0 && check_owned(&l)) {
        r = serve_read(&l);
    }
    if (r != 0) {
        return WORK_RETRY;
    }
    l.round = controller_begin(&c->base);
    round_on_done(l.round, answered, c);
    round_tag(l.round, WRITE_OTHER);
    if (l.stopped) {
        serve_remove(&l);
    } else if (l.fault == NULL) {
        serve_make(&l);
    }
    const struct serve_refusal *refused = map_get(&c->refused, l.obj->uid);
    round_tag(l.round, WRITE_STATUS);
    serve_tell(&l, refused ? str_of(refused->text) : (struct str){0});
    return round_end(l.round);
}

/* ---- life ---- */

static void release(void *self) {
    struct serve_controller *c = self;
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&c->refused, &i)) != NULL;) {
        mem_free(e->value);
    }
    map_release(&c->refused);
    serve_ask_release(c);
}

#define KSERVE "serving.kserve.io"

const struct controller_row serve_controller = {
    .name = "serving",
    .set = CONTROL_SERVING,
    .who = "berth-serve-controller",
    CONTROLLER_KINDS([SERVE_SERVICES] = {KSERVE, "InferenceService", service_changed, .first = true,
                                         .optional = true, .may = MAY_STATUS},
                     [SERVE_LLMS] = {KSERVE, "LLMInferenceService", service_changed, .first = true,
                                     .optional = true, .may = MAY_STATUS},
                     [SERVE_RUNTIMES] = {KSERVE, "ServingRuntime", all_changed, .optional = true},
                     [SERVE_CLUSTER_RUNTIMES] = {KSERVE, "ClusterServingRuntime", all_changed,
                                                 .optional = true},
                     [SERVE_PROFILES] = {"infrastructure.opendatahub.io", "HardwareProfile",
                                         all_changed, .optional = true},
                     [SERVE_DEPLOYMENTS] = {"apps", "Deployment", owned_changed,
                                            .may = MAY_CREATE | MAY_PATCH | MAY_DELETE},
                     [SERVE_ADDRESSES] = {"", "Service", owned_changed,
                                          .may = MAY_CREATE | MAY_PATCH | MAY_DELETE},
                     [SERVE_SCALERS] = {"autoscaling", "HorizontalPodAutoscaler", owned_changed,
                                        .optional = true, .embedded = true,
                                        .may = MAY_CREATE | MAY_PATCH | MAY_DELETE},
                     [SERVE_SETS] = {"apps", "ReplicaSet"}, [SERVE_PODS] = {"", "Pod", pod_changed},
                     [SERVE_WORKLOADS] = {"kueue.x-k8s.io", "Workload", workload_changed},
                     [SERVE_DEFINITIONS] = {"apiextensions.k8s.io", "CustomResourceDefinition",
                                            all_changed}),
    .step = step,
    .arena = 256 << 20,
    .size = sizeof(struct serve_controller),
    .release = release,
};
