/* webhook_cert: see webhook_cert.h. */
#include "site/webhook/webhook_cert.h"

#include "base/clock.h"
#include "base/mem.h"
#include "net/tls.h"

enum { NAMES_MAX = 8, DAY_S = 86400, LOOK_MAX_S = 7 * DAY_S };

#define PEM_END "-----END CERTIFICATE-----"

/* ---- deciding ---- */

static int64_t old_at(int64_t from, int64_t until) {
    return until - (until - from) / 3;
}

enum webhook_cert_step webhook_cert_plan(const struct webhook_cert_look *l, int64_t now_s,
                                         int64_t *ret_next_s) {
    bool ca_good = l->n_ca > 0 && now_s >= l->ca_from && now_s < l->ca_until;
    if (!ca_good || !l->usable || now_s >= l->until || now_s < l->from) {
        return CERT_ALL;
    }
    int64_t known = l->ca_from + WEBHOOK_CERT_BACKDATE_S + WEBHOOK_CERT_OVERLAP_S;
    int64_t served = l->from + WEBHOOK_CERT_BACKDATE_S + WEBHOOK_CERT_OVERLAP_S;
    if (!l->names || now_s >= old_at(l->from, l->until) || (!l->of_newest && now_s >= known)) {
        return CERT_NEW;
    }
    if (l->n_ca > 1 && l->of_newest && now_s >= served) {
        return CERT_DROP_CA;
    }
    if (now_s >= old_at(l->ca_from, l->ca_until)) {
        return CERT_NEW_CA;
    }
    int64_t next = old_at(l->from, l->until), ca = old_at(l->ca_from, l->ca_until);
    next = ca < next ? ca : next;
    next = !l->of_newest && known < next ? known : next;
    next = l->n_ca > 1 && l->of_newest && served < next ? served : next;
    next -= now_s;
    *ret_next_s = next < LOOK_MAX_S ? next : LOOK_MAX_S;
    return CERT_KEEP;
}

struct str webhook_cert_next(struct str *rest) {
    struct str end = STR(PEM_END);
    for (size_t i = 0; i + end.n <= rest->n; i++) {
        if (memcmp(rest->p + i, end.p, end.n) == 0) {
            struct str one = str_head(*rest, i + end.n);
            *rest = str_skip(*rest, i + end.n);
            return str_trim(one);
        }
    }
    *rest = (struct str){0};
    return (struct str){0};
}

/* ---- doing ---- */

struct webhook_cert_keeper {
    struct cert_keeper k;
    struct str names[NAMES_MAX];
    size_t n;
};

static struct webhook_cert_look look_at(const struct webhook_cert_keeper *k,
                                        const struct cert_set *s) {
    struct webhook_cert_look l = {.names = true};
    struct str rest = s->bundle;
    struct str newest = webhook_cert_next(&rest);
    bool signed_by = false;
    if (newest.n == 0 || tls_pem_times(newest, &l.ca_from, &l.ca_until, NULL) != 0 ||
        !tls_pem_fits(newest, s->ca_key)) {
        return l;
    }
    l.of_newest = signed_by = tls_pem_signed_by(s->cert, newest);
    for (struct str one = newest; one.n > 0 && l.n_ca < 2; one = webhook_cert_next(&rest)) {
        signed_by = signed_by || tls_pem_signed_by(s->cert, one);
        l.n_ca++;
    }
    l.usable = signed_by && tls_pem_times(s->cert, &l.from, &l.until, NULL) == 0 &&
               tls_pem_fits(s->cert, s->key);
    for (size_t i = 0; i < k->n; i++) {
        l.names = l.names && tls_pem_has_name(s->cert, k->names[i]);
    }
    return l;
}

static struct str kept(struct arena *a, struct buf *b) {
    struct str s = arena_str(a, buf_view(b));
    buf_release(b);
    return s;
}

