/* config (kube): reading kubeconfig files. See config.h. */
#include "kube/config.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "kube/file.h"
#include "wire/base64.h"
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
    if (fs->n == FILES_MAX) {
        return err_set(err, ERR_TOO_LARGE, "KUBECONFIG names too many files");
    }
    yyjson_mut_doc *doc = NULL;
    r = yaml_parse_one(&c->arena, text, &doc, err);
    if (r != 0) {
        err_wrap(err, "%s", name.p);
        return r;
    }
    fs->v[fs->n++] = (struct loaded){dir_of(&c->arena, name), yyjson_mut_doc_get_root(doc)};
    return 0;
}

static struct str home_config(struct arena *a) {
    const char *home = getenv("HOME");
    return home && *home ? arena_f(a, "%s/.kube/config", home) : (struct str){0};
}

static int load_files(struct kube_config *c, const char *path, struct files *fs, struct err *err) {
    struct str list = str_of(path ? path : getenv("KUBECONFIG")), one;
    bool several = !path && list.n > 0;
    if (!path && list.n == 0) {
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
        yyjson_mut_val *all = json_mget(fs->v[i].root, str_of(list)), *e;
        size_t at, n;
        yyjson_mut_arr_foreach(all, at, n, e) {
            if (str_eq(json_mstr(json_mget(e, STR("name"))), name)) {
                *ret_dir = fs->v[i].dir;
                return json_mget(e, str_of(member));
            }
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
    if (s.n && !bytes.p) {
        return err_set(err, ERR_SYNTAX, "%s is not base64", key);
    }
    *ret = bytes;
    return 0;
}

static bool is_true(yyjson_mut_val *v, const char *key) {
    return yyjson_mut_is_true(json_mget(v, str_of(key)));
}

static int take_cluster(struct kube_config *c, yyjson_mut_val *v, struct str dir, struct err *err) {
    c->server = arena_str(&c->arena, text_of(v, "server"));
    while (str_ends(c->server, STR("/"))) {
        c->server.n--;
    }
    if (!str_starts(c->server, STR("https://")) && !str_starts(c->server, STR("http://"))) {
        return err_set(err, ERR_INVALID, "cluster.server must be an https URL");
    }
    if (is_true(v, "insecure-skip-tls-verify")) {
        return err_set(err, ERR_INVALID, "cluster.insecure-skip-tls-verify is not supported: "
                                         "servers are always verified");
    }
    if (text_of(v, "tls-server-name").n) {
        return err_set(err, ERR_UNSUPPORTED, "cluster.tls-server-name is not supported yet");
    }
    c->proxy = arena_str(&c->arena, text_of(v, "proxy-url"));
    c->ca_file = file_of(c, v, "certificate-authority", dir);
    return data_of(c, v, "certificate-authority-data", &c->ca_pem, err);
}

static int take_user(struct kube_config *c, yyjson_mut_val *v, struct str dir, struct err *err) {
    static const char *const refused[] = {"exec", "auth-provider", "username", "password"};
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        if (json_mget(v, str_of(refused[i]))) {
            return err_set(err, ERR_UNSUPPORTED, "user.%s is not supported yet: use a token or a "
                                                 "client certificate", refused[i]);
        }
    }
    c->cert_file = file_of(c, v, "client-certificate", dir);
    c->key_file = file_of(c, v, "client-key", dir);
    c->token = arena_str(&c->arena, text_of(v, "token"));
    c->token_file = file_of(c, v, "tokenFile", dir);
    int r = data_of(c, v, "client-certificate-data", &c->cert_pem, err);
    return r ? r : data_of(c, v, "client-key-data", &c->key_pem, err);
}

static int take_context(struct kube_config *c, const struct files *fs, const char *context,
                        struct err *err) {
    struct str name = context ? str_of(context) : current_context(fs), dir, cluster_dir, user_dir;
    if (name.n == 0) {
        return err_set(err, ERR_NOT_FOUND, "the kubeconfig has no current-context");
    }
    yyjson_mut_val *ctx = entry(fs, "contexts", "context", name, &dir);
    if (!ctx) {
        return err_set(err, ERR_NOT_FOUND, "context \"%.*s\" does not exist", STR_ARG(name));
    }
    struct str cluster = text_of(ctx, "cluster"), user = text_of(ctx, "user");
    yyjson_mut_val *v = entry(fs, "clusters", "cluster", cluster, &cluster_dir);
    if (!v) {
        return err_set(err, ERR_NOT_FOUND, "cluster \"%.*s\" does not exist", STR_ARG(cluster));
    }
    int r = take_cluster(c, v, cluster_dir, err);
    v = r == 0 && user.n ? entry(fs, "users", "user", user, &user_dir) : NULL;
    if (r == 0 && user.n && !v) {
        return err_set(err, ERR_NOT_FOUND, "user \"%.*s\" does not exist", STR_ARG(user));
    }
    r = r || !v ? r : take_user(c, v, user_dir, err);
    c->ns = arena_str(&c->arena, text_of(ctx, "namespace"));
    return r;
}

static int take_account(struct kube_config *c, struct err *err) {
    const char *host = getenv("KUBERNETES_SERVICE_HOST"), *port = getenv("KUBERNETES_SERVICE_PORT");
    if (!host || access(ACCOUNT_DIR "/token", R_OK) != 0) {
        return err_set(err, ERR_NOT_FOUND, "there is no kubeconfig: set KUBECONFIG or make "
                                           "~/.kube/config");
    }
    bool v6 = strchr(host, ':') != NULL;
    c->server = arena_f(&c->arena, v6 ? "https://[%s]:%s" : "https://%s:%s", host,
                        port ? port : "443");
    c->token_file = STR(ACCOUNT_DIR "/token");
    c->ca_file = STR(ACCOUNT_DIR "/ca.crt");
    struct str ns;
    if (kube_file_read(&c->arena, ACCOUNT_DIR "/namespace", 4096, &ns, NULL) == 0) {
        c->ns = str_trim(ns);
    }
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
    bool secret = c.token.n || c.token_file.n || c.cert_file.n || c.cert_pem.n;
    if (r == 0 && secret && !str_starts(c.server, STR("https://"))) {
        r = err_set(err, ERR_INVALID, "credentials are not sent over plain http (cluster.server)");
    }
    if (r == 0 && arena_ok(&c.arena) != 0) {
        r = err_set(err, ERR_NOMEM, "no memory");
    }
    if (r != 0) {
        arena_release(&c.arena);
        return r;
    }
    c.ns = c.ns.n ? c.ns : STR("default");
    *ret = c;
    return 0;
}

void kube_config_release(struct kube_config *c) {
    arena_release(&c->arena);
}
