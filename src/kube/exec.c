/* exec (kube): see exec.h. */
#include "kube/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "wire/json/json.h"
#include "wire/text/time.h"

enum {
    LIMIT_S = 60,
    LIMIT_TYPING_S = 600,
    TAIL_BYTES = 300, /* of standard error, for the error's text */
    ARENA_MAX = 8 << 20,
};

struct exec_run {
    struct loop *loop;
    const struct kube_exec_config *config;
    void (*done)(void *ctx, int code, struct exec_credential *cred, const struct err *err);
    void *ctx;
    struct loop_child *child;
    bool own_group;
    int out, errors; /* -1: closed, or the terminal's */
    struct loop_fd *watch_out, *watch_errors;
    struct timer *timer;
    struct buf text;
    char tail[TAIL_BYTES];
    size_t n_tail;
};

/* ---- what goes in and comes out ---- */

void exec_info(struct buf *out, const struct kube_exec_config *c, bool interactive) {
    buf_c(out, "{\"kind\":\"ExecCredential\",\"apiVersion\":");
    buf_json(out, c->api_version);
    buf_f(out, ",\"spec\":{\"interactive\":%s", interactive ? "true" : "false");
    if (c->cluster_json.n) {
        buf_c(out, ",\"cluster\":");
        buf_str(out, c->cluster_json);
    }
    buf_c(out, "}}");
}

void exec_credential_release(struct exec_credential *c) {
    arena_release_secret(&c->arena);
}

static int take_status(struct exec_credential *c, yyjson_val *root, struct err *err) {
    struct str expires = json_str_at(root, "status.expirationTimestamp");
    c->token = arena_str(&c->arena, json_str_at(root, "status.token"));
    c->cert_pem = arena_str(&c->arena, json_str_at(root, "status.clientCertificateData"));
    c->key_pem = arena_str(&c->arena, json_str_at(root, "status.clientKeyData"));
    if (expires.n && time_parse(expires, &c->expires_ns, err) != 0) {
        return err_wrap(err, "status.expirationTimestamp");
    }
    if (!yyjson_is_obj(json_get(root, STR("status")))) {
        return err_set(err, ERR_INVALID, "the program's answer has no status");
    }
    if (c->token.n == 0 && c->cert_pem.n == 0 && c->key_pem.n == 0) {
        return err_set(err, ERR_INVALID, "status has neither token nor clientCertificateData");
    }
    if ((c->cert_pem.n == 0) != (c->key_pem.n == 0)) {
        return err_set(err, ERR_INVALID,
                       "status needs clientCertificateData and clientKeyData, or "
                       "neither");
    }
    return 0;
}

int exec_credential_read(struct str text, struct str api_version, struct exec_credential *ret,
                         struct err *err) {
    struct exec_credential c = {0};
    yyjson_doc *doc = NULL;
    arena_init(&c.arena, ARENA_MAX);
    int code = json_parse(&c.arena, str_trim(text), &doc, err);
    if (code == 0) {
        yyjson_val *root = yyjson_doc_get_root(doc);
        struct str kind = json_str_at(root, "kind"), version = json_str_at(root, "apiVersion");
        if (!str_is(kind, "ExecCredential") || !str_eq(version, api_version)) {
            code = err_set(err, ERR_INVALID,
                           "the program answered with %.*s %.*s, asked was "
                           "ExecCredential %.*s",
                           STR_ARG(version), STR_ARG(kind), STR_ARG(api_version));
        }
        code = code ? code : take_status(&c, root, err);
    }
    if (code == 0 && arena_ok(&c.arena) != 0) {
        code = err_set(err, ERR_NOMEM, "no memory");
    }
    if (code != 0) {
        arena_release_secret(&c.arena);
        return code;
    }
    *ret = c;
    return 0;
}

/* ---- running ---- */

static void close_pipe(int *fd, struct loop_fd **watch) {
    loop_fd_free(*watch);
    *watch = NULL;
    if (*fd >= 0) {
        close(*fd);
    }
    *fd = -1;
}

static void run_free(struct exec_run *r) {
    close_pipe(&r->out, &r->watch_out);
    close_pipe(&r->errors, &r->watch_errors);
    loop_clock(r->loop)->timer_free(r->timer);
    loop_child_free(r->child);
    buf_release_secret(&r->text);
    mem_free(r);
}

static void end_program(struct exec_run *r) {
    int pid = r->child ? loop_child_pid(r->child) : 0;
    if (pid > 0) {
        (void)kill(r->own_group ? -pid : pid, SIGKILL);
    }
}

void exec_cancel(struct exec_run *r) {
    if (r) {
        end_program(r);
        run_free(r);
    }
}

