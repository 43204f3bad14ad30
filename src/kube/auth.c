/* auth (kube): see auth.h. */
#include "kube/auth.h"

#include <sys/stat.h>

#include "base/mem.h"
#include "kube/exec.h"
#include "kube/file.h"
#include "kube/path.h"
#include "wire/text/base64.h"

enum {
    TOKEN_MAX = 64 << 10,
    REREAD_S = 60,
    EARLY_S = 10, /* before it expires, a program's credential is not used any more */
    AGAIN_MS =
        1000, /* before a program runs again that failed, or whose credential was old when it came */
};

struct auth {
    struct loop *loop;
    const struct kube_config *config;
    void (*identity)(void *ctx, struct str cert_pem, struct str key_pem);
    void *ctx;
    uint64_t generation; /* of what was last sent */

    struct arena token_arena; /* of the file's token */
    struct str token;
    struct stat seen;
    int64_t read_at; /* mono ns; 0: not yet */

    struct exec_run *run;
    bool has_credential, had_cert;
    int64_t got_at; /* mono ns */
    struct exec_credential credential;
    struct timer *pause; /* between a failure and the next run */
    bool pausing;
    struct err failure;
    struct auth_waiter *waiters;
};

static void on_pause_over(void *ctx) {
    ((struct auth *)ctx)->pausing = false;
}

struct auth *auth_new(struct loop *l, const struct kube_config *c,
                      void (*identity)(void *ctx, struct str cert_pem, struct str key_pem),
                      void *ctx, struct err *err) {
    struct auth *a = mem_zalloc(sizeof(*a));
    struct timer *timer = a ? loop_clock(l)->timer_new(loop_clock(l), on_pause_over, a) : NULL;
    if (timer == NULL) {
        mem_free(a);
        err_set(err, ERR_NOMEM, "no memory");
        return NULL;
    }
    *a = (struct auth){.loop = l, .config = c, .identity = identity, .ctx = ctx, .pause = timer};
    arena_init(&a->token_arena, 4 * TOKEN_MAX);
    return a;
}

void auth_free(struct auth *a) {
    if (a == NULL) {
        return;
    }
    exec_cancel(a->run);
    while (a->waiters) {
        auth_wait_cancel(a->waiters);
    }
    if (a->has_credential) {
        exec_credential_release(&a->credential);
    }
    loop_clock(a->loop)->timer_free(a->pause);
    arena_release_secret(&a->token_arena);
    mem_free(a);
}

/* ---- a token's file ---- */

