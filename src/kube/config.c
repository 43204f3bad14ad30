/* config (kube): reading kubeconfig files. See config.h. */
#include "kube/config.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "kube/file.h"
#include "wire/text/base64.h"
#include "wire/yaml.h"

#define ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

enum { ARENA_MAX = 16 << 20, FILES_MAX = 32 };

struct loaded {
    struct str dir; /* of the file */
    yyjson_mut_val *root;
};
struct files {
    struct loaded v[FILES_MAX];
    size_t n;
};

/* ---- files ---- */

static struct str dir_of(struct arena *a, struct str path) {
    ptrdiff_t slash = str_find_last(path, '/');
    return slash < 0 ? STR(".") : arena_str(a, str_head(path, slash ? (size_t)slash : 1));
}

static int add_text(struct kube_config *c, struct files *fs, struct str text, struct str dir,
                    struct err *err) {
    yyjson_mut_doc *doc = NULL;
    if (fs->n == FILES_MAX) {
        return err_set(err, ERR_TOO_LARGE, "KUBECONFIG names too many files");
    }
    int r = yaml_parse_one(&c->arena, text, &doc, err);
    if (r == 0) {
        fs->v[fs->n++] = (struct loaded){dir, yyjson_mut_doc_get_root(doc)};
    }
    return r;
}

static int add_file(struct kube_config *c, struct files *fs, struct str path, bool may_miss,
                    struct err *err) {
    struct str text;
    struct str name = arena_str(&c->arena, path);
    int r = name.p ? kube_file_read(&c->arena, name.p, LIMIT_BODY_BYTES, &text, err)
                   : err_set(err, ERR_NOMEM, "no memory");
    if (r == ERR_NOT_FOUND && may_miss) {
        return 0;
    }
    if (r != 0) {
        return r;
    }
    r = add_text(c, fs, text, dir_of(&c->arena, name), err);
    return r ? err_wrap(err, "%s", name.p) : 0;
}

static struct str home_config(struct arena *a) {
    const char *home = getenv("HOME");
    return home && *home ? arena_f(a, "%s/.kube/config", home) : (struct str){0};
}

static int load_files(struct kube_config *c, const char *path, struct files *fs, struct err *err) {
    struct str list = str_of(path ? path : getenv("KUBECONFIG")), one;
    bool several = path == NULL && list.n > 0;
    if (path == NULL && list.n == 0) {
        list = home_config(&c->arena);
    }
    if (path) {
        return add_file(c, fs, list, false, err);
    }
    while (str_next(&list, ':', &one)) {
        int r = one.n ? add_file(c, fs, one, true, err) : 0;
        if (r != 0) {
            return r;
        }
    }
    if (several && fs->n == 0) {
        return err_set(err, ERR_NOT_FOUND, "no file named in KUBECONFIG exists");
    }
    return 0;
}

bool kube_config_exists(void) {
    struct arena a;
    arena_init(&a, 64 << 10);
    const char *list = getenv("KUBECONFIG");
    struct str home = home_config(&a);
    bool there = (list && *list) || (home.p && access(home.p, R_OK) == 0) ||
                 (getenv("KUBERNETES_SERVICE_HOST") && access(ACCOUNT_DIR "/token", R_OK) == 0);
    arena_release(&a);
    return there;
}

/* ---- looking up ---- */

/* The entry of list (clusters, contexts, users) with that name, in the first file that has it. */
static yyjson_mut_val *entry(const struct files *fs, const char *list, const char *member,
                             struct str name, struct str *ret_dir) {
    for (size_t i = 0; i < fs->n; i++) {
        yyjson_mut_val *e = json_mfind(json_mget(fs->v[i].root, str_of(list)), "name", name);
        if (e != NULL) {
            *ret_dir = fs->v[i].dir;
            return json_mget(e, str_of(member));
        }
    }
    return NULL;
}

static struct str current_context(const struct files *fs) {
    for (size_t i = 0; i < fs->n; i++) {
        struct str s = json_mstr(json_mget(fs->v[i].root, STR("current-context")));
        if (s.n) {
            return s;
        }
    }
    return (struct str){0};
}

static struct str text_of(yyjson_mut_val *v, const char *key) {
    return json_mstr(json_mget(v, str_of(key)));
}

/* A file name, made absolute. */
static struct str file_of(struct kube_config *c, yyjson_mut_val *v, const char *key,
                          struct str dir) {
    struct str s = text_of(v, key);
    if (s.n == 0 || s.p[0] == '/') {
        return arena_str(&c->arena, s);
    }
    return arena_f(&c->arena, "%.*s/%.*s", STR_ARG(dir), STR_ARG(s));
}

