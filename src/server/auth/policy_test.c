/* Tests of policy: the guard as the server calls it, over a fake HTTP request: order of authentication, impersonation,
 * tokens requested and reviewed, what may be written, the pages. */
#include <stdarg.h>
#include <unistd.h>

#include "net/tls.h"
#include "server/auth/authn.h"
#include "server/auth/policy.h"
#include "server/auth/policy_fixture.h"
#include "site/session.h"
#include "wire/json/json.h"

/* ---- a fake request, in place of net's ---- */

struct http_request {
    struct {
        const char *name, *value;
    } headers[8];
    size_t n;
    const char *cn, *org;
    int status;
    char body[1024];
};

bool http_header_nth(const struct http_request *r, const char *name, size_t i, struct str *ret) {
    for (size_t k = 0; k < r->n; k++) {
        if (str_eq_nocase(str_of(r->headers[k].name), str_of(name)) && i-- == 0) {
            *ret = str_of(r->headers[k].value);
            return true;
        }
    }
    return false;
}

bool http_header_at(const struct http_request *r, size_t i, struct str *ret_name, struct str *ret) {
    if (i >= r->n) {
        return false;
    }
    *ret_name = str_of(r->headers[i].name);
    *ret = str_of(r->headers[i].value);
    return true;
}

struct str http_header(const struct http_request *r, const char *name) {
    struct str v = {0};
    return http_header_nth(r, name, 0, &v) ? v : (struct str){0};
}

bool http_client_cert(const struct http_request *r, struct str *ret_cn, struct str *ret_org) {
    *ret_cn = str_of(r->cn);
    *ret_org = str_of(r->org);
    return r->cn != NULL;
}

void http_respond(struct http_request *r, int status, const char *content_type, struct str body) {
    r->status = status;
    str_copy(body, r->body, sizeof(r->body));
}

/* Nobody signs in to a page here: site has the tests of that. */
int sessions_of(struct sessions *s, const struct http_request *r, const struct session **ret,
                struct err *err) {
    return ERR_NOT_FOUND;
}

void sessions_close(struct sessions *s, const struct session *one) {
}

int session_same_origin(const struct sessions *s, const struct http_request *r, struct err *err) {
    bool ours = str_is(http_header(r, "Sec-Fetch-Site"), "same-origin") ||
                str_is(http_header(r, "Origin"), "https://h:1");
    return ours ? 0 : err_set(err, ERR_FORBIDDEN, "a page of another site may not ask this");
}

/* ---- the world ---- */

struct world {
    struct mirror *m;
    struct policy *p;
    struct guard *g;
    struct arena a;
    char dir[64];
};

static int put_manifest(void *ctx, struct str json, struct err *err) {
    char *text = mem_cstr(json);
    fixture_put(ctx, text);
    mem_free(text);
    return 0;
}

static struct clock still_clock = {.wall_ns = fixture_wall, .mono_ns = fixture_wall};

static int setup(void **state) {
    static struct world w;
    struct err err = {0};
    char key[128];
    struct tls_name n = {.cn = STR("sa"), .server = true};
    w = (struct world){.dir = "/tmp/berth-policy-XXXXXX"};
    assert_non_null(mkdtemp(w.dir));
    assert_ok(tls_make_ca(w.dir, "test", &err), &err);
    assert_ok(tls_make_cert(w.dir, "sa", &n, 10, &err), &err);
    snprintf(key, sizeof(key), "%s/sa.key", w.dir);
    w.m = fixture_mirror();
    struct policy_options o = {
        .mirror = w.m, .clock = &still_clock, .issuer = STR("https://h:1"), .key_file = key};
    w.p = policy_new(&o, &err);
    assert_non_null(w.p);
    w.g = policy_guard(w.p);
    assert_ok(policy_bootstrap(put_manifest, w.m, &err), &err);
    arena_init(&w.a, 64 << 20);
    *state = &w;
    return 0;
}

static int teardown(void **state) {
    static const char *const files[] = {"ca.crt", "ca.key", "sa.crt", "sa.key"};
    struct world *w = *state;
    policy_free(w->p);
    mirror_free(w->m);
    arena_release(&w->a);
    for (size_t i = 0; i < 4; i++) {
        char file[128];
        snprintf(file, sizeof(file), "%s/%s", w->dir, files[i]);
        unlink(file);
    }
    rmdir(w->dir);
    return 0;
}

