/*
 * key_store: two maps from digests, one of keys and one of tokens, behind a lock. See key_store.h.
 *
 * A key is one allocation with its texts behind it, and is counted: a request that found it keeps it, the set that
 * replaces it does not wait.
 */
#include "gateway/key_store.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "base/mem.h"
#include "net/tls.h"

struct kept_key {
    struct gateway_key k; /* first: what `find` gives out */
    unsigned char digest[KEY_DIGEST];
    atomic_uint refs;
    _Atomic int64_t used_s;
    int64_t told_s;
};

enum token_state { TOKEN_ASKING, TOKEN_KNOWN, TOKEN_NOBODY };

struct token {
    unsigned char digest[KEY_DIGEST];
    enum token_state state;
    struct kept_key *key; /* TOKEN_KNOWN */
    int64_t until_s;
};

struct key_set {
    struct map keys; /* digest -> kept */
};

struct key_store {
    struct gateway_keys keys; /* first */
    struct key_store_options o;
    pthread_rwlock_t lock;
    struct map set;    /* digest -> kept */
    struct map tokens; /* digest -> token */
    size_t asking;
    int64_t second; /* in which `begun` were asked about */
    unsigned begun;
};

/* ---- one key ---- */

static struct str copy(char **at, struct str s) {
    char *to = *at;
    memcpy(to, s.p ? s.p : "", s.n);
    *at += s.n;
    return (struct str){to, s.n};
}

static size_t list_bytes(const struct str *v, size_t n) {
    size_t bytes = n * sizeof *v;
    for (size_t i = 0; i < n; i++) {
        bytes += v[i].n;
    }
    return bytes;
}

static const struct str *copy_list(struct str *to, char **at, const struct str *v, size_t n) {
    for (size_t i = 0; i < n; i++) {
        to[i] = copy(at, v[i]);
    }
    return to;
}

static struct kept_key *kept_new(const unsigned char digest[KEY_DIGEST],
                                 const struct gateway_key *k) {
    size_t texts = k->name.n + k->subject.n + k->project.n;
    struct kept_key *x = mem_zalloc(sizeof *x + texts + list_bytes(k->projects, k->n_projects) +
                                    list_bytes(k->models, k->n_models));
    if (x == NULL) {
        return NULL;
    }
    struct str *lists = (struct str *)(x + 1);
    char *at = (char *)(lists + k->n_projects + k->n_models);
    x->k = *k;
    memcpy(x->digest, digest, KEY_DIGEST);
    x->k.projects = copy_list(lists, &at, k->projects, k->n_projects);
    x->k.models = copy_list(lists + k->n_projects, &at, k->models, k->n_models);
    x->k.name = copy(&at, k->name);
    x->k.subject = copy(&at, k->subject);
    x->k.project = copy(&at, k->project);
    atomic_init(&x->refs, 1);
    return x;
}

static void kept_unref(struct kept_key *x) {
    if (x != NULL && atomic_fetch_sub_explicit(&x->refs, 1, memory_order_acq_rel) == 1) {
        mem_free(x);
    }
}

static struct str digest_view(const unsigned char digest[KEY_DIGEST]) {
    return (struct str){(const char *)digest, KEY_DIGEST};
}

/* ---- sets ---- */

static void free_keys(struct map *m) {
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(m, &i)) != NULL;) {
        kept_unref(e->value);
    }
    map_release(m);
}

struct key_set *key_set_new(void) {
    return mem_zalloc(sizeof(struct key_set));
}

void key_set_free(struct key_set *s) {
    if (s != NULL) {
        free_keys(&s->keys);
        mem_free(s);
    }
}

int key_set_add(struct key_set *s, const unsigned char digest[KEY_DIGEST],
                const struct gateway_key *k, struct err *err) {
    if (map_get(&s->keys, digest_view(digest)) != NULL) {
        return err_set(err, ERR_EXISTS, "another key has the same secret");
    }
    if (map_count(&s->keys) >= KEYS_MAX) {
        return err_set(err, ERR_TOO_MANY, "there are more than %d keys", KEYS_MAX);
    }
    struct kept_key *x = kept_new(digest, k ? k : &(struct gateway_key){0});
    if (x == NULL || map_put(&s->keys, digest_view(x->digest), x, NULL) != 0) {
        kept_unref(x);
        return err_set(err, ERR_NOMEM, "no memory for a key");
    }
    return 0;
}