static bool same_file(const struct stat *a, const struct stat *b) {
    return a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int read_token(struct auth *a, struct err *err) {
    const char *path = a->config->token_file.p;
    int64_t now = clock_mono(loop_clock(a->loop));
    struct stat st = {0};
    bool there = stat(path, &st) == 0;
    if (a->read_at && there && same_file(&st, &a->seen) &&
        now - a->read_at < (int64_t)REREAD_S * NS_PER_SEC) {
        return 0;
    }
    struct arena fresh;
    struct str token;
    arena_init(&fresh, 4 * TOKEN_MAX);
    int r = kube_file_read(&fresh, path, TOKEN_MAX, &token, err);
    if (r != 0) {
        arena_release(&fresh);
        if (a->token.n) { /* what was read last may be good still */
            return 0;
        }
        a->token = a->config->token;
        return a->token.n ? 0 : err_wrap(err, "user.tokenFile");
    }
    token = str_trim(token);
    a->generation += !str_eq(token, a->token);
    arena_release_secret(&a->token_arena);
    a->token_arena = fresh;
    a->token = token;
    a->seen = st;
    a->read_at = now;
    return 0;
}

/* ---- a program ---- */

static bool is_fresh(const struct auth *a) {
    struct clock *clock = loop_clock(a->loop);
    int64_t left = a->credential.expires_ns - clock_wall(clock);
    return a->has_credential &&
           (a->credential.expires_ns == 0 || left > (int64_t)EARLY_S * NS_PER_SEC ||
            clock_mono(clock) - a->got_at < AGAIN_MS * NS_PER_MS);
}

static void tell_waiters(struct auth *a, int code, const struct err *err) {
    struct auth_waiter *all = a->waiters;
    a->waiters = NULL;
    if (all) {
        all->prev = &all;
    }
    while (all) { /* each may cancel others, and wait again */
        struct auth_waiter *w = all;
        auth_wait_cancel(w);
        w->ready(w->ctx, code, err);
    }
}

static void on_credential(void *ctx, int code, struct exec_credential *cred,
                          const struct err *err) {
    struct auth *a = ctx;
    a->run = NULL;
    if (code == 0) {
        if (a->has_credential) {
            exec_credential_release(&a->credential);
        }
        a->credential = *cred;
        a->has_credential = true;
        a->got_at = clock_mono(loop_clock(a->loop));
        a->generation++;
        if (cred->cert_pem.n || a->had_cert) {
            a->had_cert = cred->cert_pem.n > 0;
            a->identity(a->ctx, a->credential.cert_pem, a->credential.key_pem);
        }
    } else {
        a->failure = *err;
        a->pausing = true;
        loop_clock(a->loop)->timer_start(a->pause, AGAIN_MS * NS_PER_MS);
    }
    tell_waiters(a, code, err);
}

static int ask_program(struct auth *a, struct err *err) {
    if (is_fresh(a)) {
        return 0;
    }
    if (a->run == NULL && a->pausing) {
        return err_set(err, a->failure.code ? a->failure.code : ERR_UNAUTHORIZED, "%s",
                       a->failure.text);
    }
    int code = a->run ? 0 : exec_start(a->loop, &a->config->exec, on_credential, a, &a->run, err);
    return code ? code : ERR_AGAIN;
}

void auth_wait(struct auth *a, struct auth_waiter *w) {
    struct auth_waiter **at = &a->waiters;
    while (*at) {
        at = &(*at)->next;
    }
    w->next = NULL;
    w->prev = at;
    *at = w;
}

void auth_wait_cancel(struct auth_waiter *w) {
    if (w->prev == NULL) {
        return;
    }
    *w->prev = w->next;
    if (w->next) {
        w->next->prev = w->prev;
    }
    w->prev = NULL;
    w->next = NULL;
}

/* ---- lines ---- */

static int add_bearer(struct arena *arena, struct str token, struct str *lines, size_t *n,
                      struct err *err) {
    for (size_t i = 0; i < token.n; i++) {
        if ((unsigned char)token.p[i] <= ' ' || (unsigned char)token.p[i] >= 0x7f) {
            return err_set(err, ERR_INVALID, "user.token has characters that no token has");
        }
    }
    if (token.n) {
        lines[(*n)++] = arena_f(arena, "Authorization: Bearer %.*s", STR_ARG(token));
    }
    return 0;
}

static void add_basic(struct arena *arena, const struct kube_config *c, struct str *lines,
                      size_t *n) {
    struct buf plain, line;
    buf_init(&plain, TOKEN_MAX);
    buf_init(&line, 2 * TOKEN_MAX);
    buf_str(&plain, c->username);
    buf_ch(&plain, ':');
    buf_str(&plain, c->password);
    buf_c(&line, "Authorization: Basic ");
    base64_encode(&line, buf_view(&plain));
    lines[(*n)++] = arena_str(arena, buf_view(&line));
    buf_release(&plain);
    buf_release(&line);
}

/* A header's value from a kubeconfig: nothing that would end the line. */
static int add_header(struct arena *arena, const char *name, struct str value, struct str *lines,
                      size_t *n, struct err *err) {
    for (size_t i = 0; i < value.n; i++) {
        if ((unsigned char)value.p[i] < ' ' || value.p[i] == 0x7f) {
            return err_set(err, ERR_INVALID, "user.as and what belongs to it must be plain text");
        }
    }
    lines[(*n)++] = arena_f(arena, "%s: %.*s", name, STR_ARG(value));
    return 0;
}

static int add_impersonation(const struct kube_config *c, struct arena *arena, struct str *lines,
                             size_t *n, struct err *err) {
    if (c->as_user.n == 0) {
        return 0;
    }
    int r = add_header(arena, "Impersonate-User", c->as_user, lines, n, err);
    if (r == 0 && c->as_uid.n) {
        r = add_header(arena, "Impersonate-Uid", c->as_uid, lines, n, err);
    }
    for (size_t i = 0; r == 0 && i < c->n_as_groups; i++) {
        r = add_header(arena, "Impersonate-Group", c->as_groups[i], lines, n, err);
    }
    for (size_t i = 0; r == 0 && i < c->n_as_extra; i++) {
        struct buf name;
        buf_init(&name, 4096);
        buf_c(&name, "Impersonate-Extra-");
        kube_encode(&name, c->as_extra[i].key);
        r = add_header(arena, buf_cstr(&name), c->as_extra[i].value, lines, n, err);
        buf_release(&name);
    }
    return r;
}

size_t auth_lines_max(const struct auth *a) {
    return 3 + a->config->n_as_groups + a->config->n_as_extra;
}

int auth_lines(struct auth *a, struct arena *arena, struct str *lines, size_t *n,
               uint64_t *ret_generation, struct err *err) {
    const struct kube_config *c = a->config;
    int r = 0;
    if (c->token_file.n) {
        r = read_token(a, err);
        r = r ? r : add_bearer(arena, a->token, lines, n, err);
    } else if (c->token.n) {
        r = add_bearer(arena, c->token, lines, n, err);
    } else if (c->username.n || c->password.n) {
        add_basic(arena, c, lines, n);
    } else if (c->exec.command.n) {
        r = ask_program(a, err);
        r = r ? r : add_bearer(arena, a->credential.token, lines, n, err);
    }
    r = r ? r : add_impersonation(c, arena, lines, n, err);
    *ret_generation = a->generation;
    return r;
}

bool auth_refused(struct auth *a, uint64_t generation) {
    const struct kube_config *c = a->config;
    if (generation != a->generation) {
        return true; /* there is another by now */
    }
    if (c->token_file.n) {
        a->read_at = 0;
        return read_token(a, NULL) == 0 && generation != a->generation;
    }
    if (c->token.n || c->username.n || c->password.n || !c->exec.command.n) {
        return false;
    }
    if (a->has_credential) {
        exec_credential_release(&a->credential);
        a->has_credential = false;
    }
    return true;
}