/* Tells, once, and frees. */
static void finish(struct exec_run *r, int code, struct exec_credential *cred, struct err *err) {
    struct str said = str_trim(str_from(r->tail, r->n_tail));
    if (code != 0) {
        struct err why = *err;
        err_set(err, code, "user.exec: %.*s: %s%s%.*s", STR_ARG(r->config->command), why.text,
                said.n ? ": " : "", STR_ARG(said));
    }
    void (*done)(void *, int, struct exec_credential *, const struct err *) = r->done;
    void *ctx = r->ctx;
    end_program(r);
    run_free(r);
    done(ctx, code, cred, err);
}

/* Takes what is there. False at the end. */
static bool drain(struct exec_run *r, int fd, bool is_tail) {
    char bytes[4096];
    ssize_t n;
    while (fd >= 0 && (n = read(fd, bytes, sizeof(bytes))) != 0) {
        if (n < 0) {
            return errno == EAGAIN || errno == EINTR;
        }
        if (!is_tail) {
            buf_add(&r->text, bytes, (size_t)n);
            continue;
        }
        size_t take = (size_t)n < TAIL_BYTES ? (size_t)n : TAIL_BYTES;
        size_t keep = r->n_tail + take > TAIL_BYTES ? TAIL_BYTES - take : r->n_tail;
        memmove(r->tail, r->tail + r->n_tail - keep, keep);
        memcpy(r->tail + keep, bytes + n - take, take);
        r->n_tail = keep + take;
    }
    return false;
}

static void on_out(void *ctx, int events) {
    struct exec_run *r = ctx;
    if (!drain(r, r->out, false)) {
        close_pipe(&r->out, &r->watch_out);
    }
    if (buf_ok(&r->text) != 0) {
        struct err err;
        int code = err_set(&err, ERR_TOO_LARGE, "it writes more than %d bytes", EXEC_OUTPUT_MAX);
        finish(r, code, NULL, &err);
    }
}

static void on_errors(void *ctx, int events) {
    struct exec_run *r = ctx;
    if (!drain(r, r->errors, true)) {
        close_pipe(&r->errors, &r->watch_errors);
    }
}

static void on_late(void *ctx) {
    struct exec_run *r = ctx;
    struct err err;
    finish(r, err_set(&err, ERR_TIMEOUT, "it did not end in time"), NULL, &err);
}

static void on_exit_of(void *ctx, int pid, int64_t status, int signal) {
    struct exec_run *r = ctx;
    struct exec_credential cred;
    struct err err = {0};
    (void)drain(r, r->out, false);
    (void)drain(r, r->errors, true);
    int code;
    if (signal || status) {
        code = err_set(&err, ERR_UNAUTHORIZED, signal ? "ended by signal %d" : "exit status %d",
                       signal ? signal : (int)status);
    } else if (buf_ok(&r->text) != 0) {
        code = err_set(&err, ERR_TOO_LARGE, "it writes more than %d bytes", EXEC_OUTPUT_MAX);
    } else {
        code = exec_credential_read(buf_view(&r->text), r->config->api_version, &cred, &err);
    }
    finish(r, code, code == 0 ? &cred : NULL, &err);
}

/* ---- starting ---- */

/* The program's absolute name: beside the kubeconfig when it has a slash, else from PATH. Empty: there is none. */
static struct str find_program(struct arena *a, const struct kube_exec_config *c) {
    struct str path = str_of(getenv("PATH")), dir, found;
    if (str_find(c->command, '/') >= 0) {
        found = c->command.p[0] == '/'
                    ? arena_str(a, c->command)
                    : arena_f(a, "%.*s/%.*s", STR_ARG(c->dir), STR_ARG(c->command));
        return found.p && access(found.p, X_OK) == 0 ? found : (struct str){0};
    }
    while (str_next(&path, ':', &dir)) {
        if (dir.n == 0 || dir.p[0] != '/') {
            continue; /* never from the working directory */
        }
        found = arena_f(a, "%.*s/%.*s", STR_ARG(dir), STR_ARG(c->command));
        if (found.p && access(found.p, X_OK) == 0) {
            return found;
        }
    }
    return (struct str){0};
}

static bool same_variable(const char *a, const char *b) {
    const char *end = strchr(a, '=');
    return end && strncmp(a, b, (size_t)(end - a) + 1) == 0;
}