void key_store_put(struct key_store *s, struct key_set *set) {
    const struct map_entry *e;
    pthread_rwlock_wrlock(&s->lock);
    for (size_t i = 0; (e = map_next(&set->keys, &i)) != NULL;) {
        struct kept_key *now = e->value, *was = map_get(&s->set, e->key);
        if (was != NULL) {
            atomic_store(&now->used_s, atomic_load(&was->used_s));
            now->told_s = was->told_s;
        }
    }
    struct map old = s->set;
    s->set = set->keys;
    set->keys = old;
    pthread_rwlock_unlock(&s->lock);
    key_set_free(set);
}

/* ---- tokens of people ---- */

/* Three parts of base64url, as a JWT; or a token of Berth's own. */
static bool is_token(struct str s) {
    size_t dots = 0;
    for (size_t i = 0; i < s.n; i++) {
        dots += s.p[i] == '.';
    }
    return s.n <= KEY_TOKEN_BYTES_MAX && (dots == 2 || str_starts(s, STR("berth_")));
}

static void drop_token(struct key_store *s, struct token *t) {
    map_del(&s->tokens, digest_view(t->digest));
    s->asking -= t->state == TOKEN_ASKING;
    kept_unref(t->key);
    mem_free(t);
}

/* Room for one more: what is over goes, else one that is nobody's, else one that is known: who invents tokens does not
 * push out those of people. Never one that is being asked about. */
static bool make_room(struct key_store *s, int64_t now_s) {
    const struct map_entry *e;
    struct token *least = NULL;
    if (map_count(&s->tokens) < KEY_TOKENS_MAX) {
        return true;
    }
    for (size_t i = 0; (e = map_next(&s->tokens, &i)) != NULL;) {
        struct token *t = e->value;
        if (t->state != TOKEN_ASKING && t->until_s <= now_s) {
            drop_token(s, t);
        } else if (t->state != TOKEN_ASKING && (least == NULL || least->state == TOKEN_KNOWN)) {
            least = t;
        }
    }
    if (map_count(&s->tokens) >= KEY_TOKENS_MAX && least != NULL) {
        drop_token(s, least);
    }
    return map_count(&s->tokens) < KEY_TOKENS_MAX;
}

static bool may_ask(struct key_store *s, int64_t now_s) {
    if (s->second != now_s) {
        s->second = now_s;
        s->begun = 0;
    }
    return s->asking < KEY_ASKING_MAX && s->begun < KEY_ASKS_A_SECOND;
}

/* With the lock held. */
static enum gateway_key_found ask(struct key_store *s, const unsigned char digest[KEY_DIGEST],
                                  struct str token, int64_t now_s) {
    struct token *t;
    if (!may_ask(s, now_s) || !make_room(s, now_s) || (t = mem_zalloc(sizeof *t)) == NULL) {
        return GATEWAY_KEY_BUSY;
    }
    memcpy(t->digest, digest, KEY_DIGEST);
    t->state = TOKEN_ASKING;
    if (map_put(&s->tokens, digest_view(t->digest), t, NULL) != 0) {
        mem_free(t);
        return GATEWAY_KEY_BUSY;
    }
    s->asking++;
    s->begun++;
    if (!s->o.ask(s->o.ctx, digest, token)) {
        drop_token(s, t);
        return GATEWAY_KEY_BUSY;
    }
    return GATEWAY_KEY_ASKING;
}

static enum gateway_key_found find_token(struct key_store *s,
                                         const unsigned char digest[KEY_DIGEST], struct str token,
                                         int64_t now_s, const struct gateway_key **ret) {
    enum gateway_key_found found;
    pthread_rwlock_wrlock(&s->lock);
    struct token *t = map_get(&s->tokens, digest_view(digest));
    if (t != NULL && t->state != TOKEN_ASKING && t->until_s <= now_s) {
        drop_token(s, t);
        t = NULL;
    }
    if (t == NULL) {
        found = ask(s, digest, token, now_s);
    } else if (t->state == TOKEN_KNOWN) {
        atomic_fetch_add(&t->key->refs, 1);
        *ret = &t->key->k;
        found = GATEWAY_KEY_FOUND;
    } else {
        found = t->state == TOKEN_ASKING ? GATEWAY_KEY_ASKING : GATEWAY_KEY_UNKNOWN;
    }
    pthread_rwlock_unlock(&s->lock);
    return found;
}