static int enter(struct world *w, struct http_request *r, struct user *u, struct err *err) {
    struct api_request q = {0};
    return w->g->authenticate(w->g, r, &q, &w->a, u, err);
}

static void test_order(void **state) {
    struct world *w = *state;
    struct user u;
    struct http_request none = {0}, cert = {.cn = "alice", .org = "devs"};
    struct http_request bad = {.headers = {{"Authorization", "Bearer nonsense"}}, .n = 1};
    struct http_request both = {
        .headers = {{"Authorization", "Bearer nonsense"}}, .n = 1, .cn = "alice"};
    assert_int_equal(enter(w, &none, &u, NULL), 0);
    assert_str_eq(u.name, STR("system:anonymous"));
    assert_int_equal(u.groups.n, 1);
    assert_int_equal(enter(w, &cert, &u, NULL), 0);
    assert_str_eq(u.name, STR("alice"));
    assert_int_equal(enter(w, &bad, &u, NULL),
                     ERR_UNAUTHORIZED);             /* present but invalid is not anonymous */
    assert_int_equal(enter(w, &both, &u, NULL), 0); /* the first that succeeds */
}

/* A browser shows a certificate to any page's requests. */
static void test_certificate_of_a_browser(void **state) {
    static const struct {
        const char *name, *value;
        int code;
    } cases[] = {{"Sec-Fetch-Site", "same-origin", 0},
                 {"Sec-Fetch-Site", "cross-site", ERR_FORBIDDEN},
                 {"Origin", "https://h:1", 0},
                 {"Origin", "https://elsewhere", ERR_FORBIDDEN}};
    struct world *w = *state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct user u = {0};
        struct http_request r = {
            .headers = {{cases[i].name, cases[i].value}}, .n = 1, .cn = "alice"};
        assert_int_equal(enter(w, &r, &u, NULL), cases[i].code);
        assert_int_equal(u.name.n, cases[i].code ? 0 : 5);
    }
}

static void test_impersonation(void **state) {
    struct world *w = *state;
    struct user u;
    struct err err = {0};
    struct http_request as_bob = {.headers = {{"Impersonate-User", "bob"}}, .n = 1, .cn = "alice"};
    assert_int_equal(enter(w, &as_bob, &u, &err), ERR_FORBIDDEN);
    assert_string_equal(err.text, "users \"bob\" is forbidden: User \"alice\" cannot impersonate "
                                  "resource \"users\" in API group \"\" "
                                  "at the cluster scope");
    as_bob.org = "system:masters";
    assert_ok(enter(w, &as_bob, &u, &err), &err);
    assert_str_eq(u.name, STR("bob"));
    assert_str_eq(u.impersonated_by, STR("alice"));
    assert_int_equal(u.groups.n, 1); /* system:authenticated; alice's groups do not come along */
    struct http_request groups = {.headers = {{"Impersonate-User", "bob"},
                                              {"Impersonate-Group", "g1"},
                                              {"impersonate-group", "g2"}},
                                  .n = 3,
                                  .cn = "alice",
                                  .org = "system:masters"};
    assert_ok(enter(w, &groups, &u, &err), &err);
    assert_int_equal(u.groups.n, 3);
    struct http_request account = {.headers = {{"Impersonate-User", "system:serviceaccount:ns:sa"}},
                                   .n = 1,
                                   .cn = "alice",
                                   .org = "system:masters"};
    assert_ok(enter(w, &account, &u, &err), &err);
    assert_str_eq(u.groups.v[1], STR("system:serviceaccounts:ns"));
    struct http_request lone = {
        .headers = {{"Impersonate-Group", "g1"}}, .n = 1, .cn = "alice", .org = "system:masters"};
    assert_int_equal(enter(w, &lone, &u, &err), ERR_BAD_REQUEST);
    /* who may impersonate users only may not bring a group */
    fixture_put(w->m, "{\"apiVersion\":\"rbac.authorization.k8s.io/"
                      "v1\",\"kind\":\"ClusterRole\",\"metadata\":{\"name\":\"imp\"},"
                      "\"rules\":[{\"apiGroups\":[\"\"],\"resources\":[\"users\"],\"verbs\":["
                      "\"impersonate\"]}]}");
    fixture_put(w->m, "{\"apiVersion\":\"rbac.authorization.k8s.io/"
                      "v1\",\"kind\":\"ClusterRoleBinding\",\"metadata\":{\"name\":\"imp\"},"
                      "\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":"
                      "\"ClusterRole\",\"name\":\"imp\"},"
                      "\"subjects\":[{\"kind\":\"User\",\"name\":\"alice\"}]}");
    as_bob.org = groups.org = NULL;
    assert_ok(enter(w, &as_bob, &u, &err), &err);
    assert_int_equal(enter(w, &groups, &u, &err), ERR_FORBIDDEN);
}

