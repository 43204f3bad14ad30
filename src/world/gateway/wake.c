/*
 * wake: one record a Deployment, its scale patched when it differs from what is wanted. See wake.h.
 *
 * A worker tells when requests begin to wait for a model and when none does any longer; that is all that crosses the
 * threads. A patch that failed is tried again after RETRY_MS, for as long as somebody waits.
 */
#include "world/gateway/wake.h"

#include "base/map.h"
#include "base/mem.h"
#include "gateway/gateway.h"
#include "kube/path.h"

enum {
    TICK_MS = 1000,
    RETRY_MS = 1000,
    PATCH_MS = 10000,
    KEY_MAX = 1100,
    WORDS = GATEWAY_WORKERS_MAX / 64
};

struct sleeper { /* a Deployment */
    struct wake *w;
    char *project, *service, *deployment; /* service: of the model */
    int64_t idle_ns, replicas;
    int64_t awake_since_ns; /* monotonic */
    int64_t retry_ns;
    bool can, seen;
    struct kube_call *call;
    int64_t asked; /* replicas that `call` asks for */
};

struct waiting { /* a model */
    uint64_t workers[WORDS];
    char key[KEY_MAX];
};

struct wake {
    struct gateway_demand demand; /* first */
    struct wake_options o;
    struct clock *clock;
    struct timer *tick;
    struct map
        sleepers;     /* "project/deployment" -> sleeper; the key lies in `deployment`'s memory */
    struct map waits; /* "project/service" -> waiting */
};

struct told {
    struct wake *w;
    unsigned worker;
    bool waits;
    char key[KEY_MAX];
};

static int join(char out[KEY_MAX], struct str a, struct str b) {
    int n = snprintf(out, KEY_MAX, "%.*s/%.*s", STR_ARG(a), STR_ARG(b));
    return n < KEY_MAX ? n : KEY_MAX - 1;
}

static bool waits_for(const struct wake *w, const struct sleeper *s) {
    char key[KEY_MAX];
    int n = join(key, str_of(s->project), str_of(s->service));
    const struct waiting *x = map_get(&w->waits, str_from(key, (size_t)n));
    for (size_t i = 0; x != NULL && i < WORDS; i++) {
        if (x->workers[i]) {
            return true;
        }
    }
    return false;
}

/* ---- writing ---- */

static void on_patched(void *ctx, const struct kube_reply *r) {
    struct sleeper *s = ctx;
    struct wake *w = s->w;
    s->call = NULL;
    if (r->code != 0) {
        log_warn(w->o.log, "cannot scale Deployment %s/%s to %lld: %s", s->project,
                 strchr(s->deployment, '/') + 1, (long long)s->asked, r->err.text);
        s->retry_ns = clock_mono(w->clock) + RETRY_MS * NS_PER_MS;
        return;
    }
    log_info(w->o.log, "Deployment %s/%s scaled to %lld", s->project,
             strchr(s->deployment, '/') + 1, (long long)s->asked);
    s->replicas = s->asked;
    s->awake_since_ns = clock_mono(w->clock);
}

static void patch(struct sleeper *s, int64_t replicas) {
    struct wake *w = s->w;
    struct buf path, body;
    struct err err;
    buf_init(&path, KEY_MAX * 4);
    buf_init(&body, 256);
    kube_path(&path, STR("apps/v1"), STR("deployments"), str_of(s->project),
              str_of(strchr(s->deployment, '/') + 1), STR("scale"));
    buf_f(&body, "{\"spec\":{\"replicas\":%lld}}", (long long)replicas);
    const struct kube_request r = {.method = "PATCH",
                                   .path = buf_view(&path),
                                   .body = buf_view(&body),
                                   .content_type = "application/merge-patch+json",
                                   .timeout_ms = PATCH_MS,
                                   .done = on_patched,
                                   .ctx = s};
    s->asked = replicas;
    if (kube_send(w->o.kube, &r, &s->call, &err) != 0) {
        s->retry_ns = clock_mono(w->clock) + RETRY_MS * NS_PER_MS;
    }
    buf_release(&path);
    buf_release(&body);
}

static bool is_idle(const struct wake *w, const struct sleeper *s, int64_t now) {
    struct wake_activity a = {0};
    if (w->o.activity != NULL) {
        a = w->o.activity(w->o.ctx, str_of(s->project), str_of(s->service));
    }
    int64_t since = now - s->awake_since_ns;
    int64_t unused = a.last_s ? clock_wall(w->clock) - a.last_s * NS_PER_SEC : since;
    return a.under_way == 0 && since >= s->idle_ns && unused >= s->idle_ns;
}

static void look(struct sleeper *s) {
    struct wake *w = s->w;
    int64_t now = clock_mono(w->clock);
    if (!s->can || s->call != NULL || now < s->retry_ns) {
        return;
    }
    bool wanted = waits_for(w, s);
    if (wanted && s->replicas == 0) {
        patch(s, 1);
    } else if (!wanted && s->replicas > 0 && s->idle_ns > 0 && w->o.sleeps && is_idle(w, s, now)) {
        patch(s, 0);
    }
}

static void look_at_all(struct wake *w) {
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&w->sleepers, &i)) != NULL;) {
        look(e->value);
    }
}

