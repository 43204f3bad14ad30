/* inlet: see inlet.h. */
#include "world/operate/inlet.h"

#include "base/mem.h"
#include "kube/reflector.h"
#include "wire/json/json.h"

enum { ASK_SOON_MS = 500, ASK_LATER_MS = 5000, OPTIONAL_MS = 10000, TREE_MAX = 16 << 20 };

enum source_state { UNKNOWN, ABSENT, FOLLOWED };

struct inlet_source {
    struct operate_kind of;
    const struct kind *kind;
    bool told;
    enum source_state state;
    int64_t since; /* mono ns; of FOLLOWED */
    struct reflector *reflector;
};

/* A group-version of one or more sources. */
struct inlet_group {
    struct inlet *inlet;
    const char *version; /* "kueue.x-k8s.io/v1beta2" */
    struct kube_call *call;
};

struct inlet {
    struct inlet_options o;
    struct inlet_source *sources;
    size_t n;
    struct inlet_group groups[OPERATE_KINDS_MAX];
    size_t n_groups;
    struct timer *timer;
    bool complete, told_trouble;
    bool refreshing, restart; /* restart: in the next turn, as a reflector may be telling us */
};

static void name_of(const struct kind *k, struct buf *out) {
    buf_f(out, "%s%s%s", k->plural, *k->group ? "." : "", k->group);
}

static bool of_group(const struct inlet_source *s, const struct inlet_group *g) {
    return strcmp(kind_api_version(s->kind), g->version) == 0;
}

/* Required kinds are being read anew: are they? */
static void look_fresh(struct inlet *in) {
    for (size_t i = 0; i < in->n; i++) {
        const struct inlet_source *s = &in->sources[i];
        if (s->of.required && !(s->reflector && reflector_synced(s->reflector))) {
            return;
        }
    }
    in->refreshing = false;
    in->o.fresh(in->o.ctx);
}

static void look(struct inlet *in) {
    bool all = true;
    if (in->refreshing) {
        if (!in->restart) {
            look_fresh(in);
        }
        return;
    }
    int64_t patience = clock_mono(loop_clock(in->o.loop)) - OPTIONAL_MS * NS_PER_MS;
    for (size_t i = 0; i < in->n && !in->complete; i++) {
        struct inlet_source *s = &in->sources[i];
        bool fine = s->state == FOLLOWED ? reflector_synced(s->reflector)
                                         : s->state == ABSENT && !s->of.required;
        if (!fine && !s->of.required && s->state == FOLLOWED && s->since < patience) {
            fine = true;
            if (!s->told) {
                log_warn(in->o.log, "%s: cannot be listed; going on without", s->kind->plural);
            }
            s->told = true;
        }
        all = all && fine;
    }
    if (all && !in->complete) {
        in->complete = true;
        in->o.complete(in->o.ctx);
    }
}

static void synced(void *ctx) {
    look(ctx);
}

static void follow(struct inlet *in, struct inlet_source *s) {
    struct err err = {0};
    struct reflector_options o = {
        .kind = s->kind,
        .ns = s->of.ns,
        .field_selector = s->of.field_selector,
        .label_selector = s->of.label_selector,
        .trim = operate_trim,
        .synced = synced,
        .ctx = in,
        .log = in->o.log,
    };
    if (s->of.foreign && kinds_add(s->kind, &err) != 0 && err.code != ERR_EXISTS) {
        log_error(in->o.log, "%s: %s", s->kind->plural, err.text);
        return;
    }
    s->since = clock_mono(loop_clock(in->o.loop));
    s->reflector = reflector_start(in->o.client, in->o.mirror, &o, &err);
    if (s->reflector) {
        s->state = FOLLOWED;
    } else {
        log_error(in->o.log, "%s: %s", s->kind->plural, err.text);
    }
}

/* What is served of one group. names NULL: nothing. */
static void sort(struct inlet_group *g, yyjson_val *resources) {
    struct inlet *in = g->inlet;
    for (size_t i = 0; i < in->n; i++) {
        struct inlet_source *s = &in->sources[i];
        size_t k, n;
        yyjson_val *r;
        bool served = false;
        if (!of_group(s, g) || s->state == FOLLOWED) {
            continue;
        }
        yyjson_arr_foreach(resources, k, n, r) {
            served = served || str_is(json_str(json_get(r, STR("name"))), s->kind->plural);
        }
        if (served) {
            follow(in, s);
        } else {
            s->state = ABSENT;
        }
        if (!served && s->of.required && !s->told) {
            s->told = true;
            log_warn(in->o.log,
                     "%s %s: the cluster does not serve them; waiting (berth manifests "
                     "crds prints what is missing)",
                     g->version, s->kind->plural);
        }
    }
}