/* Each value of each extra key is a right of its own. */
static void test_impersonated_extra(void **state) {
    struct world *w = *state;
    struct user u;
    struct err err = {0};
    struct http_request r = {.headers = {{"Impersonate-User", "bob"},
                                         {"Impersonate-Extra-Acme.com%2fProject", "p1"},
                                         {"impersonate-extra-acme.com%2fproject", "p2"},
                                         {"Impersonate-Extra-Scopes", "view"}},
                             .n = 4,
                             .cn = "alice",
                             .org = "system:masters"};
    assert_ok(enter(w, &r, &u, &err), &err);
    assert_int_equal(u.n_extra, 2);
    assert_str_eq(u.extra[0].key, STR("acme.com/project"));
    assert_int_equal(u.extra[0].values.n, 2);
    assert_str_eq(u.extra[0].values.v[1], STR("p2"));
    assert_str_eq(u.extra[1].key, STR("scopes"));
    struct http_request lone = {.headers = {{"Impersonate-Extra-Scopes", "view"}},
                                .n = 1,
                                .cn = "alice",
                                .org = "system:masters"};
    assert_int_equal(enter(w, &lone, &u, &err), ERR_BAD_REQUEST);
    fixture_put(w->m, "{\"apiVersion\":\"rbac.authorization.k8s.io/"
                      "v1\",\"kind\":\"ClusterRole\",\"metadata\":{\"name\":\"imp\"},"
                      "\"rules\":[{\"apiGroups\":[\"\"],\"resources\":[\"users\"],\"verbs\":["
                      "\"impersonate\"]},{\"apiGroups\":[\"authentication.k8s.io\"],\"resources\":["
                      "\"userextras/scopes\"],\"resourceNames\":[\"view\"],\"verbs\":["
                      "\"impersonate\"]}]}");
    fixture_put(w->m, "{\"apiVersion\":\"rbac.authorization.k8s.io/"
                      "v1\",\"kind\":\"ClusterRoleBinding\",\"metadata\":{\"name\":\"imp\"},"
                      "\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":"
                      "\"ClusterRole\",\"name\":\"imp\"},"
                      "\"subjects\":[{\"kind\":\"User\",\"name\":\"alice\"}]}");
    r.org = NULL;
    assert_int_equal(enter(w, &r, &u, &err), ERR_FORBIDDEN);
    assert_string_equal(
        err.text, "userextras.authentication.k8s.io \"p1\" is forbidden: User \"alice\" cannot "
                  "impersonate resource \"userextras/acme.com/project\" in API group "
                  "\"authentication.k8s.io\" at the cluster scope");
    r.headers[1] = r.headers[2] = r.headers[3];
    assert_ok(enter(w, &r, &u, &err), &err);
    assert_int_equal(u.n_extra, 1);
    r.headers[1].value = "edit";
    assert_int_equal(enter(w, &r, &u, &err), ERR_FORBIDDEN);
}

static struct api_request request_of(const char *kind_group, const char *kind, const char *verb,
                                     struct user u) {
    const struct kind *k = kind_by_name(str_of(kind_group), str_of(kind));
    return (struct api_request){.resource = true,
                                .verb_name = str_of(verb),
                                .group = str_of(kind_group),
                                .user = u,
                                .plural = str_of(k ? k->plural : ""),
                                .ns = STR("team"),
                                .kind = k};
}

static void test_authorize(void **state) {
    struct world *w = *state;
    struct str reason;
    struct api_request q = request_of("", "Pod", "list", fixture_user("bob", NULL, NULL));
    assert_int_equal(w->g->authorize(w->g, &q, &w->a, &reason, NULL), ERR_FORBIDDEN);
    q.user = fixture_user("system:node:n", "system:nodes", NULL);
    q.opt.field_selector = STR("spec.nodeName=n");
    q.verb = VERB_LIST;
    assert_int_equal(w->g->authorize(w->g, &q, &w->a, &reason, NULL), 0);
    assert_true(str_contains(reason, STR("ClusterRoleBinding \"system:node\"")));
    struct api_request path = {.verb_name = STR("get"), .path = STR("/readyz"), .user = q.user};
    assert_int_equal(w->g->authorize(w->g, &path, &w->a, &reason, NULL), 0);
}

