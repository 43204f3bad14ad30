/* identity: issuers of OpenID Connect. See identity.h. */
#include "world/up/identity.h"

#include "base/mem.h"
#include "kube/file.h"

enum { ASKING_ARENA_BYTES = 1 << 20, SECRET_BYTES_MAX = 4096 };

/* The dashboard asked about a token whose issuer is asked for its keys. */
struct token_question {
    struct token_question *next, **prev;
    struct identity *x;
    struct policy *policy;
    struct str token; /* the dashboard's, while it asks */
    struct dashboard_asking *k;
    struct oidc_waiter waiter;
};

struct identity {
    struct oidc *oidc;
    struct oidc_login *login;
    struct token_question *questions;
};

static int read_file(struct oidc_config *c, const char *file, struct err *err) {
    struct str text;
    int r = kube_file_read(&c->arena, file, OIDC_CONFIG_BYTES, &text, err);
    r = r ? r : oidc_config_read(c, text, err);
    return r ? err_wrap(err, "--authentication-config %s", file) : 0;
}

static int read_flags(struct oidc_config *c, const struct identity_at *at, struct err *err) {
    struct oidc_flags f = at->flags;
    f.required = at->required;
    if (at->ca_file && kube_file_read(&c->arena, at->ca_file, OIDC_CA_BYTES, &f.ca_pem, err) != 0) {
        return err_wrap(err, "--oidc-ca-file");
    }
    return oidc_config_add(c, &f, err);
}

int identity_config(const struct identity_at *at, struct oidc_config *ret_config, struct err *err) {
    struct oidc_config c;
    oidc_config_init(&c);
    int r = at->config_file ? read_file(&c, at->config_file, err) : 0;
    r = r || at->flags.issuer_url.n == 0 ? r : read_flags(&c, at, err);
    if (r != 0) {
        oidc_config_release(&c);
        return r;
    }
    *ret_config = c;
    return 0;
}

/* The first audience is the client that people sign in with. */
static int make_login(struct identity *x, struct loop *l, const struct identity_at *at,
                      struct oidc_config *config, struct err *err) {
    struct oidc_login_options o = {.loop = l,
                                   .oidc = x->oidc,
                                   .issuer_url = config->issuers[0].url,
                                   .client_id = config->issuers[0].audiences[0],
                                   .scopes = at->scopes,
                                   .redirect = at->redirect};
    if (at->secret_file) {
        int r = kube_file_read(&config->arena, at->secret_file, SECRET_BYTES_MAX, &o.secret, err);
        if (r != 0) {
            return err_wrap(err, "--oidc-client-secret-file");
        }
        o.secret = str_trim(o.secret);
    }
    return oidc_login_new(&o, &x->login, err);
}

int identity_new(struct loop *l, struct log *log, const struct identity_at *at,
                 struct oidc_config *config, struct identity **ret, struct err *err) {
    struct identity *x = mem_zalloc(sizeof(*x));
    if (x == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    int r = config->n ? oidc_new(l, log, config, &x->oidc, err) : 0;
    r = r || at->sign_in.n == 0 ? r : make_login(x, l, at, config, err);
    if (r != 0) {
        identity_free(x);
        return r;
    }
    *ret = x;
    return 0;
}

static void question_free(struct token_question *k) {
    oidc_wait_cancel(&k->waiter);
    *k->prev = k->next;
    if (k->next) {
        k->next->prev = k->prev;
    }
    mem_free(k);
}

void identity_free(struct identity *x) {
    if (x == NULL) {
        return;
    }
    while (x->questions) {
        question_free(x->questions);
    }
    oidc_login_free(x->login);
    oidc_free(x->oidc);
    mem_free(x);
}

struct oidc *identity_oidc(struct identity *x) {
    return x->oidc;
}

struct oidc_login *identity_login(struct identity *x) {
    return x->login;
}

/* ---- the dashboard's questions ---- */

/* True: told, and done with. */
static bool look(struct token_question *k) {
    struct user who = {0};
    struct arena a;
    struct err err = {0};
    arena_init(&a, ASKING_ARENA_BYTES);
    int r = policy_identify(k->policy, k->token, &a, &k->waiter, &who, &err);
    if (r != ERR_AGAIN) {
        struct session_who w = {.user = who.name,
                                .groups = who.groups.v,
                                .n_groups = who.groups.n,
                                .expires_ns = who.expires_ns};
        dashboard_identified(k->k, r, &w, &err);
    }
    arena_release(&a);
    return r != ERR_AGAIN;
}

static void ready(void *ctx) {
    struct token_question *k = ctx;
    if (look(k)) {
        question_free(k);
    }
}

void identity_ask(struct identity *x, struct policy *p, struct str token,
                  struct dashboard_asking *k) {
    struct err err = {0};
    struct token_question *mine = mem_zalloc(sizeof(*mine));
    if (mine == NULL) {
        (void)err_set(&err, ERR_NOMEM, "no memory to look at a token");
        dashboard_identified(k, err.code, NULL, &err);
        return;
    }
    *mine = (struct token_question){
        .next = x->questions, .prev = &x->questions, .x = x, .policy = p, .token = token, .k = k};
    mine->waiter.ready = ready;
    mine->waiter.ctx = mine;
    if (mine->next) {
        mine->next->prev = &mine->next;
    }
    x->questions = mine;
    ready(mine);
}
