/*
 * pods_live: what the API makes for a pod's volumes, while it runs: ConfigMaps and Secrets are asked for again every
 * ten seconds, unless they are immutable, labels and annotations are followed at once, and tokens are had anew when
 * four fifths of their time are over. What is the same is not written; what lacks its source stays as it was. Ephemeral
 * containers, which may need such sources as well, are told to the shim from here.
 *
 * One round of a pod: look at all volumes, which notes what must be fetched; fetch; look again, as one source may hide
 * the next, until nothing is missing; and write.
 */
#include "base/mem.h"
#include "node/pods/pods_private.h"
#include "node/spec/pod_made.h"
#include "node/spec/pod_volumes.h"

enum { EVERY_S = 10, A_TICK = 20, TOKEN_PART = 5, TOKEN_MOST_S = 86400, TOKENS_MAX = 64 };

struct live_token {
    char *name, *text; /* the answer to its request */
    int64_t again_mono;
};

struct pod_live {
    struct pod_volumes_seen seen;
    struct live_token tokens[TOKENS_MAX];
    size_t n_tokens;
    bool told;         /* that something is missing */
    int64_t poll_mono; /* when the next round is; INT64_MAX: only for a token */
    int64_t rest_mono; /* none before this: what cannot be had is not asked for at each tick */
};

void pod_live_free(struct pod_live *l) {
    for (size_t i = 0; l && i < l->n_tokens; i++) {
        mem_free(l->tokens[i].name);
        mem_free(l->tokens[i].text);
    }
    if (l) {
        mem_free(l->seen.v);
    }
    mem_free(l);
}

static struct pod_live *live_of(struct pod *p) {
    p->live = p->live ? p->live : mem_zalloc(sizeof(*p->live));
    return p->live;
}

/* For as many volumes as the pod has, and one more. */
struct pod_volumes_seen *pod_live_seen(struct pod *p, size_t volumes) {
    struct pod_live *l = live_of(p);

    if (l && l->seen.v == NULL) {
        l->seen.v = mem_zalloc((volumes + 1) * sizeof(*l->seen.v));
        l->seen.n = l->seen.v ? volumes + 1 : 0;
    }
    return l ? &l->seen : NULL;
}

/* ---- tokens ---- */

static struct live_token *token_named(struct pod_live *l, struct str name) {
    for (size_t i = 0; l && i < l->n_tokens; i++) {
        if (str_is(name, l->tokens[i].name)) {
            return &l->tokens[i];
        }
    }
    return NULL;
}

yyjson_val *pod_live_token(struct pod *p, struct str name) {
    const struct live_token *t = token_named(p->live, name);
    yyjson_doc *doc;

    return t && clock_mono(p->pods->clock) < t->again_mono &&
                   json_parse(&p->arena, str_of(t->text), &doc, NULL) == 0
               ? yyjson_doc_get_root(doc)
               : NULL;
}

void pod_live_keep(struct pod *p, struct str name, struct str answer, yyjson_val *object) {
    struct pod_live *l = live_of(p);
    struct live_token *t = token_named(l, name);
    int64_t lasts = json_i64_at(object, "spec.expirationSeconds", 0);
    int64_t wait = lasts - lasts / TOKEN_PART;

    if (l && t == NULL && l->n_tokens < TOKENS_MAX) {
        char *copy = mem_cstr(name);
        t = copy ? &l->tokens[l->n_tokens++] : NULL;
        if (t) {
            t->name = copy;
        }
    }
    char *text = t ? mem_cstr(answer) : NULL;
    if (text) {
        mem_free(t->text);
        t->text = text;
        t->again_mono =
            clock_mono(p->pods->clock) + (wait < TOKEN_MOST_S ? wait : TOKEN_MOST_S) * NS_PER_SEC;
    }
}

/* ---- rounds ---- */

static bool may_change(const struct pod *p) {
    for (size_t i = 0; i < p->n_sources; i++) {
        const struct pod_source_doc *s = &p->sources[i];
        bool polled = s->kind == POD_CONFIG_MAP || s->kind == POD_SECRET;
        if (polled && !json_bool_at(s->object, "immutable", false)) {
            return true;
        }
    }
    return false;
}