/* ---- a node's credential is for one node ---- */

static bool node_may(struct world *w, const char *who, const char *group, const char *kind,
                     const char *verb, enum verb v, const char *ns, const char *name,
                     const char *fields) {
    struct str reason = {0};
    struct api_request q = request_of(group, kind, verb, fixture_user(who, "system:nodes", NULL));
    q.verb = v;
    q.ns = str_of(ns);
    q.name = q.authz_name = str_of(name);
    q.opt.field_selector = str_of(fields);
    return w->g->authorize(w->g, &q, &w->a, &reason, NULL) == 0;
}

/* The same, asked for in a review. */
static bool node_told(struct world *w, const char *who, const char *group, const char *plural,
                      const char *sub, const char *verb, const char *ns, const char *name,
                      const char *fields) {
    char json[512];
    yyjson_mut_doc *d;
    struct err err = {0};
    struct api_request q = request_of("authorization.k8s.io", "SubjectAccessReview", "create",
                                      fixture_user("root", "system:masters", NULL));
    snprintf(json, sizeof(json),
             "{\"spec\":{\"user\":\"%s\",\"groups\":[\"system:nodes\",\"system:authenticated\"],"
             "\"resourceAttributes\":{\"group\":\"%s\",\"resource\":\"%s\",\"subresource\":\"%s\","
             "\"verb\":\"%s\",\"namespace\":\"%s\",\"name\":\"%s\",\"fieldSelector\":{"
             "\"rawSelector\":\"%s\"}}}}",
             who, group, plural, sub, verb, ns, name, fields);
    assert_ok(json_parse_mut(&w->a, str_of(json), &d, &err), &err);
    assert_ok(w->g->review(w->g, &q, d, &w->a, &err), &err);
    return yyjson_mut_is_true(json_mpath(d->root, "status.allowed"));
}

static void put_pods(struct world *w) {
    fixture_put(
        w->m, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"mine\","
              "\"namespace\":\"team\"},\"spec\":{\"nodeName\":\"n\",\"imagePullSecrets\":[{"
              "\"name\":\"pull\"}],\"containers\":[{\"env\":[{\"name\":\"A\",\"valueFrom\":{"
              "\"secretKeyRef\":{\"name\":\"env\",\"key\":\"k\"}}}]}],\"volumes\":[{\"name\":\"v\","
              "\"secret\":{\"secretName\":\"vol\"}},{\"name\":\"c\",\"configMap\":{\"name\":"
              "\"conf\"}}]}}");
    fixture_put(
        w->m, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"theirs\","
              "\"namespace\":\"team\"},\"spec\":{\"nodeName\":\"o\",\"containers\":[{\"envFrom\":[{"
              "\"secretRef\":{\"name\":\"other\"}}]}]}}");
}