static int data_of(struct kube_config *c, yyjson_mut_val *v, const char *key, struct str *ret,
                   struct err *err) {
    struct str s = text_of(v, key);
    struct str bytes = s.n ? base64_decode(&c->arena, s) : (struct str){0};
    if (s.n && bytes.p == NULL) {
        return err_set(err, ERR_SYNTAX, "%s is not base64", key);
    }
    *ret = bytes;
    return 0;
}

static bool is_true(yyjson_mut_val *v, const char *key) {
    return yyjson_mut_is_true(json_mget(v, str_of(key)));
}

static bool is_tls(const struct kube_config *c) {
    return str_starts(c->server, STR("https://"));
}

static int take_proxy(struct kube_config *c, struct str url, struct err *err) {
    static const char *const known[] = {"http://", "https://", "socks5://", "socks5h://"};
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        if (str_starts(url, str_of(known[i]))) {
            c->proxy = arena_str(&c->arena, url);
            return 0;
        }
    }
    return err_set(err, ERR_INVALID, "cluster.proxy-url must be an http, https or socks5 URL");
}

static int take_cluster(struct kube_config *c, yyjson_mut_val *v, struct str dir, struct err *err) {
    c->server = arena_str(&c->arena, text_of(v, "server"));
    while (str_ends(c->server, STR("/"))) {
        c->server.n--;
    }
    if (!is_tls(c) && !str_starts(c->server, STR("http://"))) {
        return err_set(err, ERR_INVALID, "cluster.server must be an https URL");
    }
    for (size_t i = 0; i < c->server.n; i++) {
        if ((unsigned char)c->server.p[i] <= ' ' || strchr("?#@", c->server.p[i])) {
            return err_set(err, ERR_INVALID, "cluster.server must be a URL of a host and a path");
        }
    }
    if (is_true(v, "insecure-skip-tls-verify")) {
        return err_set(err, ERR_INVALID,
                       "cluster.insecure-skip-tls-verify is not supported: "
                       "servers are always verified");
    }
    c->tls_name = arena_str(&c->arena, text_of(v, "tls-server-name"));
    for (size_t i = 0; i < c->tls_name.n; i++) {
        char x = c->tls_name.p[i];
        bool letter = (x | 32) >= 'a' && (x | 32) <= 'z';
        if (!letter && !(x >= '0' && x <= ':') && x != '.' && x != '-') {
            return err_set(err, ERR_INVALID, "cluster.tls-server-name must be a host's name");
        }
    }
    struct str proxy = text_of(v, "proxy-url");
    int r = proxy.n ? take_proxy(c, proxy, err) : 0;
    c->ca_file = file_of(c, v, "certificate-authority", dir);
    return r ? r : data_of(c, v, "certificate-authority-data", &c->ca_pem, err);
}

/* A list of texts; what is none counts as empty. */
static struct str *texts_of(struct kube_config *c, yyjson_mut_val *list, size_t *ret_n) {
    size_t n = yyjson_mut_arr_size(list), i, max;
    struct str *all = n ? ARENA_ARRAY(&c->arena, struct str, n) : NULL;
    yyjson_mut_val *v;
    if (all) {
        yyjson_mut_arr_foreach(list, i, max, v) {
            all[i] = arena_str(&c->arena, json_mstr(v));
        }
    }
    *ret_n = all ? n : 0;
    return all;
}

static void take_impersonation(struct kube_config *c, yyjson_mut_val *v) {
    yyjson_mut_val *extra = json_mget(v, STR("as-user-extra")), *key, *list, *value;
    size_t n = 0, i, max, k, kmax;
    c->as_user = arena_str(&c->arena, text_of(v, "as"));
    c->as_uid = arena_str(&c->arena, text_of(v, "as-uid"));
    c->as_groups = texts_of(c, json_mget(v, STR("as-groups")), &c->n_as_groups);
    yyjson_mut_obj_foreach(extra, i, max, key, list) {
        n += yyjson_mut_arr_size(list);
    }
    c->as_extra = n ? ARENA_ARRAY(&c->arena, struct kube_extra, n) : NULL;
    if (c->as_extra == NULL) {
        return;
    }
    yyjson_mut_obj_foreach(extra, i, max, key, list) {
        yyjson_mut_arr_foreach(list, k, kmax, value) {
            c->as_extra[c->n_as_extra++] = (struct kube_extra){
                arena_str(&c->arena, json_mstr(key)), arena_str(&c->arena, json_mstr(value))};
        }
    }
}

static int take_interactive(struct kube_exec_config *e, struct str mode, struct err *err) {
    static const char *const names[] = {
        [EXEC_NEVER] = "Never", [EXEC_IF_AVAILABLE] = "IfAvailable", [EXEC_ALWAYS] = "Always"};
    e->interactive = EXEC_IF_AVAILABLE;
    if (mode.n == 0) {
        return str_ends(e->api_version, STR("/v1beta1"))
                   ? 0
                   : err_set(err, ERR_INVALID, "user.exec.interactiveMode is required");
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (str_is(mode, names[i])) {
            e->interactive = (enum exec_interactive)i;
            return 0;
        }
    }
    return err_set(err, ERR_INVALID,
                   "user.exec.interactiveMode must be Never, IfAvailable or "
                   "Always");
}

