/* gateway_source: reflectors into a mirror, and two timers that make a table of it. See gateway_source.h. */
#include "world/gateway/gateway_source.h"

#include "base/mem.h"
#include "kube/path.h"
#include "kube/reflector.h"
#include "wire/text/time.h"
#include "world/gateway/key_rows.h"
#include "world/gateway/model_routes.h"
#include "world/gateway/reviewer.h"

enum {
    ROUTES_MS = 5,
    KEYS_MS = 10,
    USED_MS = 10000,
    USED_A_ROUND = 200,
    PATCH_MS = 10000,
    ARENA_BYTES_MAX = 512 << 20,
    PATH_MAX_BYTES = 4096,
};

enum {
    NAMESPACES,
    SERVICES,
    SLICES,
    DEPLOYMENTS,
    KEYS,
    REQUIRED,
    INFERENCE = REQUIRED,
    LLM,
    KINDS
};
static const char *const names[KINDS][2] = {
    [NAMESPACES] = {"", "Namespace"},
    [SERVICES] = {"", "Service"},
    [SLICES] = {"discovery.k8s.io", "EndpointSlice"},
    [DEPLOYMENTS] = {"apps", "Deployment"},
    [KEYS] = {"berth.dev", "ModelKey"},
    [INFERENCE] = {"serving.kserve.io", "InferenceService"},
    [LLM] = {"serving.kserve.io", "LLMInferenceService"},
};

struct gateway_source {
    struct gateway_source_options o;
    struct clock *clock;
    struct mirror *mirror;
    const struct kind *kinds[KINDS];
    struct feed *feeds[KINDS];
    struct reflector *reflectors[KINDS];
    struct key_store *store;
    struct reviewer *review;
    struct wake *wake;
    struct timer *routes, *keys, *used;
    bool routes_due, keys_due, complete;
    struct arena a; /* of one making */
    unsigned marks; /* of keys' use that are on their way */
};

/* ---- keys ---- */

static void on_keys(void *ctx) {
    struct gateway_source *s = ctx;
    struct key_set *set;
    struct err err;
    s->keys_due = false;
    if (key_rows_make(s->mirror, s->o.log, &set, &err) != 0) {
        log_error(s->o.log, "keys stay as they were: %s", err.text);
        return;
    }
    key_store_put(s->store, set);
    key_store_forget(s->store);
}

static void keys_changed(struct gateway_source *s) {
    if (s->complete && !s->keys_due) {
        s->keys_due = true;
        s->clock->timer_start(s->keys, KEYS_MS * NS_PER_MS);
    }
}

/* ---- models ---- */

/* The projects that have models, for tokens of people. */
static void tell_projects(struct gateway_source *s, const struct routes *table) {
    struct str v[REVIEW_PROJECTS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < routes_count(table) && n < REVIEW_PROJECTS_MAX; i++) {
        struct str project = routes_at(table, i)->project;
        size_t at = 0;
        while (at < n && str_cmp(v[at], project) < 0) {
            at++;
        }
        if (at == n || !str_eq(v[at], project)) {
            memmove(&v[at + 1 < REVIEW_PROJECTS_MAX ? at + 1 : at], &v[at],
                    (at + 1 < REVIEW_PROJECTS_MAX ? n - at : 0) * sizeof *v);
            v[at] = project;
            n++;
        }
    }
    (void)reviewer_projects(s->review, v, n);
}

static void on_routes(void *ctx) {
    struct gateway_source *s = ctx;
    struct model_routes made;
    struct err err;
    s->routes_due = false;
    arena_reset(&s->a);
    if (model_routes_make(s->mirror, &s->a, s->o.log, &made, &err) != 0) {
        log_error(s->o.log, "models stay as they were: %s", err.text);
        return;
    }
    tell_projects(s, made.table);
    if (wake_set(s->wake, made.wakes, made.n_wakes) != 0) {
        log_error(s->o.log, "no memory to scale all Deployments of models");
    }
    s->o.routes(s->o.ctx, made.table);
}

static void routes_changed(struct gateway_source *s) {
    if (s->complete && !s->routes_due) {
        s->routes_due = true;
        s->clock->timer_start(s->routes, ROUTES_MS * NS_PER_MS);
    }
}

/* ---- changes ---- */

/* A change of a key's last use is written by the gateway itself and changes nothing here. */
static bool is_mere_status(const struct change *c) {
    return c->type == CHANGE_MODIFIED && c->obj->generation == c->old->generation &&
           c->obj->deleting_ns == c->old->deleting_ns;
}

static void on_change(void *ctx, const struct change *c) {
    struct gateway_source *s = ctx;
    if (c->obj->kind == s->kinds[KEYS]) {
        if (!is_mere_status(c)) {
            keys_changed(s);
        }
    } else if (c->obj->kind == s->kinds[NAMESPACES]) {
        keys_changed(s);
    } else if (model_routes_concern(s->mirror, c)) {
        routes_changed(s);
    }
}

static void on_synced(void *ctx) {
    struct gateway_source *s = ctx;
    for (int i = 0; i < REQUIRED; i++) {
        if (s->reflectors[i] == NULL || !reflector_synced(s->reflectors[i])) {
            return;
        }
    }
    if (!s->complete) {
        s->complete = true;
        on_keys(s);
        on_routes(s);
    }
}