static bool has_failed(const struct pod *p) {
    for (size_t i = 0; i < p->n_sources; i++) {
        if (p->sources[i].failed) {
            return true;
        }
    }
    return false;
}

/* The more pods, the longer: a tick looks at no more than A_TICK. */
static int64_t next_round(const struct pods *ps) {
    int64_t s = (int64_t)(ps->n_live / A_TICK) + 1;

    return clock_mono(ps->clock) + (s < EVERY_S ? EVERY_S : s) * NS_PER_SEC;
}

static void forget_sources(struct pod *p) {
    arena_reset(&p->arena);
    p->sources = NULL;
    p->n_sources = 0;
}

/* What a look, or a change, is about. */
struct live_look {
    struct pod *pod;
    bool store;
};

/* Ephemeral containers that its shim has not heard of. What can never be is told, and not tried again. */
static int follow_containers(const struct pod_spec_in *in, const struct live_look *l,
                             struct err *err) {
    struct pod *p = l->pod;
    size_t n = p->told_later;

    if (p->later == p->told_later) {
        return 0;
    }
    int code = pod_spec_more(in, l->store, &n, err);
    if (code == ERR_INVALID && l->store) {
        pod_tell(p, true, "Failed", "Ephemeral container: %s", err->text);
        n = p->later;
    } else if (code == 0 && l->store) {
        pod_send_more(p);
    }
    p->told_later = n;
    return code;
}

static int follow_all(const struct pod_spec_in *in, void *look, struct err *err) {
    const struct live_look *l = look;
    struct err other = {0};
    int code = pod_spec_follow(in, l->store, err);
    int more = follow_containers(in, l, code ? &other : err);

    return code ? code : more;
}

static void follow(struct pod *p, bool store) {
    struct arena a;
    struct err err;

    arena_init(&a, 32 << 20);
    struct live_look l = {p, store};
    bool lacks = pod_with_spec(p, &a, &err, follow_all, &l) != 0;
    if (store && lacks && !p->live->told) {
        log_info(p->pods->o.log, "pod %s/%s: it stays as it is: %s", p->ns, p->name, err.text);
    }
    p->live->told = store ? lacks : p->live->told;
    arena_release(&a);
}

/* A look, and what comes of it; again when what was asked for is here. */
void pod_live_step(struct pod *p) {
    struct pod_live *l = p->live;

    if (l == NULL || p->fetching) {
        return;
    }
    follow(p, false);
    if (pod_fetch_new(p)) {
        return;
    }
    if (!has_failed(p)) {
        follow(p, true);
    }
    bool again = has_failed(p) || may_change(p) || p->later != p->told_later;
    l->rest_mono = next_round(p->pods);
    l->poll_mono = again ? l->rest_mono : INT64_MAX;
    forget_sources(p);
}

void pod_live_begin(struct pod *p) {
    struct pod_live *l = p->live;

    if (l && l->seen.n) {
        l->poll_mono = may_change(p) ? next_round(p->pods) : INT64_MAX;
    }
}

void pod_live_now(struct pod *p) {
    struct pod_live *l = p->state == POD_RUNNING ? live_of(p) : NULL;

    if (l) {
        l->poll_mono = l->rest_mono = 0;
    }
    if (l && p->later != p->told_later) { /* somebody waits */
        pod_live_step(p);
    }
}

static bool is_due(const struct pod *p, int64_t now) {
    const struct pod_live *l = p->live;
    bool due = l->poll_mono <= now;

    for (size_t i = 0; i < l->n_tokens; i++) {
        due |= l->tokens[i].again_mono <= now;
    }
    return due && l->rest_mono <= now;
}

void pods_live_tick(struct pods *ps, int64_t now) {
    const struct map_entry *e;
    size_t n = 0, live = 0;

    for (size_t i = 0; (e = map_next(&ps->by_uid, &i));) {
        struct pod *p = e->value;
        if (p->live == NULL || p->state != POD_RUNNING || p->obj == NULL) {
            continue;
        }
        live++;
        if (n < A_TICK && p->fetching == 0 && is_due(p, now)) {
            n++;
            pod_live_step(p);
        }
    }
    ps->n_live = live;
}