static void test_node_is_one_node(void **state) {
    static const struct {
        const char *who, *kind, *verb;
        enum verb v;
        const char *ns, *name, *fields;
        bool allowed;
    } rows[] = {
        {"system:node:n", "Pod", "patch", VERB_PATCH, "team", "mine", "", true},
        {"system:node:n", "Pod", "patch", VERB_PATCH, "team", "theirs", "", false},
        {"system:node:o", "Pod", "patch", VERB_PATCH, "team", "theirs", "", true},
        {"mallory", "Pod", "patch", VERB_PATCH, "team", "mine", "", false},
        {"system:node:n", "Pod", "list", VERB_LIST, "", "", "spec.nodeName=n", true},
        {"system:node:n", "Pod", "watch", VERB_WATCH, "", "", "spec.nodeName=o", false},
        {"system:node:n", "Pod", "list", VERB_LIST, "", "", "spec.nodeName!=o", false},
        {"system:node:n", "Pod", "create", VERB_CREATE, "team", "", "", false},
        {"system:node:n", "Secret", "get", VERB_GET, "team", "pull", "", true},
        {"system:node:n", "Secret", "get", VERB_GET, "team", "env", "", true},
        {"system:node:n", "Secret", "get", VERB_GET, "team", "vol", "", true},
        {"system:node:n", "Secret", "get", VERB_GET, "team", "other", "", false},
        {"system:node:n", "Secret", "get", VERB_GET, "team", "conf", "", false},
        {"system:node:n", "Secret", "get", VERB_GET, "kube-system", "vol", "", false},
        {"system:node:n", "Secret", "list", VERB_LIST, "team", "", "", false},
        {"system:node:n", "ConfigMap", "get", VERB_GET, "team", "conf", "", true},
        {"system:node:n", "ConfigMap", "get", VERB_GET, "team", "vol", "", false},
        {"system:node:n", "Node", "patch", VERB_PATCH, "", "n", "", true},
        {"system:node:n", "Node", "patch", VERB_PATCH, "", "o", "", false},
        {"system:node:n", "Node", "delete", VERB_DELETE, "", "o", "", false},
    };
    struct world *w = *state;
    put_pods(w);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bool may = node_may(w, rows[i].who, "", rows[i].kind, rows[i].verb, rows[i].v, rows[i].ns,
                            rows[i].name, rows[i].fields);
        if (may != rows[i].allowed) {
            fail_msg("%s %s %s %s", rows[i].who, rows[i].verb, rows[i].kind, rows[i].name);
        }
    }
    const char *lease = "coordination.k8s.io", *ns = "kube-node-lease", *n = "system:node:n";
    assert_true(node_may(w, n, lease, "Lease", "update", VERB_UPDATE, ns, "n", ""));
    assert_false(node_may(w, n, lease, "Lease", "update", VERB_UPDATE, ns, "o", ""));
    assert_false(node_may(w, n, lease, "Lease", "update", VERB_UPDATE, "kube-system", "n", ""));
}

/* A review gives the answer that the request itself would get, not RBAC's alone. */
static void test_reviews_say_what_requests_get(void **state) {
    struct world *w = *state;
    put_pods(w);
    const char *n = "system:node:n";
    assert_true(node_told(w, n, "", "secrets", "", "get", "team", "pull", ""));
    assert_false(node_told(w, n, "", "secrets", "", "get", "team", "other", ""));
    assert_false(node_told(w, n, "", "secrets", "", "get", "team", "", ""));
    assert_false(node_told(w, n, "", "pods", "", "list", "", "", ""));
    assert_true(node_told(w, n, "", "pods", "", "list", "", "", "spec.nodeName=n"));
    assert_true(node_told(w, n, "", "pods", "status", "patch", "team", "mine", ""));
    assert_false(node_told(w, n, "", "pods", "status", "patch", "team", "theirs", ""));
    assert_true(node_told(w, n, "", "nodes", "", "create", "", "n", ""));
    assert_false(node_told(w, n, "", "nodes", "", "create", "", "o", ""));
    assert_false(node_told(w, n, "", "nodes", "status", "patch", "", "o", ""));
    assert_false(
        node_told(w, n, "coordination.k8s.io", "leases", "", "create", "kube-node-lease", "o", ""));
    /* Every right in one namespace is none over what decides in all. */
    fixture_put(w->m,
                "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"RoleBinding\","
                "\"metadata\":{\"name\":\"all\",\"namespace\":\"team\"},\"roleRef\":{"
                "\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\",\"name\":"
                "\"cluster-admin\"},\"subjects\":[{\"kind\":\"User\",\"name\":\"owner\"}]}");
    static const char *const decides[][2] = {{"", "pods"},
                                             {"batch", "jobs"},
                                             {"kueue.x-k8s.io", "workloads"},
                                             {"berth.dev", "reservations"},
                                             {"berth.dev", "reservationseries"},
                                             {"berth.dev", "calendarfeeds"}};
    for (size_t i = 0; i < sizeof(decides) / sizeof(decides[0]); i++) {
        const char *const *d = decides[i];
        assert_false(node_told(w, "owner", d[0], d[1], "status", "patch", "team", "x", ""));
        assert_false(node_told(w, "owner", d[0], d[1], "status", "update", "team", "x", ""));
    }
}

/* ---- what controllers alone write ---- */

static int store(struct world *w, const char *group, const char *kind, struct user u,
                 const char *json) {
    struct api_request q = request_of(group, kind, "create", u);
    yyjson_mut_doc *d;
    struct err err = {0};
    assert_ok(json_parse_mut(&w->a, str_of(json), &d, &err), &err);
    return w->g->admit_write(w->g, &q, d->root, NULL, &w->a, &err);
}