int key_store_answer(struct key_store *s, const unsigned char digest[KEY_DIGEST],
                     const struct gateway_key *k, int64_t until_s) {
    struct kept_key *key = k ? kept_new(digest, k) : NULL;
    pthread_rwlock_wrlock(&s->lock);
    struct token *t = map_get(&s->tokens, digest_view(digest));
    if (t != NULL && k != NULL && key == NULL) {
        drop_token(s, t);
    } else if (t != NULL) {
        s->asking -= t->state == TOKEN_ASKING;
        kept_unref(t->key);
        t->key = key;
        t->state = key ? TOKEN_KNOWN : TOKEN_NOBODY;
        t->until_s = until_s;
        key = NULL;
    }
    pthread_rwlock_unlock(&s->lock);
    bool lost = k != NULL && t == NULL;
    kept_unref(key);
    return lost ? ERR_NOMEM : 0;
}

void key_store_unanswered(struct key_store *s, const unsigned char digest[KEY_DIGEST]) {
    pthread_rwlock_wrlock(&s->lock);
    struct token *t = map_get(&s->tokens, digest_view(digest));
    if (t != NULL && t->state == TOKEN_ASKING) {
        drop_token(s, t);
    }
    pthread_rwlock_unlock(&s->lock);
}

void key_store_forget(struct key_store *s) {
    const struct map_entry *e;
    pthread_rwlock_wrlock(&s->lock);
    for (size_t i = 0; (e = map_next(&s->tokens, &i)) != NULL;) {
        struct token *t = e->value;
        if (t->state != TOKEN_ASKING) {
            drop_token(s, t);
        }
    }
    pthread_rwlock_unlock(&s->lock);
}

/* ---- keys.h ---- */

static enum gateway_key_found find(struct gateway_keys *base, struct str token, int64_t now_s,
                                   const struct gateway_key **ret) {
    struct key_store *s = (struct key_store *)base;
    unsigned char digest[KEY_DIGEST];
    if (token.n == 0 || token.n > KEY_TOKEN_BYTES_MAX) {
        return GATEWAY_KEY_UNKNOWN;
    }
    tls_sha256(token, digest);
    pthread_rwlock_rdlock(&s->lock);
    struct kept_key *x = map_get(&s->set, digest_view(digest));
    bool revoked = x != NULL && x->k.number == 0;
    if (x != NULL && !revoked) {
        atomic_fetch_add(&x->refs, 1);
    }
    pthread_rwlock_unlock(&s->lock);
    if (revoked) {
        return GATEWAY_KEY_UNKNOWN;
    }
    if (x == NULL) {
        return s->o.ask && is_token(token) ? find_token(s, digest, token, now_s, ret)
                                           : GATEWAY_KEY_UNKNOWN;
    }
    if (x->k.expires_s != 0 && x->k.expires_s <= now_s) {
        kept_unref(x);
        return GATEWAY_KEY_EXPIRED;
    }
    if (atomic_load_explicit(&x->used_s, memory_order_relaxed) < now_s) {
        atomic_store_explicit(&x->used_s, now_s, memory_order_relaxed);
    }
    *ret = &x->k;
    return GATEWAY_KEY_FOUND;
}

static void release(struct gateway_keys *base, const struct gateway_key *key) {
    (void)base;
    kept_unref((struct kept_key *)(uintptr_t)key);
}

/* ---- life ---- */

void key_store_used(struct key_store *s,
                    bool (*each)(void *ctx, const struct gateway_key *k, int64_t used_s),
                    void *ctx) {
    const struct map_entry *e;
    pthread_rwlock_rdlock(&s->lock);
    for (size_t i = 0; (e = map_next(&s->set, &i)) != NULL;) {
        struct kept_key *x = e->value;
        int64_t used = atomic_load(&x->used_s);
        if (used < x->told_s + KEY_USED_S) {
            continue;
        }
        if (!each(ctx, &x->k, used)) {
            break;
        }
        x->told_s = used;
    }
    pthread_rwlock_unlock(&s->lock);
}

struct key_store *key_store_new(const struct key_store_options *o) {
    struct key_store *s = mem_zalloc(sizeof *s);
    if (s != NULL) {
        s->keys = (struct gateway_keys){find, release};
        s->o = *o;
        pthread_rwlock_init(&s->lock, NULL);
    }
    return s;
}

void key_store_free(struct key_store *s) {
    const struct map_entry *e;
    if (s == NULL) {
        return;
    }
    for (size_t i = 0; (e = map_next(&s->tokens, &i)) != NULL;) {
        struct token *t = e->value;
        kept_unref(t->key);
        mem_free(t);
    }
    map_release(&s->tokens);
    free_keys(&s->set);
    pthread_rwlock_destroy(&s->lock);
    mem_free(s);
}

struct gateway_keys *key_store_keys(struct key_store *s) {
    return &s->keys;
}
