/*
 * way_compute: an answer that is computed, with the rights that the user has on the cluster. See way_int.h.
 *
 *     the right to ask --> ask --> an answer that needed no unknown right --> done
 *                           ^            |
 *                           |            v
 *                           +---- reviews of those rights        at most ROUNDS times; what is still unknown is a no
 *
 * Rights are remembered for RIGHT_NS, by session.
 */
#include "base/mem.h"
#include "site/way/way_private.h"

enum {
    ROUNDS = 4,
    AT_ONCE = 32, /* reviews of one answer */
    COMPUTING_BYTES = 16 << 20,
};
#define RIGHT_NS (30 * NS_PER_SEC)

struct right {
    int64_t at; /* mono */
    bool allowed;
    char key[];
};

/* One that has to be found out. */
struct way_wanted {
    struct computing *k;
    struct way_question *question; /* NULL: not asked yet, or told */
    struct str verb, group, resource, subresource, ns, name, key;
};

struct computing {
    struct virtual_ask q;
    struct way *w;
    struct computing *next, **prev;
    const char *right; /* the verb that must be allowed: "watch" asks as "list" and "get" do */
    uint64_t session;  /* its number */
    struct str token;
    virtual_done *done;
    void *done_ctx;
    struct virtual_source *source;
    struct virtual_call *under_way;
    struct way_wanted *wanted;
    size_t n_wanted, sent, told;
    unsigned round;
    bool allowed; /* to ask this at all */
    bool asking;  /* whoever answers has not */
    bool inside;  /* within its ask */
    bool dead;    /* let go inside that */
    struct buf key;
    int trouble; /* a review could not be had */
    struct err why;
    struct arena a;
};

static void step(struct computing *k);

/* ---- rights ---- */

/* Valid until the next one. Empty: out of memory. */
static struct str key_of(struct computing *k, const char *verb, const char *group,
                         const char *resource, struct str sub, struct str ns, struct str name) {
    buf_reset(&k->key);
    buf_f(&k->key, "%llu\n%s\n%s\n%s\n%.*s\n%.*s\n%.*s", (unsigned long long)k->session, verb,
          group, resource, STR_ARG(sub), STR_ARG(ns), STR_ARG(name));
    return buf_ok(&k->key) ? (struct str){0} : buf_view(&k->key);
}

static void forget_rights(struct way *w) {
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&w->rights, &i));) {
        mem_free(e->value);
    }
    map_release(&w->rights);
    map_init(&w->rights);
}

static void remember(struct way *w, struct str key, bool allowed) {
    void *old = NULL;
    if (map_count(&w->rights) >= WAY_RIGHTS_MAX) {
        forget_rights(w);
    }
    struct right *x = mem_zalloc(sizeof(*x) + key.n + 1);
    if (x == NULL) {
        return; /* it is asked for again */
    }
    x->at = clock_mono(w->clock);
    x->allowed = allowed;
    memcpy(x->key, key.p, key.n);
    if (map_put(&w->rights, str_from(x->key, key.n), x, &old) != 0) {
        mem_free(x);
        return;
    }
    mem_free(old);
}

enum known { UNKNOWN, NO, YES };

/* What is known; what is not is noted, to be found out. */
static enum known look_up(struct computing *k, const char *verb, const char *group,
                          const char *resource, struct str sub, struct str ns, struct str name) {
    struct str key = key_of(k, verb, group, resource, sub, ns, name);
    const struct right *x = key.n ? map_get(&k->w->rights, key) : NULL;
    if (x && clock_mono(k->w->clock) - x->at < RIGHT_NS) {
        return x->allowed ? YES : NO;
    }
    if (!key.n || k->n_wanted == WAY_RIGHTS_OF_ASK) {
        return NO;
    }
    for (size_t i = 0; i < k->n_wanted; i++) {
        if (str_eq(k->wanted[i].key, key)) {
            return UNKNOWN;
        }
    }
    k->wanted[k->n_wanted++] = (struct way_wanted){.k = k,
                                                   .verb = arena_str(&k->a, str_of(verb)),
                                                   .group = arena_str(&k->a, str_of(group)),
                                                   .resource = arena_str(&k->a, str_of(resource)),
                                                   .subresource = sub,
                                                   .ns = arena_str(&k->a, ns),
                                                   .name = arena_str(&k->a, name),
                                                   .key = arena_str(&k->a, key)};
    if (arena_ok(&k->a) != 0) {
        k->n_wanted--;
        return NO;
    }
    return UNKNOWN;
}