static int make_ca(int64_t now_s, struct arena *a, struct str *ret_cert, struct str *ret_key,
                   struct err *err) {
    struct buf cert, key;
    buf_init(&cert, 0);
    buf_init(&key, 0);
    char cn[48]; /* tells the authorities of one bundle apart */
    snprintf(cn, sizeof(cn), "berth webhook %lld", (long long)now_s);
    int r = tls_pem_ca(cn, now_s - WEBHOOK_CERT_BACKDATE_S,
                       now_s + (int64_t)WEBHOOK_CA_DAYS * DAY_S, &cert, &key, err);
    *ret_cert = kept(a, &cert);
    *ret_key = kept(a, &key);
    return r;
}

static int make_cert(const struct webhook_cert_keeper *k, int64_t now_s, struct arena *a,
                     struct cert_set *s, struct err *err) {
    struct buf cert, key;
    struct str rest = s->bundle;
    struct tls_name n = {.cn = k->names[0], .alt = k->names, .n_alt = k->n, .server = true};
    n.cn = str_head(n.cn, 64); /* as long as a CN may be */
    buf_init(&cert, 0);
    buf_init(&key, 0);
    int r = tls_pem_cert(webhook_cert_next(&rest), s->ca_key, &n, now_s - WEBHOOK_CERT_BACKDATE_S,
                         now_s + (int64_t)WEBHOOK_CERT_DAYS * DAY_S, &cert, &key, err);
    s->cert = kept(a, &cert);
    s->key = kept(a, &key);
    return r;
}

static int take(const struct webhook_cert_keeper *k, enum webhook_cert_step step, int64_t now_s,
                struct arena *a, struct cert_set *s, struct err *err) {
    struct str rest = s->bundle, newest = webhook_cert_next(&rest), cert, key;
    int r = 0;
    if (step == CERT_ALL || step == CERT_NEW_CA) {
        r = make_ca(now_s, a, &cert, &key, err);
        s->bundle =
            step == CERT_ALL ? cert : arena_f(a, "%.*s%.*s\n", STR_ARG(cert), STR_ARG(newest));
        s->ca_key = key;
    }
    if (r == 0 && (step == CERT_ALL || step == CERT_NEW)) {
        r = make_cert(k, now_s, a, s, err);
    }
    if (step == CERT_DROP_CA) {
        s->bundle = arena_f(a, "%.*s\n", STR_ARG(newest));
    }
    return r;
}

static int renew(struct cert_keeper *base, const struct cert_set *have, int64_t now,
                 struct arena *a, struct cert_set *ret, bool *ret_changed, int64_t *ret_next,
                 struct err *err) {
    const struct webhook_cert_keeper *k = (const struct webhook_cert_keeper *)base;
    struct cert_set s = *have;
    int64_t now_s = now / NS_PER_SEC, next_s = WEBHOOK_CERT_OVERLAP_S;
    struct webhook_cert_look l = look_at(k, &s);
    enum webhook_cert_step step = webhook_cert_plan(&l, now_s, &next_s);
    int r = step == CERT_KEEP ? 0 : take(k, step, now_s, a, &s, err);
    if (r == 0 && arena_ok(a) != 0) {
        r = err_set(err, ERR_NOMEM, "out of memory");
    }
    if (r != 0) {
        return r;
    }
    *ret = s;
    *ret_changed = step != CERT_KEEP;
    *ret_next = step == CERT_KEEP ? next_s * NS_PER_SEC : NS_PER_SEC;
    return 0;
}

struct cert_keeper *webhook_cert_keeper_new(const struct str *names, size_t n) {
    struct webhook_cert_keeper *k = mem_zalloc(sizeof(*k));
    if (k == NULL) {
        return NULL;
    }
    k->k.renew = renew;
    for (size_t i = 0; i < n && i < NAMES_MAX; i++) {
        k->names[i] = str_of(mem_cstr(names[i]));
        if (k->names[i].p == NULL) {
            webhook_cert_keeper_free(&k->k);
            return NULL;
        }
        k->n++;
    }
    return &k->k;
}

void webhook_cert_keeper_free(struct cert_keeper *base) {
    struct webhook_cert_keeper *k = (struct webhook_cert_keeper *)base;
    for (size_t i = 0; k != NULL && i < k->n; i++) {
        mem_free((void *)(uintptr_t)k->names[i].p);
    }
    mem_free(k);
}