static int take_exec(struct kube_config *c, yyjson_mut_val *v, struct str dir, struct err *err) {
    struct kube_exec_config *e = &c->exec;
    yyjson_mut_val *env = json_mget(v, STR("env")), *one;
    size_t i, n;
    e->command = arena_str(&c->arena, text_of(v, "command"));
    e->api_version = arena_str(&c->arena, text_of(v, "apiVersion"));
    e->install_hint = arena_str(&c->arena, text_of(v, "installHint"));
    e->dir = dir;
    e->args = texts_of(c, json_mget(v, STR("args")), &e->n_args);
    e->env = ARENA_ARRAY(&c->arena, struct str, yyjson_mut_arr_size(env) + 1);
    if (e->command.n == 0) {
        return err_set(err, ERR_INVALID, "user.exec.command is required");
    }
    if (!str_is(e->api_version, "client.authentication.k8s.io/v1") &&
        !str_is(e->api_version, "client.authentication.k8s.io/v1beta1")) {
        return err_set(err, ERR_UNSUPPORTED,
                       "user.exec.apiVersion must be "
                       "client.authentication.k8s.io/v1 or v1beta1");
    }
    yyjson_mut_arr_foreach(env, i, n, one) {
        struct str name = text_of(one, "name");
        if (name.n == 0 || str_find(name, '=') >= 0 || e->env == NULL) {
            return err_set(err, ERR_INVALID, "user.exec.env[%zu].name is required", i);
        }
        e->env[e->n_env++] =
            arena_f(&c->arena, "%.*s=%.*s", STR_ARG(name), STR_ARG(text_of(one, "value")));
    }
    return take_interactive(e, text_of(v, "interactiveMode"), err);
}

static int take_user(struct kube_config *c, yyjson_mut_val *v, struct str dir, struct err *err) {
    if (json_mget(v, STR("auth-provider"))) {
        return err_set(err, ERR_UNSUPPORTED,
                       "user.auth-provider is not supported: use exec, a "
                       "token or a client certificate");
    }
    c->cert_file = file_of(c, v, "client-certificate", dir);
    c->key_file = file_of(c, v, "client-key", dir);
    c->token = arena_str(&c->arena, text_of(v, "token"));
    c->token_file = file_of(c, v, "tokenFile", dir);
    c->username = arena_str(&c->arena, text_of(v, "username"));
    c->password = arena_str(&c->arena, text_of(v, "password"));
    take_impersonation(c, v);
    yyjson_mut_val *exec = json_mget(v, STR("exec"));
    int r = exec && !yyjson_mut_is_null(exec) ? take_exec(c, exec, dir, err) : 0;
    r = r ? r : data_of(c, v, "client-certificate-data", &c->cert_pem, err);
    return r ? r : data_of(c, v, "client-key-data", &c->key_pem, err);
}

/* What an exec program is told of the cluster: as the kubeconfig has it, the authority's certificate as data. */
static int describe_cluster(struct kube_config *c, yyjson_mut_val *v, struct err *err) {
    yyjson_mut_val *more = json_mget(v, STR("extensions")), *one;
    struct str ca = c->ca_pem;
    struct buf b;
    size_t i, n;
    int r = ca.n == 0 && c->ca_file.n
                ? kube_file_read(&c->arena, c->ca_file.p, LIMIT_BODY_BYTES, &ca, err)
                : 0;
    if (r != 0) {
        return err_wrap(err, "cluster.certificate-authority");
    }
    buf_init(&b, LIMIT_BODY_BYTES);
    buf_c(&b, "{\"server\":");
    buf_json(&b, c->server);
    const struct {
        const char *key;
        struct str value;
    } texts[] = {{"tls-server-name", c->tls_name}, {"proxy-url", c->proxy}};
    for (i = 0; i < 2; i++) {
        if (texts[i].value.n) {
            buf_f(&b, ",\"%s\":", texts[i].key);
            buf_json(&b, texts[i].value);
        }
    }
    if (ca.n) {
        buf_c(&b, ",\"certificate-authority-data\":\"");
        base64_encode(&b, ca);
        buf_ch(&b, '"');
    }
    yyjson_mut_arr_foreach(more, i, n, one) {
        yyjson_mut_val *config = json_mget(one, STR("extension"));
        if (str_is(text_of(one, "name"), "client.authentication.k8s.io/exec") && config) {
            buf_c(&b, ",\"config\":");
            json_write_mut(&b, config);
        }
    }
    buf_ch(&b, '}');
    c->exec.cluster_json = arena_str(&c->arena, buf_view(&b));
    r = buf_ok(&b);
    buf_release(&b);
    return r ? err_set(err, r, "the cluster's description is too large") : 0;
}

