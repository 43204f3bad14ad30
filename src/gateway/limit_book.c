/* limit_book: see limit_book.h. Entries that nobody used for an hour, and nobody holds, are dropped when there are
 * many. */
#include "gateway/limit_book.h"

#include <pthread.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"

enum { MANY = 4096, NAME_BYTES = 900 };
#define UNUSED_NS (3600 * NS_PER_SEC)

struct limit_entry {
    struct limits_set set;
    struct routes_limits limits;
    size_t holders;
    int64_t used_at;
    struct str name; /* behind it */
};

struct limit_book {
    pthread_mutex_t lock;
    struct map entries;
    size_t sweep_at; /* that many entries */
};

struct limit_book *limit_book_new(void) {
    struct limit_book *b = mem_zalloc(sizeof(*b));
    if (b) {
        pthread_mutex_init(&b->lock, NULL);
        map_init(&b->entries);
        b->sweep_at = MANY;
    }
    return b;
}

void limit_book_free(struct limit_book *b) {
    const struct map_entry *e;
    if (b == NULL) {
        return;
    }
    for (size_t i = 0; (e = map_next(&b->entries, &i)) != NULL;) {
        mem_free(e->value);
    }
    map_release(&b->entries);
    pthread_mutex_destroy(&b->lock);
    mem_free(b);
}

static void sweep(struct limit_book *b, int64_t now) {
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&b->entries, &i)) != NULL;) {
        struct limit_entry *x = e->value;
        if (x->holders == 0 && now - x->used_at > UNUSED_NS) {
            map_del(&b->entries, x->name);
            mem_free(x);
        }
    }
    b->sweep_at = map_count(&b->entries) * 2 + MANY;
}

static bool is_limited(const struct routes_limits *l) {
    return l->requests || l->tokens || l->streams;
}

static struct limit_entry *entry_new(struct limit_book *b, struct str name,
                                     const struct routes_limits *l, int64_t now) {
    struct limit_entry *x = mem_zalloc(sizeof(*x) + name.n);
    if (x == NULL) {
        return NULL;
    }
    memcpy((char *)(x + 1), name.p, name.n);
    x->name = str_from((char *)(x + 1), name.n);
    x->limits = *l;
    limits_init(&x->set, l->requests, l->tokens, l->streams, now);
    if (map_put(&b->entries, x->name, x, NULL) != 0) {
        mem_free(x);
        return NULL;
    }
    return x;
}

/* The limits have changed. */
static void change(struct limit_entry *x, const struct routes_limits *l, int64_t now) {
    if (x->limits.requests != l->requests || x->limits.tokens != l->tokens) {
        int64_t streams = x->set.streams;
        if (x->limits.requests && l->requests && x->limits.tokens && l->tokens) {
            bucket_change(&x->set.requests, l->requests, l->requests, now);
            bucket_change(&x->set.tokens, l->tokens, l->tokens, now);
        } else {
            limits_init(&x->set, l->requests, l->tokens, l->streams, now);
            x->set.streams = streams;
        }
    }
    x->set.streams_max = l->streams;
    x->limits = *l;
}

static void add(struct limit_book *b, struct limit_charge *c, const char **what, const char *kind,
                struct str who, const struct routes_limits *l, int64_t now) {
    char text[NAME_BYTES];
    if (!is_limited(l)) {
        return;
    }
    int n = snprintf(text, sizeof(text), "%s %.*s", kind, STR_ARG(who));
    if (n < 0 || (size_t)n >= sizeof(text)) {
        return;
    }
    struct str name = str_from(text, (size_t)n);
    struct limit_entry *x = map_get(&b->entries, name);
    x = x ? x : entry_new(b, name, l, now);
    if (x) {
        change(x, l, now);
        x->used_at = now;
        what[c->n] = kind;
        c->entries[c->n++] = x;
    }
}

static void nearest(struct bucket *k, int64_t now, struct limit_left *ret) {
    if (k->limit == 0) {
        return;
    }
    int64_t left = bucket_left(k, now);
    /* left / limit < ret->left / ret->limit */
    if (ret->limit == 0 ||
        (double)left * (double)ret->limit < (double)ret->left * (double)k->limit) {
        *ret = (struct limit_left){k->limit, left, bucket_full_in(k, now)};
    }
}

const char *limit_book_take(struct limit_book *b, const struct gateway_key *key,
                            const struct routes_model *m, int64_t tokens, int64_t now,
                            struct limit_charge *ret, struct limit_view *ret_view,
                            struct limits_answer *ret_answer) {
    static const struct routes_limits none;
    const char *what[LIMIT_CHARGES] = {0}, *refused = NULL;
    struct limit_charge c = {.tokens = tokens};
    struct limits_set *sets[LIMIT_CHARGES];
    char number[24], model[NAME_BYTES];
    *ret = (struct limit_charge){0};
    *ret_view = (struct limit_view){0};
    if (!is_limited(key ? &key->limits : &none) &&
        !is_limited(key ? &key->project_limits : &none) && !is_limited(&m->limits)) {
        return NULL;
    }
    pthread_mutex_lock(&b->lock);
    if (map_count(&b->entries) > b->sweep_at) {
        sweep(b, now);
    }
    if (key) {
        snprintf(number, sizeof(number), "%llu", (unsigned long long)key->number);
        add(b, &c, what, "key", str_of(number), &key->limits, now);
        add(b, &c, what, "project", key->project, &key->project_limits, now);
    }
    snprintf(model, sizeof(model), "%.*s/%.*s", STR_ARG(m->project), STR_ARG(m->name));
    add(b, &c, what, "model", str_of(model), &m->limits, now);
    for (size_t i = 0; i < c.n; i++) {
        sets[i] = &c.entries[i]->set;
    }
    *ret_answer = limits_take(sets, c.n, tokens, now);
    for (size_t i = 0; i < c.n; i++) {
        nearest(&sets[i]->requests, now, &ret_view->requests);
        nearest(&sets[i]->tokens, now, &ret_view->tokens);
        c.entries[i]->holders += ret_answer->refused == LIMITS_NONE;
    }
    if (ret_answer->refused == LIMITS_NONE) {
        *ret = c;
    } else {
        refused = what[ret_answer->set];
    }
    pthread_mutex_unlock(&b->lock);
    return refused;
}

void limit_book_give(struct limit_book *b, struct limit_charge *c, int64_t tokens, int64_t now) {
    struct limits_set *sets[LIMIT_CHARGES];
    if (c->n == 0) {
        return;
    }
    pthread_mutex_lock(&b->lock);
    for (size_t i = 0; i < c->n; i++) {
        sets[i] = &c->entries[i]->set;
        c->entries[i]->holders--;
        c->entries[i]->used_at = now;
    }
    limits_give(sets, c->n, c->tokens, tokens, now);
    pthread_mutex_unlock(&b->lock);
    *c = (struct limit_charge){0};
}