static void on_tick(void *ctx) {
    struct wake *w = ctx;
    look_at_all(w);
    w->clock->timer_start(w->tick, TICK_MS * NS_PER_MS);
}

/* ---- what the workers tell ---- */

static void forget_unless_waited_for(struct wake *w, struct waiting *x) {
    for (size_t i = 0; i < WORDS; i++) {
        if (x->workers[i]) {
            return;
        }
    }
    map_del(&w->waits, str_of(x->key));
    mem_free(x);
}

static void on_told(void *ctx) {
    struct told *t = ctx;
    struct wake *w = t->w;
    struct waiting *x = map_get(&w->waits, str_of(t->key));
    if (x == NULL && t->waits && (x = mem_zalloc(sizeof *x)) != NULL) {
        memcpy(x->key, t->key, sizeof x->key);
        if (map_put(&w->waits, str_of(x->key), x, NULL) != 0) {
            mem_free(x);
            x = NULL;
        }
    }
    if (x != NULL) {
        uint64_t bit = UINT64_C(1) << t->worker % 64, *word = &x->workers[t->worker / 64 % WORDS];
        *word = t->waits ? *word | bit : *word & ~bit;
        forget_unless_waited_for(w, x);
    }
    if (t->waits) {
        look_at_all(w);
    }
    mem_free(t);
}

static void tell(struct gateway_demand *d, unsigned worker, const struct gateway_demand_event *e) {
    struct wake *w = (struct wake *)d;
    bool begins = e->what == GATEWAY_HELD && e->held == 1;
    bool ends = e->what != GATEWAY_HELD && e->what != GATEWAY_DENIED && e->held == 0;
    struct told *t = begins || ends ? mem_zalloc(sizeof *t) : NULL;
    if (t != NULL) {
        *t = (struct told){.w = w, .worker = worker, .waits = begins};
        (void)join(t->key, e->model->project, e->model->service);
        if (loop_post(w->o.loop, on_told, t) != 0) {
            mem_free(t);
        }
    }
}

/* ---- what there is ---- */

static void free_sleeper(struct sleeper *s) {
    if (s->call != NULL) {
        kube_cancel(s->call);
    }
    mem_free(s->project);
    mem_free(s->service);
    mem_free(s->deployment);
    mem_free(s);
}

static struct sleeper *add(struct wake *w, const struct model_wake *v, struct str key) {
    struct sleeper *s = mem_zalloc(sizeof *s);
    if (s == NULL) {
        return NULL;
    }
    s->w = w;
    s->project = mem_cstr(v->project);
    s->service = mem_cstr(v->service);
    s->deployment = mem_cstr(key);
    s->awake_since_ns = clock_mono(w->clock);
    if (s->project == NULL || s->service == NULL || s->deployment == NULL ||
        map_put(&w->sleepers, str_of(s->deployment), s, NULL) != 0) {
        free_sleeper(s);
        return NULL;
    }
    return s;
}

int wake_set(struct wake *w, const struct model_wake *v, size_t n) {
    const struct map_entry *e;
    for (size_t i = 0; i < n; i++) {
        char text[KEY_MAX];
        struct str key = str_from(text, (size_t)join(text, v[i].project, v[i].deployment));
        struct sleeper *s = map_get(&w->sleepers, key);
        if (v[i].replicas < 0 || (s == NULL && (s = add(w, &v[i], key)) == NULL)) {
            if (v[i].replicas >= 0) {
                return ERR_NOMEM;
            }
            continue;
        }
        if (s->replicas == 0 && v[i].replicas > 0) {
            s->awake_since_ns = clock_mono(w->clock);
        }
        s->seen = true;
        s->can = v[i].can;
        s->idle_ns = v[i].idle_ns;
        s->replicas = v[i].replicas;
    }
    for (size_t i = 0; (e = map_next(&w->sleepers, &i)) != NULL;) {
        struct sleeper *s = e->value;
        if (!s->seen) {
            map_del(&w->sleepers, e->key);
            free_sleeper(s);
            continue;
        }
        s->seen = false;
    }
    look_at_all(w);
    return 0;
}

/* ---- life ---- */

struct gateway_demand *wake_demand(struct wake *w) {
    return &w->demand;
}

struct wake *wake_new(const struct wake_options *o) {
    struct wake *w = mem_zalloc(sizeof *w);
    if (w == NULL) {
        return NULL;
    }
    w->demand.tell = tell;
    w->o = *o;
    w->clock = loop_clock(o->loop);
    w->tick = w->clock->timer_new(w->clock, on_tick, w);
    if (w->tick == NULL) {
        mem_free(w);
        return NULL;
    }
    w->clock->timer_start(w->tick, TICK_MS * NS_PER_MS);
    return w;
}

void wake_free(struct wake *w) {
    const struct map_entry *e;
    if (w == NULL) {
        return;
    }
    for (size_t i = 0; (e = map_next(&w->sleepers, &i)) != NULL;) {
        free_sleeper(e->value);
    }
    for (size_t i = 0; (e = map_next(&w->waits, &i)) != NULL;) {
        mem_free(e->value);
    }
    map_release(&w->sleepers);
    map_release(&w->waits);
    w->clock->timer_free(w->tick);
    mem_free(w);
}