static void test_controllers_members(void **state) {
    static const struct {
        const char *group, *kind, *json;
        int code;
    } rows[] = {
        {"", "Pod", "{\"spec\":{\"containers\":[{}]}}", 0},
        {"", "Pod", "{\"spec\":{\"nodeName\":\"n\",\"containers\":[{}]}}", ERR_FORBIDDEN},
        {"", "Pod", "{\"metadata\":{\"annotations\":{\"berth.dev/devices\":\"[]\"}},\"spec\":{}}",
         ERR_FORBIDDEN},
        {"", "Pod",
         "{\"spec\":{\"initContainers\":[{\"resources\":{\"requests\":{\"nvidia.com/"
         "gpu\":\"1\"}}}]}}",
         ERR_FORBIDDEN},
        {"", "Pod",
         "{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\",\"kueue.x-k8s.io/"
         "managed\":"
         "\"true\"}},\"spec\":{\"schedulingGates\":[{\"name\":\"kueue.x-k8s.io/admission\"}],"
         "\"containers\":[{\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}",
         0},
        {"", "Pod",
         "{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\",\"kueue.x-k8s.io/"
         "managed\":"
         "\"true\"}},\"spec\":{\"schedulingGates\":[{\"name\":\"x.y/z\"}],"
         "\"containers\":[{\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}",
         ERR_FORBIDDEN},
        {"kueue.x-k8s.io", "Workload",
         "{\"metadata\":{\"annotations\":{\"berth.dev/placement\":\"[]\"}}}", ERR_FORBIDDEN},
        {"kueue.x-k8s.io", "Workload", "{\"metadata\":{}}", 0},
        {"batch", "Job",
         "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"resources\":{\"limits\":{"
         "\"nvidia.com/mig-1g.18gb\":\"1\"}}}]}}}}",
         ERR_FORBIDDEN},
        {"batch", "Job",
         "{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/"
         "queue-name\":\"q\"}},\"spec\":{\"suspend\":true,"
         "\"template\":{\"spec\":{\"containers\":[{\"resources\":{\"limits\":{\"nvidia.com/"
         "gpu\":\"1\"}}}]}}}}",
         0},
    };
    struct world *w = *state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct user bob = fixture_user("bob", NULL, NULL);
        struct user root = fixture_user("root", "system:masters", NULL);
        if (store(w, rows[i].group, rows[i].kind, bob, rows[i].json) != rows[i].code ||
            store(w, rows[i].group, rows[i].kind, root, rows[i].json) != 0) {
            fail_msg("%s", rows[i].json);
        }
    }
}

static void test_token_secrets_are_guarded(void **state) {
    struct world *w = *state;
    yyjson_mut_doc *d;
    struct err err = {0};
    struct api_request q =
        request_of("", "Secret", "create", fixture_user("bob", "system:nodes", NULL));
    assert_ok(json_parse_mut(&w->a, STR("{\"type\":\"berth.dev/token\"}"), &d, &err), &err);
    assert_int_equal(w->g->admit_write(w->g, &q, d->root, NULL, &w->a, &err), ERR_FORBIDDEN);
    q.user = fixture_user("root", "system:masters", NULL);
    assert_ok(w->g->admit_write(w->g, &q, d->root, NULL, &w->a, &err), &err);
    q.user = fixture_user("bob", NULL, NULL);
    assert_ok(json_parse_mut(&w->a, STR("{\"type\":\"Opaque\"}"), &d, &err), &err);
    assert_ok(w->g->admit_write(w->g, &q, d->root, NULL, &w->a, &err), &err);
}

static yyjson_mut_doc *request_token_as(struct world *w, struct user who, const char *spec,
                                        int want, struct err *err) {
    yyjson_mut_doc *d = NULL;
    struct api_request q = {.user = who};
    const struct object *account =
        mirror_get(w->m, kind_by_name(STR(""), STR("ServiceAccount")), STR("team"), STR("sa"));
    char text[512];
    snprintf(text, sizeof(text),
             "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenRequest\",\"spec\":%s}",
             spec);
    assert_ok(json_parse_mut(&w->a, str_of(text), &d, err), err);
    assert_int_equal(w->g->token(w->g, &q, account, d, &w->a, err), want);
    return d;
}