/* The widest right first: who may in the whole cluster is asked about one time, not for each namespace. */
static bool may(const struct virtual_ask *q, const char *verb, const char *group,
                const char *resource, struct str ns, struct str name) {
    struct computing *k = q->may_ctx;
    const struct str none = {0};
    struct str whole = str_of(resource), sub, first;
    if (str_cut(whole, '/', &first, &sub)) {
        whole = arena_str(&k->a, first);
        resource = whole.p ? whole.p : "";
    } else {
        sub = none;
    }
    enum known x = look_up(k, verb, group, resource, sub, none, none);
    if (x == NO && ns.n) {
        x = look_up(k, verb, group, resource, sub, ns, none);
    }
    if (x == NO && name.n) {
        x = look_up(k, verb, group, resource, sub, ns, name);
    }
    return x == YES;
}

/* ---- the end ---- */

void computing_free(struct computing *k) {
    if (k == NULL) {
        return;
    }
    if (k->prev) {
        *k->prev = k->next;
        if (k->next) {
            k->next->prev = k->prev;
        }
        k->prev = NULL;
    }
    for (size_t i = 0; i < k->n_wanted; i++) {
        way_ask_cancel(k->wanted[i].question);
    }
    k->n_wanted = 0;
    if (k->under_way) {
        k->source->cancel(k->source, k->under_way);
        k->under_way = NULL;
    }
    k->dead = true;
    if (k->inside) {
        return; /* ask, below, does the rest */
    }
    arena_release(&k->a);
    buf_release(&k->key);
    mem_free(k);
}

/* Tells it, and lets go of k. */
static void finish(struct computing *k, int code, struct str json, const char *text) {
    virtual_done *done = k->done;
    void *ctx = k->done_ctx;
    struct err err = {0};
    if (code != 0) {
        err_set(&err, code, "%s", text && text[0] ? text : err_name(code));
    }
    computing_free(k);
    done(ctx, code, json, &err);
}

static void give_up(struct computing *k, int code, const char *text) {
    finish(k, code, (struct str){0}, text);
}

/* ---- asking the API server ---- */

static void add_field(struct buf *b, const char *name, struct str value, bool *more) {
    if (value.n) {
        buf_f(b, "%s\"%s\":", *more ? "," : "", name);
        buf_json(b, value);
        *more = true;
    }
}

static void reviewed(void *ctx, int code, yyjson_val *root, const struct err *err) {
    struct way_wanted *x = ctx;
    struct computing *k = x->k;
    x->question = NULL;
    k->told++;
    if (code == 0) {
        remember(k->w, x->key, json_bool_at(root, "status.allowed", false));
    } else if (!k->trouble) {
        k->trouble = code;
        k->why = *err;
    }
    step(k);
}

static int send_review(struct way_wanted *x, struct err *err) {
    struct computing *k = x->k;
    struct buf b;
    bool more = false;
    buf_init(&b, 16 << 10);
    buf_c(&b, "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SelfSubjectAccessReview\","
              "\"spec\":{\"resourceAttributes\":{");
    add_field(&b, "verb", x->verb, &more);
    add_field(&b, "group", x->group, &more);
    add_field(&b, "resource", x->resource, &more);
    add_field(&b, "subresource", x->subresource, &more);
    add_field(&b, "namespace", x->ns, &more);
    add_field(&b, "name", x->name, &more);
    buf_c(&b, "}}}");
    int r = buf_ok(&b)
                ? err_set(err, ERR_NOMEM, "no memory to ask")
                : way_ask(k->w, k->token, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                          buf_view(&b), reviewed, x, &x->question, err);
    buf_release(&b);
    return r;
}

static int send_reviews(struct computing *k, struct err *err) {
    int r = 0;
    while (r == 0 && k->sent < k->n_wanted && k->sent - k->told < AT_ONCE) {
        r = send_review(&k->wanted[k->sent++], err);
    }
    return r;
}