static void again(struct inlet *in) {
    struct clock *c = loop_clock(in->o.loop);
    bool unknown = false, absent = false;
    for (size_t i = 0; i < in->n; i++) {
        unknown = unknown || in->sources[i].state == UNKNOWN;
        absent = absent || in->sources[i].state == ABSENT;
    }
    if (unknown || absent || !in->complete) {
        c->timer_start(in->timer, (unknown ? ASK_SOON_MS : ASK_LATER_MS) * NS_PER_MS);
    }
}

static void answered(void *ctx, const struct kube_reply *r) {
    struct inlet_group *g = ctx;
    struct inlet *in = g->inlet;
    struct arena a;
    yyjson_doc *doc = NULL;
    g->call = NULL;
    arena_init(&a, TREE_MAX);
    if (r->code == ERR_NOT_FOUND) {
        sort(g, NULL);
    } else if (r->code == 0 && json_parse(&a, r->body, &doc, NULL) == 0) {
        sort(g, json_get(yyjson_doc_get_root(doc), STR("resources")));
    } else if (!in->told_trouble) {
        in->told_trouble = true;
        log_warn(in->o.log, "%s: %s; trying again", g->version,
                 r->code ? r->err.text : "expected a list of resources");
    }
    arena_release(&a);
    look(in);
    again(in);
}

static void restart(struct inlet *in) {
    in->restart = false;
    for (size_t i = 0; i < in->n; i++) {
        struct inlet_source *s = &in->sources[i];
        if (s->of.required) {
            reflector_free(TAKE(s->reflector));
            s->state = UNKNOWN; /* followed again, or else asked for in a while */
            follow(in, s);
        }
    }
}

static void ask(void *ctx) {
    struct inlet *in = ctx;
    if (in->restart) {
        restart(in);
    }
    for (size_t i = 0; i < in->n_groups; i++) {
        struct inlet_group *g = &in->groups[i];
        bool open = false;
        for (size_t k = 0; k < in->n; k++) {
            open = open || (of_group(&in->sources[k], g) && in->sources[k].state != FOLLOWED);
        }
        if (!open || g->call) {
            continue;
        }
        char path[200];
        bool core = strchr(g->version, '/') == NULL;
        snprintf(path, sizeof path, "%s/%s", core ? "/api" : "/apis", g->version);
        struct kube_request q = {.method = "GET", .path = str_of(path), .done = answered, .ctx = g};
        if (kube_send(in->o.client, &q, &g->call, NULL) != 0) {
            g->call = NULL;
            again(in);
        }
    }
    look(in); /* there may be nothing to wait for */
    again(in);
}

static void add_group(struct inlet *in, const char *version) {
    for (size_t i = 0; i < in->n_groups; i++) {
        if (strcmp(in->groups[i].version, version) == 0) {
            return;
        }
    }
    in->groups[in->n_groups++] = (struct inlet_group){.inlet = in, .version = version};
}

struct inlet *inlet_new(const struct inlet_options *o, struct err *err) {
    struct clock *c = loop_clock(o->loop);
    struct inlet *in = mem_zalloc(sizeof *in);
    if (in) {
        in->o = *o;
        in->sources = mem_zalloc((o->n_kinds + 1) * sizeof *in->sources);
        in->timer = c->timer_new(c, ask, in);
    }
    if (in == NULL || in->sources == NULL || in->timer == NULL) {
        inlet_free(in);
        err_set(err, ERR_NOMEM, "no memory");
        return NULL;
    }
    for (size_t i = 0; i < o->n_kinds && i < OPERATE_KINDS_MAX; i++) {
        in->sources[in->n++] = (struct inlet_source){.of = o->kinds[i], .kind = o->kinds[i].kind};
        add_group(in, kind_api_version(o->kinds[i].kind));
    }
    c->timer_start(in->timer, 0);
    return in;
}

void inlet_free(struct inlet *in) {
    if (in == NULL) {
        return;
    }
    for (size_t i = 0; i < in->n_groups; i++) {
        kube_cancel(in->groups[i].call);
    }
    for (size_t i = 0; i < in->n; i++) {
        reflector_free(in->sources[i].reflector);
    }
    loop_clock(in->o.loop)->timer_free(in->timer);
    mem_free(in->sources);
    mem_free(in);
}

void inlet_refresh(struct inlet *in) {
    in->refreshing = in->restart = true;
    loop_clock(in->o.loop)->timer_start(in->timer, 0);
}

bool inlet_complete(const struct inlet *in) {
    return in->complete;
}

void inlet_waits(const struct inlet *in, struct buf *out) {
    for (size_t i = 0; i < in->n && !in->complete; i++) {
        const struct inlet_source *s = &in->sources[i];
        bool listing = s->state == FOLLOWED && !reflector_synced(s->reflector);
        bool missing = s->state == ABSENT && s->of.required;
        if (!listing && !missing && s->state != UNKNOWN) {
            continue;
        }
        buf_c(out, out->n ? "; " : "");
        buf_c(out, listing ? "listing " : "");
        name_of(s->kind, out);
        buf_c(out, missing ? " is not served" : listing ? "" : " not found out yet");
    }
}