static yyjson_mut_doc *request_token(struct world *w, const char *spec, int want, struct err *err) {
    return request_token_as(w, fixture_user("root", "system:masters", NULL), spec, want, err);
}

/* A node has tokens for its own pods alone, and such as end with them. */
static void test_node_tokens(void **state) {
    struct world *w = *state;
    struct err err = {0};
    struct user n = fixture_user("system:node:n", "system:nodes", NULL);
    put_pods(w);
    assert_true(
        node_told(w, "system:node:n", "", "serviceaccounts", "token", "create", "team", "sa", ""));
    assert_false(node_told(w, "system:node:n", "", "serviceaccounts", "", "get", "team", "sa", ""));
    fixture_put(w->m, "{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"metadata\":{\"name\":"
                      "\"sa\",\"namespace\":\"team\"}}");
    fixture_put(w->m, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"here\","
                      "\"namespace\":\"team\"},\"spec\":{\"nodeName\":\"n\","
                      "\"serviceAccountName\":\"sa\"}}");
    fixture_put(w->m, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"there\","
                      "\"namespace\":\"team\"},\"spec\":{\"nodeName\":\"o\","
                      "\"serviceAccountName\":\"sa\"}}");
    request_token_as(w, n, "{\"boundObjectRef\":{\"kind\":\"Pod\",\"name\":\"here\"}}", 0, &err);
    request_token_as(w, n, "{\"boundObjectRef\":{\"kind\":\"Pod\",\"name\":\"there\"}}",
                     ERR_FORBIDDEN, &err);
    request_token_as(w, n, "{\"boundObjectRef\":{\"kind\":\"Pod\",\"name\":\"mine\"}}",
                     ERR_BAD_REQUEST, &err); /* runs as another account */
    request_token_as(w, n, "{}", ERR_FORBIDDEN, &err);
    assert_true(str_contains(str_of(err.text), STR("bound to a pod")));
}

static void test_token_request_and_review(void **state) {
    struct world *w = *state;
    struct err err = {0};
    struct user u;
    fixture_put(w->m, "{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"metadata\":{\"name\":"
                      "\"sa\",\"namespace\":\"team\"}}");
    request_token(w, "{\"expirationSeconds\":599}", ERR_INVALID, &err);
    assert_true(
        str_contains(str_of(err.text), STR("may not specify a duration less than 10 minutes")));
    request_token(w, "{\"boundObjectRef\":{\"kind\":\"Pod\",\"name\":\"none\"}}", ERR_NOT_FOUND,
                  &err);
    fixture_put(w->m, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"mine\","
                      "\"namespace\":\"team\"},\"spec\":{\"serviceAccountName\":\"sa\"}}");
    fixture_put(w->m, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"other\","
                      "\"namespace\":\"team\"},\"spec\":{\"serviceAccountName\":\"sa2\"}}");
    fixture_put(w->m, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"bare\","
                      "\"namespace\":\"team\"},\"spec\":{}}");
    request_token(w, "{\"boundObjectRef\":{\"kind\":\"Pod\",\"name\":\"mine\"}}", 0, &err);
    request_token(w, "{\"boundObjectRef\":{\"kind\":\"Pod\",\"name\":\"other\"}}", ERR_BAD_REQUEST,
                  &err);
    assert_true(str_contains(str_of(err.text), STR("running with different serviceaccount name")));
    request_token(w, "{\"boundObjectRef\":{\"kind\":\"Pod\",\"name\":\"bare\"}}", ERR_BAD_REQUEST,
                  &err);
    request_token(w, "{\"boundObjectRef\":{\"kind\":\"Service\",\"name\":\"mine\"}}", ERR_INVALID,
                  &err);
    request_token(w, "{\"boundObjectRef\":{\"kind\":\"Secret\",\"name\":\"keys\"}}", ERR_NOT_FOUND,
                  &err);
    fixture_put(w->m, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"keys\","
                      "\"namespace\":\"team\"}}");
    request_token(w, "{\"boundObjectRef\":{\"kind\":\"Secret\",\"name\":\"keys\",\"uid\":\"x\"}}",
                  ERR_CONFLICT, &err);
    request_token(w, "{\"boundObjectRef\":{\"kind\":\"Secret\",\"name\":\"keys\"}}", 0, &err);
    yyjson_mut_doc *d = request_token(w, "{}", 0, &err);
    assert_str_eq(json_mstr_at(d->root, "status.expirationTimestamp"), STR("2027-01-15T09:00:00Z"));
    assert_str_eq(json_mstr(yyjson_mut_arr_get_first(json_mpath(d->root, "spec.audiences"))),
                  STR("https://h:1"));
    struct str token = json_mstr_at(d->root, "status.token");
    char *header = mem_cstr(arena_f(&w->a, "Bearer %.*s", STR_ARG(token)));
    struct http_request r = {.headers = {{"authorization", header}}, .n = 1};
    assert_ok(enter(w, &r, &u, &err), &err);
    assert_str_eq(u.name, STR("system:serviceaccount:team:sa"));
    mem_free(header);

    yyjson_mut_doc *review = json_mut_new(&w->a);
    yyjson_mut_doc_set_root(review, yyjson_mut_obj(review));
    assert_int_equal(
        json_mset_str(review, json_mensure(review, review->root, "spec"), "token", token), 0);
    struct api_request q = {.kind = kind_by_name(STR("authentication.k8s.io"), STR("TokenReview"))};
    assert_ok(w->g->review(w->g, &q, review, &w->a, &err), &err);
    assert_true(yyjson_mut_get_bool(json_mpath(review->root, "status.authenticated")));
    assert_str_eq(json_mstr_at(review->root, "status.user.username"),
                  STR("system:serviceaccount:team:sa"));
    assert_int_equal(json_mset_str(review, json_mget(review->root, STR("spec")), "token", STR("x")),
                     0);
    json_mdel(review->root, STR("status"));
    assert_ok(w->g->review(w->g, &q, review, &w->a, &err), &err);
    assert_str_eq(json_mstr_at(review->root, "status.error"), STR("invalid bearer token"));
    assert_null(json_mpath(review->root, "status.authenticated"));
}