/* Fields of large objects that the gateway does not read. */
static void trim(const struct kind *k, yyjson_mut_val *obj) {
    kube_trim_managed(k, obj);
    if (str_is(str_of(k->kind), "Deployment")) {
        json_mdel(json_mget(obj, STR("spec")), STR("template"));
        json_mdel(obj, STR("status"));
    }
}

/* ---- use of keys ---- */

static void on_marked(void *ctx, const struct kube_reply *r) {
    struct gateway_source *s = ctx;
    (void)r; /* the key may be gone; the next use is written again */
    s->marks--;
}

static bool mark(void *ctx, const struct gateway_key *k, int64_t used_s) {
    struct gateway_source *s = ctx;
    char when[TIME_TEXT_MAX];
    struct buf path, body;
    struct kube_call *call;
    struct err err;
    if (s->marks >= USED_A_ROUND) {
        return false;
    }
    buf_init(&path, PATH_MAX_BYTES);
    buf_init(&body, 256);
    kube_path(&path, STR("berth.dev/v1alpha1"), STR("modelkeys"), k->project, k->name,
              STR("status"));
    buf_c(&body, "{\"status\":{\"lastUsed\":");
    buf_json(&body, time_text(used_s * NS_PER_SEC, when));
    buf_c(&body, "}}");
    const struct kube_request r = {.method = "PATCH",
                                   .path = buf_view(&path),
                                   .body = buf_view(&body),
                                   .content_type = "application/merge-patch+json",
                                   .timeout_ms = PATCH_MS,
                                   .done = on_marked,
                                   .ctx = s};
    bool sent = kube_send(s->o.kube, &r, &call, &err) == 0;
    s->marks += sent;
    buf_release(&path);
    buf_release(&body);
    return sent;
}

static void on_used(void *ctx) {
    struct gateway_source *s = ctx;
    key_store_used(s->store, mark, s);
    s->clock->timer_start(s->used, USED_MS * NS_PER_MS);
}

/* ---- life ---- */

struct gateway_keys *gateway_source_keys(struct gateway_source *s) {
    return key_store_keys(s->store);
}

struct gateway_demand *gateway_source_demand(struct gateway_source *s) {
    return wake_demand(s->wake);
}

static bool make_parts(struct gateway_source *s) {
    const struct gateway_source_options *o = &s->o;
    s->mirror = mirror_new(
        &(struct mirror_options){.clock = s->clock, .history_events = MIRROR_NO_HISTORY});
    s->review = reviewer_new(&(struct reviewer_options){o->loop, o->kube, s->mirror});
    s->store = key_store_new(&(struct key_store_options){reviewer_ask, s->review});
    s->wake = wake_new(&(struct wake_options){.loop = o->loop,
                                              .kube = o->kube,
                                              .log = o->log,
                                              .sleeps = o->sleeps,
                                              .activity = o->activity,
                                              .ctx = o->ctx});
    s->routes = s->clock->timer_new(s->clock, on_routes, s);
    s->keys = s->clock->timer_new(s->clock, on_keys, s);
    s->used = s->clock->timer_new(s->clock, on_used, s);
    if (!(s->mirror && s->review && s->store && s->wake && s->routes && s->keys && s->used)) {
        return false;
    }
    reviewer_to(s->review, s->store);
    s->clock->timer_start(s->used, USED_MS * NS_PER_MS);
    return true;
}

int gateway_source_start(const struct gateway_source_options *o, struct gateway_source **ret,
                         struct err *err) {
    struct gateway_source *s = mem_zalloc(sizeof *s);
    if (s == NULL) {
        return err_set(err, ERR_NOMEM, "no memory to watch models");
    }
    s->o = *o;
    s->clock = loop_clock(o->loop);
    arena_init(&s->a, ARENA_BYTES_MAX);
    int r = make_parts(s) ? 0 : err_set(err, ERR_NOMEM, "no memory to watch models");
    for (int i = 0; r == 0 && i < KINDS; i++) {
        s->kinds[i] = kind_by_name(str_of(names[i][0]), str_of(names[i][1]));
        if (s->kinds[i] == NULL) {
            continue; /* of a kind that Berth has no tables of */
        }
        const struct reflector_options ro = {
            .kind = s->kinds[i], .trim = trim, .synced = on_synced, .ctx = s, .log = o->log};
        s->feeds[i] = mirror_feed(s->mirror, s->kinds[i], on_change, s);
        r = s->feeds[i] ? 0 : err_set(err, ERR_NOMEM, "no memory to watch models");
        s->reflectors[i] = r == 0 ? reflector_start(o->kube, s->mirror, &ro, err) : NULL;
        r = r == 0 && s->reflectors[i] == NULL ? err->code : r;
    }
    if (r != 0) {
        gateway_source_free(s);
        return r;
    }
    *ret = s;
    return 0;
}

void gateway_source_free(struct gateway_source *s) {
    if (s == NULL) {
        return;
    }
    for (int i = 0; i < KINDS; i++) {
        reflector_free(s->reflectors[i]);
        feed_free(s->feeds[i]);
    }
    wake_free(s->wake);
    reviewer_free(s->review);
    key_store_free(s->store);
    mirror_free(s->mirror);
    s->clock->timer_free(s->routes);
    s->clock->timer_free(s->keys);
    s->clock->timer_free(s->used);
    arena_release(&s->a);
    mem_free(s);
}