/* ---- asking whoever answers ---- */

static void answered(void *ctx, int code, struct str json, const struct err *err) {
    struct computing *k = ctx;
    k->under_way = NULL;
    k->asking = false;
    if (k->n_wanted > 0 && k->round < ROUNDS) {
        step(k);
    } else {
        finish(k, code, json, err ? err->text : NULL);
    }
}

static void ask(struct computing *k) {
    const struct kind *kind = k->q.kind;
    struct err err = {0};
    struct virtual_call *call = NULL;
    k->n_wanted = k->sent = k->told = 0;
    k->round++;
    k->source =
        virtual_find(k->w->o.virtuals, str_of(kind->group), str_of(kind->plural), k->q.subresource);
    if (k->source == NULL) {
        give_up(k, ERR_UNAVAILABLE,
                "this is answered by the replica that leads, and this one does not");
        return;
    }
    k->asking = k->inside = true;
    int r = k->source->ask(k->source, &k->q, answered, k, &call, &err);
    if (r != 0) {
        answered(k, r, (struct str){0}, &err);
    } else if (k->asking && !k->dead) {
        k->under_way = call;
    }
    k->inside = false;
    if (k->dead) {
        computing_free(k);
    }
}

/* May the user ask this at all? */
static enum known may_ask(struct computing *k) {
    const struct virtual_ask *q = &k->q;
    return look_up(k, k->right, q->kind->group, q->kind->plural, q->subresource, q->ns, q->name);
}

static void forbid(struct computing *k) {
    const struct virtual_ask *q = &k->q;
    struct err err = {0};
    err_set(&err, ERR_FORBIDDEN, "%s.%s is forbidden: you cannot %s it %s%.*s", q->kind->plural,
            q->kind->group, k->right, q->ns.n ? "in the namespace " : "at the cluster scope",
            STR_ARG(q->ns));
    give_up(k, ERR_FORBIDDEN, err.text);
}

static void step(struct computing *k) {
    struct err err = {0};
    if (k->trouble) {
        give_up(k, k->trouble, k->why.text);
    } else if (k->told < k->n_wanted) {
        int r = send_reviews(k, &err);
        if (r != 0) {
            give_up(k, r, err.text);
        }
    } else if (k->allowed || may_ask(k) == YES) {
        k->allowed = true;
        ask(k);
    } else {
        forbid(k);
    }
}

/* ---- the whole ---- */

static void asker_copy(struct computing *k, const struct session_who *who) {
    struct str *groups = ARENA_ARRAY(&k->a, struct str, who->n_groups + 1);
    k->q.user = arena_str(&k->a, who->user);
    for (size_t i = 0; groups && i < who->n_groups; i++) {
        groups[i] = arena_str(&k->a, who->groups[i]);
    }
    k->q.groups = groups;
    k->q.n_groups = groups ? who->n_groups : 0;
}

struct computing *computing_new(struct way *w, const struct computing_options *o) {
    struct computing *k = mem_zalloc(sizeof(*k));
    if (k == NULL) {
        return NULL;
    }
    arena_init(&k->a, COMPUTING_BYTES);
    buf_init(&k->key, 8192);
    k->w = w;
    k->q = *o->q;
    k->q.may = may;
    k->q.may_ctx = k;
    k->right = o->right;
    k->session = o->session->number;
    k->token = arena_str(&k->a, o->session->who.token);
    asker_copy(k, &o->session->who);
    k->done = o->done;
    k->done_ctx = o->ctx;
    k->wanted = ARENA_ARRAY(&k->a, struct way_wanted, WAY_RIGHTS_OF_ASK);
    k->next = w->computings;
    k->prev = &w->computings;
    if (k->next) {
        k->next->prev = &k->next;
    }
    w->computings = k;
    if (arena_ok(&k->a) != 0) {
        computing_free(k);
        return NULL;
    }
    return k;
}

void computing_start(struct computing *k) {
    (void)may_ask(k);
    step(k);
}

void computing_release(struct way *w) {
    while (w->computings) {
        computing_free(w->computings);
    }
    forget_rights(w);
    map_release(&w->rights);
}