static int take_context(struct kube_config *c, const struct files *fs, const char *context,
                        struct err *err) {
    struct str name = context ? str_of(context) : current_context(fs), dir, cluster_dir, user_dir;
    if (name.n == 0) {
        return err_set(err, ERR_NOT_FOUND, "the kubeconfig has no current-context");
    }
    yyjson_mut_val *ctx = entry(fs, "contexts", "context", name, &dir);
    if (ctx == NULL) {
        return err_set(err, ERR_NOT_FOUND, "context \"%.*s\" does not exist", STR_ARG(name));
    }
    struct str cluster = text_of(ctx, "cluster"), user = text_of(ctx, "user");
    yyjson_mut_val *v = entry(fs, "clusters", "cluster", cluster, &cluster_dir);
    if (v == NULL) {
        return err_set(err, ERR_NOT_FOUND, "cluster \"%.*s\" does not exist", STR_ARG(cluster));
    }
    yyjson_mut_val *in_cluster = v;
    int r = take_cluster(c, v, cluster_dir, err);
    v = r == 0 && user.n ? entry(fs, "users", "user", user, &user_dir) : NULL;
    if (r == 0 && user.n && v == NULL) {
        return err_set(err, ERR_NOT_FOUND, "user \"%.*s\" does not exist", STR_ARG(user));
    }
    r = r || v == NULL ? r : take_user(c, v, user_dir, err);
    if (r == 0 && v && is_true(json_mget(v, STR("exec")), "provideClusterInfo")) {
        r = describe_cluster(c, in_cluster, err);
    }
    c->ns = arena_str(&c->arena, text_of(ctx, "namespace"));
    return r;
}

static int take_account(struct kube_config *c, struct err *err) {
    const char *host = getenv("KUBERNETES_SERVICE_HOST"), *port = getenv("KUBERNETES_SERVICE_PORT");
    if (host == NULL || access(ACCOUNT_DIR "/token", R_OK) != 0) {
        return err_set(err, ERR_NOT_FOUND,
                       "there is no kubeconfig: set KUBECONFIG or make "
                       "~/.kube/config");
    }
    bool v6 = strchr(host, ':') != NULL;
    c->server =
        arena_f(&c->arena, v6 ? "https://[%s]:%s" : "https://%s:%s", host, port ? port : "443");
    c->token_file = STR(ACCOUNT_DIR "/token");
    c->ca_file = STR(ACCOUNT_DIR "/ca.crt");
    struct str ns;
    if (kube_file_read(&c->arena, ACCOUNT_DIR "/namespace", 4096, &ns, NULL) == 0) {
        c->ns = str_trim(ns);
    }
    return 0;
}

/* What holds of every configuration; takes c over. */
static int finish(struct kube_config *ret, struct kube_config *c, int r, struct err *err) {
    bool secret = c->token.n || c->token_file.n || c->cert_file.n || c->cert_pem.n ||
                  c->username.n || c->password.n || c->exec.command.n;
    if (r == 0 && secret && !is_tls(c)) {
        r = err_set(err, ERR_INVALID, "credentials are not sent over plain http (cluster.server)");
    }
    if (r == 0 && (c->n_as_groups || c->n_as_extra || c->as_uid.n) && c->as_user.n == 0) {
        r = err_set(err, ERR_INVALID,
                    "user.as is required with as-groups, as-uid and "
                    "as-user-extra");
    }
    if (r == 0 && arena_ok(&c->arena) != 0) {
        r = err_set(err, ERR_NOMEM, "no memory");
    }
    if (r != 0) {
        arena_release_secret(&c->arena);
        return r;
    }
    c->ns = c->ns.n ? c->ns : STR("default");
    *ret = *c;
    return 0;
}

int kube_config_load(struct kube_config *ret, const char *path, const char *context,
                     struct err *err) {
    struct kube_config c = {0};
    struct files fs = {.n = 0};
    arena_init(&c.arena, ARENA_MAX);
    int r = load_files(&c, path, &fs, err);
    if (r == 0) {
        r = fs.n ? take_context(&c, &fs, context, err) : take_account(&c, err);
    }
    return finish(ret, &c, r, err);
}

int kube_config_read(struct kube_config *ret, struct str text, struct str dir, const char *context,
                     struct err *err) {
    struct kube_config c = {0};
    struct files fs = {.n = 0};
    arena_init(&c.arena, ARENA_MAX);
    int r = add_text(&c, &fs, text, arena_str(&c.arena, dir), err);
    r = r ? r : take_context(&c, &fs, context, err);
    return finish(ret, &c, r, err);
}

void kube_config_release(struct kube_config *c) {
    arena_release_secret(&c->arena);
}