/* Ours, the configured ones, then those of this process that they do not replace. */
static const char **environment(struct arena *a, const struct kube_exec_config *c, bool typing) {
    struct buf info;
    size_t n = 0, have = 0;
    while (environ[have]) {
        have++;
    }
    const char **v = ARENA_ARRAY(a, const char *, have + c->n_env + 2);
    buf_init(&info, LIMIT_BODY_BYTES);
    exec_info(&info, c, typing);
    if (v && buf_ok(&info) == 0) {
        v[n++] = arena_f(a, "KUBERNETES_EXEC_INFO=%.*s", STR_ARG(buf_view(&info))).p;
    }
    buf_release(&info);
    for (size_t i = 0; v && i < c->n_env; i++) {
        v[n++] = c->env[i].p;
    }
    size_t ours = n;
    for (size_t i = 0; v && i < have; i++) {
        bool replaced = false;
        for (size_t k = 0; k < ours; k++) {
            replaced = replaced || v[k] == NULL || same_variable(v[k], environ[i]);
        }
        if (!replaced) {
            v[n++] = environ[i];
        }
    }
    return arena_ok(a) == 0 && ours == c->n_env + 1 ? v : NULL;
}

static int make_pipes(struct exec_run *r, bool typing, int ends[2], struct err *err) {
    int p[2];
    ends[0] = ends[1] = -1;
    if (pipe2(p, O_CLOEXEC) != 0) {
        return err_sys(err, errno, "pipe");
    }
    r->out = p[0];
    ends[0] = p[1];
    if (!typing) {
        if (pipe2(p, O_CLOEXEC) != 0) {
            return err_sys(err, errno, "pipe");
        }
        r->errors = p[0];
        ends[1] = p[1];
    }
    (void)fcntl(r->out, F_SETFL, O_NONBLOCK);
    r->watch_out = loop_fd(r->loop, r->out, LOOP_READABLE, on_out, r, err);
    if (r->errors >= 0) {
        (void)fcntl(r->errors, F_SETFL, O_NONBLOCK);
        r->watch_errors = loop_fd(r->loop, r->errors, LOOP_READABLE, on_errors, r, err);
    }
    return r->watch_out && (typing || r->watch_errors) ? 0 : ERR_NOMEM;
}

static int spawn(struct exec_run *r, bool typing, int ends[2], struct err *err) {
    const struct kube_exec_config *c = r->config;
    struct arena a;
    arena_init(&a, ARENA_MAX);
    struct str file = find_program(&a, c);
    const char **argv = ARENA_ARRAY(&a, const char *, c->n_args + 2);
    const char **envp = environment(&a, c, typing);
    int code = 0;
    if (!file.n) {
        code =
            err_set(err, ERR_NOT_FOUND, "user.exec: there is no program %.*s%s%.*s",
                    STR_ARG(c->command), c->install_hint.n ? ": " : "", STR_ARG(c->install_hint));
    } else if (argv == NULL || envp == NULL) {
        code = err_set(err, ERR_NOMEM, "no memory");
    }
    for (size_t i = 0; code == 0 && i < c->n_args; i++) {
        argv[i + 1] = c->args[i].p;
    }
    if (code == 0) {
        argv[0] = file.p;
        struct child_options o = {.file = file.p,
                                  .argv = argv,
                                  .envp = envp,
                                  .fds = {typing ? 0 : -1, ends[0], typing ? 2 : ends[1]},
                                  .n_fds = 3,
                                  .detached = !typing};
        r->own_group = !typing;
        code = loop_spawn(r->loop, &o, on_exit_of, r, &r->child, err);
        code = code ? err_wrap(err, "user.exec") : 0;
    }
    arena_release(&a);
    return code;
}

int exec_start(struct loop *l, const struct kube_exec_config *c,
               void (*done)(void *ctx, int code, struct exec_credential *cred,
                            const struct err *err),
               void *ctx, struct exec_run **ret, struct err *err) {
    bool typing = c->interactive != EXEC_NEVER && isatty(0);
    if (c->interactive == EXEC_ALWAYS && !typing) {
        return err_set(err, ERR_UNSUPPORTED,
                       "user.exec: %.*s must be used at a terminal "
                       "(interactiveMode Always)",
                       STR_ARG(c->command));
    }
    struct exec_run *r = mem_zalloc(sizeof(*r));
    struct clock *clock = loop_clock(l);
    if (r == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    *r = (struct exec_run){
        .loop = l, .config = c, .done = done, .ctx = ctx, .out = -1, .errors = -1};
    buf_init(&r->text, EXEC_OUTPUT_MAX);
    r->timer = clock->timer_new(clock, on_late, r);
    int ends[2] = {-1, -1};
    int code = r->timer ? make_pipes(r, typing, ends, err) : err_set(err, ERR_NOMEM, "no memory");
    if (r->timer) {
        code = code ? code : spawn(r, typing, ends, err);
        for (int i = 0; i < 2; i++) {
            if (ends[i] >= 0) {
                close(ends[i]);
            }
        }
    }
    if (code != 0) {
        run_free(r);
        return code;
    }
    clock->timer_start(r->timer, (typing ? LIMIT_TYPING_S : LIMIT_S) * NS_PER_SEC);
    *ret = r;
    return 0;
}