static void test_self_review(void **state) {
    struct world *w = *state;
    struct err err = {0};
    yyjson_mut_doc *d = json_mut_new(&w->a);
    yyjson_mut_doc_set_root(d, yyjson_mut_obj(d));
    struct api_request q = {
        .kind = kind_by_name(STR("authentication.k8s.io"), STR("SelfSubjectReview")),
        .user = fixture_user("alice", "devs", NULL)};
    assert_ok(w->g->review(w->g, &q, d, &w->a, &err), &err);
    assert_str_eq(json_mstr_at(d->root, "status.userInfo.username"), STR("alice"));
    assert_int_equal(yyjson_mut_arr_size(json_mpath(d->root, "status.userInfo.groups")), 2);
}

static void test_pages(void **state) {
    struct world *w = *state;
    struct http_request r = {0};
    policy_page_jwks(w->p, &r);
    assert_int_equal(r.status, 200);
    assert_true(str_contains(str_of(r.body), STR("\"crv\":\"P-256\"")));
    policy_page_issuer(w->p, &r);
    assert_true(str_contains(str_of(r.body), STR("\"issuer\":\"https://h:1\"")));
}

static void test_alloc_faults(void **state) {
    struct world *w = *state;
    for (uint64_t nth = 1;; nth++) {
        struct policy_options o = {
            .mirror = w->m, .clock = &still_clock, .issuer = STR("https://h:1")};
        mem_fault(nth, 1);
        struct policy *p = policy_new(&o, NULL);
        int hit = mem_fault_hit();
        mem_fault(0, 0);
        assert_true(hit == (p == NULL));
        policy_free(p);
        if (!hit) {
            break;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_certificate_of_a_browser, setup, teardown),
        cmocka_unit_test_setup_teardown(test_impersonation, setup, teardown),
        cmocka_unit_test_setup_teardown(test_impersonated_extra, setup, teardown),
        cmocka_unit_test_setup_teardown(test_authorize, setup, teardown),
        cmocka_unit_test_setup_teardown(test_node_is_one_node, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reviews_say_what_requests_get, setup, teardown),
        cmocka_unit_test_setup_teardown(test_controllers_members, setup, teardown),
        cmocka_unit_test_setup_teardown(test_token_secrets_are_guarded, setup, teardown),
        cmocka_unit_test_setup_teardown(test_token_request_and_review, setup, teardown),
        cmocka_unit_test_setup_teardown(test_node_tokens, setup, teardown),
        cmocka_unit_test_setup_teardown(test_self_review, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pages, setup, teardown),
        cmocka_unit_test_setup_teardown(test_alloc_faults, setup, teardown),
    };
    return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
