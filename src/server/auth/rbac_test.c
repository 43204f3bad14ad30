/* Tests of RBAC: matching, bindings, aggregation, invalidation, escalation, reviews, the default roles. */
#include "base/limits.h"
#include "base/prng.h"
#include "server/auth/escalate.h"
#include "server/auth/policy_fixture.h"
#include "server/auth/policy_roles.h"
#include "server/auth/rbac.h"
#include "server/auth/review.h"

#define RBAC "\"apiVersion\":\"rbac.authorization.k8s.io/v1\","
#define REF(kind, name)                                                                            \
    "\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"" kind                     \
    "\",\"name\":\"" name "\"}"

struct world {
    struct mirror *m;
    struct rbac *b;
    struct arena a;
};

static int setup(void **state) {
    static struct world w;
    struct err err = {0};
    w.m = fixture_mirror();
    assert_ok(rbac_new(w.m, &w.b, &err), &err);
    arena_init(&w.a, 64 << 20);
    *state = &w;
    return 0;
}

static int teardown(void **state) {
    struct world *w = *state;
    rbac_free(w->b);
    mirror_free(w->m);
    arena_release(&w->a);
    return 0;
}

/* "verb group resource[/sub] ns name", "-" for empty; or "verb /path". */
static bool allowed(struct world *w, struct user u, const char *what, struct str *ret_reason) {
    struct str rest = str_of(what), part[5] = {{0}}, reason;
    for (size_t i = 0; i < 5 && str_next(&rest, ' ', &part[i]); i++) {
        part[i] = str_is(part[i], "-") ? STR("") : part[i];
    }
    struct rbac_attributes q = {.user = &u,
                                .verb = part[0],
                                .resource_request = part[1].n == 0 || part[1].p[0] != '/',
                                .group = part[1],
                                .path = part[1],
                                .ns = part[3],
                                .name = part[4]};
    str_cut(part[2], '/', &q.resource, &q.subresource);
    return rbac_allows(w->b, &q, &w->a, ret_reason ? ret_reason : &reason);
}

static void put_basic(struct world *w) {
    fixture_put(
        w->m,
        "{" RBAC
        "\"kind\":\"Role\",\"metadata\":{\"name\":\"r1\",\"namespace\":\"default\"},\"rules\":["
        "{\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"verbs\":[\"get\",\"list\"]},"
        "{\"apiGroups\":[\"\"],\"resources\":[\"configmaps\"],\"resourceNames\":[\"c1\"],\"verbs\":"
        "[\"get\",\"create\"]},"
        "{\"apiGroups\":[\"*\"],\"resources\":[\"*/log\"],\"verbs\":[\"*\"]}]}");
    fixture_put(
        w->m,
        "{" RBAC
        "\"kind\":\"RoleBinding\",\"metadata\":{\"name\":\"rb1\",\"namespace\":\"default\"}," REF(
            "Role", "r1") ",\"subjects\":[{\"kind\":\"User\",\"name\":\"alice\"},{\"kind\":"
                          "\"ServiceAccount\",\"name\":\"sa\"}]}");
}

static void test_matching(void **state) {
    struct world *w = *state;
    struct user alice = fixture_user("alice", NULL, NULL), bob = fixture_user("bob", NULL, NULL);
    struct user sa = fixture_user("system:serviceaccount:default:sa", NULL, NULL);
    struct user other_sa = fixture_user("system:serviceaccount:other:sa", NULL, NULL);
    struct str reason;
    put_basic(w);
    assert_true(allowed(w, alice, "get - pods default p", &reason));
    assert_str_eq(
        reason,
        STR("RBAC: allowed by RoleBinding \"rb1/default\" of Role \"r1\" to User \"alice\""));
    assert_true(allowed(w, sa, "list - pods default -", &reason));
    assert_str_eq(reason, STR("RBAC: allowed by RoleBinding \"rb1/default\" of Role \"r1\" to "
                              "ServiceAccount \"sa/default\""));
    assert_false(allowed(w, other_sa, "list - pods default -", NULL));
    assert_false(allowed(w, bob, "get - pods default p", &reason));
    assert_str_eq(reason, STR(""));
    static const char *const no[] = {"get - pods other p",          "get - pods - p",
                                     "delete - pods default p",     "get apps pods default p",
                                     "get - pods/exec default p",   "get - configmaps default c2",
                                     "list - configmaps default -", "create - configmaps default -",
                                     "get - log default p",         "get /pods"};
    for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
        if (allowed(w, alice, no[i], NULL)) {
            print_error("%s\n", no[i]);
            fail();
        }
    }
    assert_true(allowed(w, alice, "get - configmaps default c1", NULL));
    assert_true(allowed(w, alice, "delete batch jobs/log default j", NULL));
    assert_true(allowed(w, fixture_user("root", "system:masters", NULL), "delete x y - z", NULL));
}

static void test_cluster_wide(void **state) {
    struct world *w = *state;
    struct str reason;
    fixture_put(
        w->m, "{" RBAC "\"kind\":\"ClusterRole\",\"metadata\":{\"name\":\"cr\"},\"rules\":["
              "{\"apiGroups\":[\"\"],\"resources\":[\"nodes\",\"pods/status\"],\"verbs\":[\"*\"]},"
              "{\"nonResourceURLs\":[\"/metrics\",\"/api/*\"],\"verbs\":[\"get\"]}]}");
    fixture_put(w->m,
                "{" RBAC "\"kind\":\"ClusterRoleBinding\",\"metadata\":{\"name\":\"crb\"}," REF(
                    "ClusterRole", "cr") ",\"subjects\":[{\"kind\":\"Group\",\"name\":\"ops\"}]}");
    fixture_put(w->m,
                "{" RBAC
                "\"kind\":\"RoleBinding\",\"metadata\":{\"name\":\"rb\",\"namespace\":\"n\"}," REF(
                    "ClusterRole", "cr") ",\"subjects\":[{\"kind\":\"Group\",\"name\":\"devs\"}]}");
    struct user ops = fixture_user("o", "ops", NULL), devs = fixture_user("d", "devs", NULL);
    assert_true(allowed(w, ops, "delete - nodes - n1", &reason));
    assert_str_eq(
        reason,
        STR("RBAC: allowed by ClusterRoleBinding \"crb\" of ClusterRole \"cr\" to Group \"ops\""));
    assert_true(allowed(w, ops, "patch - pods/status any p", NULL));
    assert_false(allowed(w, ops, "patch - pods any p", NULL));
    assert_true(allowed(w, ops, "get /api/v1", NULL));
    assert_false(allowed(w, ops, "get /api", NULL));
    assert_false(allowed(w, ops, "post /metrics", NULL));
    /* through a RoleBinding a ClusterRole counts in that namespace only, and never for paths */
    assert_true(allowed(w, devs, "patch - pods/status n p", NULL));
    assert_false(allowed(w, devs, "patch - pods/status m p", NULL));
    assert_false(allowed(w, devs, "delete - nodes - n1", NULL));
    assert_false(allowed(w, devs, "get /metrics", NULL));
}

static void test_changes_are_seen(void **state) {
    struct world *w = *state;
    struct user alice = fixture_user("alice", NULL, NULL);
    struct str reason;
    put_basic(w);
    assert_true(allowed(w, alice, "get - pods default p", NULL));
    fixture_delete(w->m, "rbac.authorization.k8s.io", "Role", "default", "r1");
    assert_false(allowed(w, alice, "get - pods default p", &reason));
    assert_str_eq(reason, STR("RBAC: role.rbac.authorization.k8s.io \"r1\" not found"));
    put_basic(w);
    assert_true(allowed(w, alice, "get - pods default p", NULL));
    fixture_delete(w->m, "rbac.authorization.k8s.io", "RoleBinding", "default", "rb1");
    assert_false(allowed(w, alice, "get - pods default p", NULL));
}

static int put_default(void *ctx, struct str json, struct err *err) {
    char *text = mem_cstr(json);
    fixture_put(ctx, text);
    mem_free(text);
    return 0;
}

static void put_defaults(struct world *w) {
    assert_int_equal(policy_each_default(put_default, w->m, NULL), 0);
}

static void bind_cluster_role(struct world *w, const char *role, const char *user) {
    char text[1024];
    snprintf(text, sizeof(text),
             "{" RBAC
             "\"kind\":\"RoleBinding\",\"metadata\":{\"name\":\"%s-%s\",\"namespace\":\"team\"},"
             "\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\","
             "\"name\":\"%s\"},"
             "\"subjects\":[{\"kind\":\"User\",\"name\":\"%s\"}]}",
             role, user, role, user);
    fixture_put(w->m, text);
}

static void test_default_roles(void **state) {
    struct world *w = *state;
    put_defaults(w);
    bind_cluster_role(w, "view", "v");
    bind_cluster_role(w, "edit", "e");
    bind_cluster_role(w, "admin", "a");
    static const struct {
        const char *what;
        bool v, e, a;
    } cases[] = {
        {"list - pods team -", true, true, true},
        {"get - pods/log team p", true, true, true},
        {"get - secrets team s", false, true, true},
        {"create - pods team -", false, true, true},
        {"create batch jobs team -", false, true, true},
        {"watch kueue.x-k8s.io workloads team -", true, true, true},
        {"create kueue.x-k8s.io localqueues team -", false, false, true},
        {"create rbac.authorization.k8s.io rolebindings team -", false, false, true},
        {"list - pods other -", false, false, false},
        {"list - nodes - -", false, false, false},
        {"get /version", true, true, true},
        {"get /openapi/v3", true, true, true},
        {"get /metrics", false, false, false},
        {"create authorization.k8s.io selfsubjectaccessreviews - -", true, true, true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool v = allowed(w, fixture_user("v", NULL, NULL), cases[i].what, NULL);
        bool e = allowed(w, fixture_user("e", NULL, NULL), cases[i].what, NULL);
        bool a = allowed(w, fixture_user("a", NULL, NULL), cases[i].what, NULL);
        if (v != cases[i].v || e != cases[i].e || a != cases[i].a) {
            print_error("%s: %d %d %d\n", cases[i].what, v, e, a);
            fail();
        }
    }
    struct str anonymous_group[] = {STR("system:unauthenticated")};
    struct user anonymous = {.name = STR("system:anonymous"), .groups = {anonymous_group, 1}};
    assert_true(allowed(w, anonymous, "get /readyz", NULL));
    assert_false(allowed(w, anonymous, "get /api", NULL));
    assert_true(allowed(w, fixture_user("system:node:n", "system:nodes", NULL),
                        "patch - pods/status x p", NULL));
}

static int bind_each(void *ctx, struct str json, struct err *err) {
    struct world *w = ctx;
    yyjson_doc *d = NULL;
    struct str name;
    assert_ok(json_parse(&w->a, json, &d, err), err);
    name = json_str_at(yyjson_doc_get_root(d), "metadata.name");
    if (!str_is(json_str_at(yyjson_doc_get_root(d), "kind"), "ClusterRole") ||
        str_is(name, "cluster-admin")) {
        return 0;
    }
    struct str text =
        arena_f(&w->a,
                "{" RBAC "\"kind\":\"ClusterRoleBinding\",\"metadata\":{\"name\":\"x-%.*s\"},"
                "\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":"
                "\"ClusterRole\",\"name\":\"%.*s\"},\"subjects\":[{\"kind\":\"User\",\"name\":"
                "\"all\"}]}",
                STR_ARG(name), STR_ARG(name));
    return put_default(w->m, text, err);
}

/* Who makes tokens is whoever it wants to be: not even all default roles together do, but for cluster-admin. */
static void test_no_default_role_makes_tokens(void **state) {
    struct world *w = *state;
    struct user all = fixture_user("all", NULL, NULL);
    struct err err = {0};
    put_defaults(w);
    assert_ok(policy_each_default(bind_each, w, &err), &err);
    assert_true(allowed(w, all, "create berth.dev reservations team -", NULL));
    assert_true(allowed(w, all, "update - nodes - n", NULL));
    assert_false(allowed(w, all, "create berth.dev tokens - -", NULL));
    assert_false(allowed(w, all, "create berth.dev tokens team -", NULL));
}

static int escalate(struct world *w, struct user u, const char *json, const char *ns,
                    struct err *err) {
    yyjson_mut_doc *d = NULL;
    assert_ok(json_parse_mut(&w->a, str_of(json), &d, err), err);
    const struct kind *k =
        kind_by_api_version(json_mstr_at(d->root, "apiVersion"), json_mstr_at(d->root, "kind"));
    const struct object *old =
        mirror_pending(w->m, k, str_of(ns), json_mstr_at(d->root, "metadata.name"));
    return escalate_check(w->b, &u, k, str_of(ns), d->root, old, &w->a, err);
}

static void test_escalation(void **state) {
    struct world *w = *state;
    struct err err = {0};
    struct user alice = fixture_user("alice", NULL, NULL);
    put_basic(w);
    static const char secrets[] =
        "{" RBAC "\"kind\":\"Role\",\"metadata\":{\"name\":\"x\"},\"rules\":[{\"apiGroups\":[\"\"],"
        "\"resources\":[\"secrets\"],\"verbs\":[\"*\"]}]}";
    assert_int_equal(escalate(w, alice, secrets, "default", &err), ERR_FORBIDDEN);
    assert_string_equal(
        err.text,
        "user \"alice\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC "
        "permissions "
        "not currently held:\n{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"*\"]}");
    assert_ok(escalate(w, fixture_user("r", "system:masters", NULL), secrets, "default", &err),
              &err);
    assert_ok(
        escalate(w, alice,
                 "{" RBAC
                 "\"kind\":\"Role\",\"metadata\":{\"name\":\"x\"},\"rules\":[{\"apiGroups\":[\"\"],"
                 "\"resources\":[\"pods\"],\"verbs\":[\"get\"],\"resourceNames\":[\"p\"]},{"
                 "\"apiGroups\":[\"\"],"
                 "\"resources\":[\"configmaps\"],\"resourceNames\":[\"c1\"],\"verbs\":[\"get\"]},"
                 "{\"apiGroups\":[\"batch\"],\"resources\":[\"jobs/log\"],\"verbs\":[\"x\"]}]}",
                 "default", &err),
        &err);
    static const char *const refused[] = {
        "{\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"verbs\":[\"*\"]}",
        "{\"apiGroups\":[\"*\"],\"resources\":[\"pods\"],\"verbs\":[\"get\"]}",
        "{\"apiGroups\":[\"\"],\"resources\":[\"configmaps\"],\"verbs\":[\"get\"]}",
        ("{\"apiGroups\":[\"\"],\"resources\":[\"configmaps\"],\"resourceNames\":[\"c2\"],"
         "\"verbs\":[\"get\"]}"),
        "{\"nonResourceURLs\":[\"/x\"],\"verbs\":[\"get\"]}",
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        char text[512];
        snprintf(text, sizeof(text),
                 "{" RBAC "\"kind\":\"Role\",\"metadata\":{\"name\":\"x\"},\"rules\":[%s]}",
                 refused[i]);
        assert_int_equal(escalate(w, alice, text, "default", &err), ERR_FORBIDDEN);
    }
    /* in another namespace alice holds nothing; a role that does not change its rules is not asked about */
    assert_int_equal(
        escalate(w, alice,
                 "{" RBAC
                 "\"kind\":\"Role\",\"metadata\":{\"name\":\"x\"},\"rules\":[{\"apiGroups\":[\"\"],"
                 "\"resources\":[\"pods\"],\"verbs\":[\"get\"]}]}",
                 "other", &err),
        ERR_FORBIDDEN);
    fixture_put(w->m, "{" RBAC "\"kind\":\"Role\",\"metadata\":{\"name\":\"x\",\"namespace\":"
                      "\"default\"},\"rules\":[{\"apiGroups\":[\"\"],"
                      "\"resources\":[\"secrets\"],\"verbs\":[\"*\"]}]}");
    assert_ok(escalate(w, alice, secrets, "default", &err), &err);
    assert_int_equal(
        escalate(w, alice,
                 "{" RBAC "\"kind\":\"ClusterRole\",\"metadata\":{\"name\":\"agg\"},\"rules\":[],"
                 "\"aggregationRule\":{\"clusterRoleSelectors\":[]}}",
                 "", &err),
        ERR_FORBIDDEN);
}

/* ---- escalation, held against the rule in plain words ---- */

enum { MODEL_RULES = 4, MODEL_ROUNDS = 400 };

struct model_rule {
    unsigned verbs, groups, resources, names; /* bits of the words below; no names: all */
};

static const char *const model_words[4][4] = {{"get", "list", "put", "*"},
                                              {"", "apps", "batch", "*"},
                                              {"pods", "pods/log", "*/log", "*"},
                                              {"a", "b", "*", "c"}};

static bool model_lists(unsigned held, unsigned bit, bool star) {
    return (held & bit) || (star && (held & 8));
}

static bool model_covers(const struct model_rule *h, unsigned v, unsigned g, unsigned r,
                         unsigned n) {
    bool resource = model_lists(h->resources, r, true) || (r == 2 && (h->resources & 4));
    bool name = h->names == 0 || (n != 0 && model_lists(h->names, n, false));
    return model_lists(h->verbs, v, true) && model_lists(h->groups, g, true) && resource && name;
}

static bool model_holds(const struct model_rule *held, size_t n, const struct model_rule *w) {
    for (unsigned i = 0; i < 4 * 4 * 4 * 5; i++) {
        unsigned v = 1u << i % 4, g = 1u << i / 4 % 4, r = 1u << i / 16 % 4, at = i / 64;
        unsigned name = at < 4 ? 1u << at : 0;
        bool asked = (w->verbs & v) && (w->groups & g) && (w->resources & r) &&
                     (name ? (w->names & name) != 0 : w->names == 0);
        bool covered = false;
        for (size_t k = 0; k < n; k++) {
            covered |= model_covers(&held[k], v, g, r, name);
        }
        if (asked && !covered) {
            return false;
        }
    }
    return true;
}

static void model_list(struct buf *b, const char *member, size_t words, unsigned bits) {
    buf_f(b, "\"%s\":[", member);
    for (unsigned i = 0, n = 0; i < 4; i++) {
        if (bits & 1u << i) {
            buf_f(b, "%s\"%s\"", n++ ? "," : "", model_words[words][i]);
        }
    }
    buf_c(b, "],");
}

static void model_role(struct buf *b, const char *name, const struct model_rule *v, size_t n) {
    buf_reset(b);
    buf_f(b,
          "{" RBAC "\"kind\":\"Role\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},"
          "\"rules\":[",
          name);
    for (size_t i = 0; i < n; i++) {
        buf_c(b, i ? ",{" : "{");
        model_list(b, "verbs", 0, v[i].verbs);
        model_list(b, "apiGroups", 1, v[i].groups);
        model_list(b, "resourceNames", 3, v[i].names);
        model_list(b, "resources", 2, v[i].resources);
        b->n--;
        buf_ch(b, '}');
    }
    buf_c(b, "]}");
}

static struct model_rule model_random(struct prng *p) {
    struct model_rule r = {.verbs = (unsigned)prng_u64(p) & 15,
                           .groups = (unsigned)prng_u64(p) & 15,
                           .resources = (unsigned)prng_u64(p) & 15,
                           .names = (unsigned)(prng_u64(p) & prng_u64(p)) & 15};
    r.verbs = r.verbs ? r.verbs : 1;
    r.groups = r.groups ? r.groups : 1;
    r.resources = r.resources ? r.resources : 1;
    return r;
}

static void test_escalation_of_random_roles(void **state) {
    struct world *w = *state;
    struct model_rule held[MODEL_RULES], wanted;
    struct prng p;
    struct buf b;
    size_t granted = 0;
    prng_seed(&p, 12);
    buf_init(&b, 0);
    fixture_put(w->m, "{" RBAC "\"kind\":\"RoleBinding\",\"metadata\":{\"name\":\"b\","
                      "\"namespace\":\"default\"}," REF(
                          "Role", "held") ",\"subjects\":[{"
                                          "\"kind\":\"User\",\"name\":\"alice\"}]}");
    for (int i = 0; i < MODEL_ROUNDS; i++) {
        struct err err = {0};
        size_t n = 1 + prng_below(&p, MODEL_RULES);
        for (size_t k = 0; k < n; k++) {
            held[k] = model_random(&p);
        }
        wanted = model_random(&p);
        wanted.verbs &= (unsigned)prng_u64(&p) | 1;
        wanted.resources &= (unsigned)prng_u64(&p) | 2;
        wanted.groups &= (unsigned)prng_u64(&p) | 1;
        bool holds = model_holds(held, n, &wanted);
        model_role(&b, "held", held, n);
        fixture_put(w->m, buf_cstr(&b));
        model_role(&b, "wanted", &wanted, 1);
        int code = escalate(w, fixture_user("alice", NULL, NULL), buf_cstr(&b), "default", &err);
        if (code != (holds ? 0 : ERR_FORBIDDEN)) {
            fail_msg("round %d: %d, %s; %s", i, code, err.text, buf_cstr(&b));
        }
        granted += holds;
        arena_reset(&w->a);
    }
    buf_release(&b);
    assert_in_range(granted, MODEL_ROUNDS / 20, MODEL_ROUNDS * 19 / 20);
}

/* 120 verbs on 120 groups, of which the user holds none, and more than anybody needs. */
static void test_escalation_is_bounded(void **state) {
    static const int sizes[] = {120, 1000};
    struct world *w = *state;
    struct buf b;
    put_basic(w);
    buf_init(&b, 0);
    for (size_t s = 0; s < 2; s++) {
        struct err err = {0};
        buf_reset(&b);
        buf_c(&b, "{" RBAC "\"kind\":\"Role\",\"metadata\":{\"name\":\"n\",\"namespace\":"
                  "\"default\"},\"rules\":[{\"resources\":[\"x\"]");
        for (int part = 0; part < 2; part++) {
            buf_c(&b, part ? ",\"verbs\":[" : ",\"apiGroups\":[");
            for (int i = 0; i < sizes[s]; i++) {
                buf_f(&b, "%s\"%c%d\"", i ? "," : "", 'a' + part, i);
            }
            buf_ch(&b, ']');
        }
        buf_c(&b, "}]}");
        arena_reset(&w->a);
        arena_allow(&w->a, LIMIT_REQUEST_STEPS);
        assert_int_equal(
            escalate(w, fixture_user("alice", NULL, NULL), buf_cstr(&b), "default", &err),
            ERR_FORBIDDEN);
        assert_in_range(w->a.steps, 1, LIMIT_REQUEST_STEPS);
    }
    buf_release(&b);
}

static char *many_subjects(struct buf *b, const char *ns, int number, int subjects) {
    buf_reset(b);
    buf_f(b,
          "{" RBAC "\"kind\":\"RoleBinding\",\"metadata\":{\"name\":\"b%d\",\"namespace\":\"%s\"},"
          "\"roleRef\":{\"kind\":\"Role\",\"name\":\"r1\"},\"subjects\":[",
          number, ns);
    for (int i = 0; i < subjects; i++) {
        buf_f(b, "%s{\"kind\":\"User\",\"name\":\"u%d\"}", i ? "," : "", i);
    }
    buf_c(b, "]}");
    return (char *)(uintptr_t)buf_cstr(b);
}

/* More than a namespace can hold costs that namespace alone, and is not compiled again for each who asks. */
static void test_too_many_in_one_namespace(void **state) {
    struct world *w = *state;
    struct str why;
    struct buf b;
    buf_init(&b, 0);
    put_basic(w);
    fixture_put(w->m, "{" RBAC "\"kind\":\"RoleBinding\",\"metadata\":{\"name\":\"own\","
                      "\"namespace\":\"default\"},\"roleRef\":{\"kind\":\"Role\",\"name\":\"r1\"},"
                      "\"subjects\":[{\"kind\":\"User\",\"name\":\"carol\"}]}");
    for (int i = 0; i < 40; i++) {
        arena_reset(&w->a);
        fixture_put_sized(w->m, many_subjects(&b, "crowd", i, 20000), 64 << 20);
    }
    assert_true(allowed(w, fixture_user("carol", NULL, NULL), "get - pods default x", NULL));
    assert_false(allowed(w, fixture_user("u1", NULL, NULL), "get - pods crowd x", &why));
    assert_true(str_contains(why, STR("too many roles and bindings")));
    fixture_put(w->m, "{" RBAC "\"kind\":\"RoleBinding\",\"metadata\":{\"name\":\"more\","
                      "\"namespace\":\"default\"},\"roleRef\":{\"kind\":\"Role\",\"name\":\"r1\"},"
                      "\"subjects\":[{\"kind\":\"User\",\"name\":\"dave\"}]}");
    assert_true(allowed(w, fixture_user("dave", NULL, NULL), "get - pods default x", NULL));
    for (int i = 0; i < 40; i++) {
        char name[16];
        snprintf(name, sizeof(name), "b%d", i);
        fixture_delete(w->m, "rbac.authorization.k8s.io", "RoleBinding", "crowd", name);
    }
    assert_false(allowed(w, fixture_user("u1", NULL, NULL), "get - pods crowd x", &why));
    assert_int_equal(why.n, 0);
    buf_release(&b);
}

/* What a namespace may hold, by number and by bytes; replacing one is not adding one. */
static void test_room_of_a_namespace(void **state) {
    struct world *w = *state;
    const struct kind *k = kind_by_name(STR("rbac.authorization.k8s.io"), STR("RoleBinding"));
    struct err err = {0};
    struct buf b;
    buf_init(&b, 0);
    for (int i = 0; i < LIMIT_NAMESPACE_BINDINGS; i++) {
        fixture_put(w->m, many_subjects(&b, "full", i, 1));
    }
    assert_ok(rbac_check_room(w->b, k, STR("full"), STR("b7"), 100, &err), &err);
    fixture_put(w->m, many_subjects(&b, "full", LIMIT_NAMESPACE_BINDINGS, 1)); /* one from before */
    assert_ok(rbac_check_room(w->b, k, STR("full"), STR("b7"), 100, &err), &err);
    assert_int_equal(rbac_check_room(w->b, k, STR("full"), STR("new"), 100, &err), ERR_FORBIDDEN);
    assert_ok(rbac_check_room(w->b, k, STR("other"), STR("new"), 100, &err), &err);
    assert_int_equal(
        rbac_check_room(w->b, k, STR("other"), STR("new"), LIMIT_NAMESPACE_RBAC_BYTES + 1, &err),
        ERR_FORBIDDEN);
    buf_release(&b);
}

static void test_binding_escalation(void **state) {
    struct world *w = *state;
    struct err err = {0};
    struct user alice = fixture_user("alice", NULL, NULL),
                binder = fixture_user("binder", NULL, NULL);
    put_basic(w);
    fixture_put(w->m, "{" RBAC "\"kind\":\"Role\",\"metadata\":{\"name\":\"may-bind\","
                      "\"namespace\":\"default\"},\"rules\":["
                      "{\"apiGroups\":[\"rbac.authorization.k8s.io\"],\"resources\":[\"roles\"],"
                      "\"resourceNames\":[\"r1\"],\"verbs\":[\"bind\"]}]}");
    fixture_put(
        w->m,
        "{" RBAC
        "\"kind\":\"RoleBinding\",\"metadata\":{\"name\":\"b2\",\"namespace\":\"default\"}," REF(
            "Role", "may-bind") ",\"subjects\":[{\"kind\":\"User\",\"name\":\"binder\"}]}");
    static const char to_r1[] =
        "{" RBAC "\"kind\":\"RoleBinding\",\"metadata\":{\"name\":\"new\"}," REF(
            "Role", "r1") ",\"subjects\":[]}";
    static const char to_bind[] =
        "{" RBAC "\"kind\":\"RoleBinding\",\"metadata\":{\"name\":\"new\"}," REF(
            "Role", "may-bind") ",\"subjects\":[]}";
    static const char to_none[] =
        "{" RBAC "\"kind\":\"RoleBinding\",\"metadata\":{\"name\":\"new\"}," REF(
            "Role", "none") ",\"subjects\":[]}";
    assert_ok(escalate(w, alice, to_r1, "default", &err), &err);  /* holds it all */
    assert_ok(escalate(w, binder, to_r1, "default", &err), &err); /* may bind it */
    assert_int_equal(escalate(w, alice, to_bind, "default", &err), ERR_FORBIDDEN);
    assert_int_equal(escalate(w, fixture_user("bob", NULL, NULL), to_r1, "default", &err),
                     ERR_FORBIDDEN);
    assert_int_equal(escalate(w, alice, to_none, "default", &err), ERR_NOT_FOUND);
}

static bool by_rbac(void *ctx, const struct api_request *q, struct arena *a,
                    struct str *ret_reason) {
    return rbac_allows(ctx,
                       &(struct rbac_attributes){.user = &q->user,
                                                 .verb = q->verb_name,
                                                 .resource_request = q->resource,
                                                 .group = q->group,
                                                 .resource = q->plural,
                                                 .subresource = q->subresource,
                                                 .name = q->authz_name,
                                                 .ns = q->ns,
                                                 .path = q->path},
                       a, ret_reason);
}

static yyjson_mut_doc *review(struct world *w, struct user u, const char *kind, const char *spec,
                              int want) {
    yyjson_mut_doc *d = NULL;
    struct err err = {0};
    char text[1024];
    snprintf(text, sizeof(text), "{\"spec\":%s}", spec);
    assert_ok(json_parse_mut(&w->a, str_of(text), &d, &err), &err);
    const struct kind *k = kind_by_name(STR("authorization.k8s.io"), str_of(kind));
    assert_non_null(k);
    int r = str_is(str_of(kind), "SelfSubjectRulesReview")
                ? review_rules(w->b, &u, d, &err)
                : review_access(by_rbac, w->b, &u, k, STR("default"), d, &w->a, &err);
    assert_int_equal(r, want);
    return d;
}

static void assert_status(yyjson_mut_doc *d, const char *want) {
    struct buf b;
    buf_init(&b, 0);
    json_write_mut(&b, json_mget(d->root, STR("status")));
    assert_str_eq(buf_view(&b), str_of(want));
    buf_release(&b);
}

static void test_reviews(void **state) {
    struct world *w = *state;
    struct user alice = fixture_user("alice", NULL, NULL), bob = fixture_user("bob", NULL, NULL);
    put_basic(w);
#define GET_PODS                                                                                   \
    "{\"resourceAttributes\":{\"namespace\":\"default\",\"verb\":\"get\",\"resource\":\"pods\"}"
    assert_status(review(w, alice, "SelfSubjectAccessReview", GET_PODS "}", 0),
                  "{\"allowed\":true,\"reason\":\"RBAC: allowed by RoleBinding \\\"rb1/default\\\" "
                  "of Role \\\"r1\\\" to User \\\"alice\\\"\"}");
    assert_status(review(w, bob, "SelfSubjectAccessReview", GET_PODS "}", 0),
                  "{\"allowed\":false}");
    assert_status(review(w, bob, "SelfSubjectAccessReview",
                         "{\"nonResourceAttributes\":{\"path\":\"/x\",\"verb\":\"get\"}}", 0),
                  "{\"allowed\":false}");
    review(w, alice, "SelfSubjectAccessReview", "{}", ERR_INVALID);
    review(w, alice, "SubjectAccessReview", GET_PODS "}", ERR_INVALID);
    yyjson_mut_doc *d = review(w, bob, "SubjectAccessReview", GET_PODS ",\"user\":\"alice\"}", 0);
    assert_true(yyjson_mut_get_bool(json_mpath(d->root, "status.allowed")));
    review(w, bob, "LocalSubjectAccessReview",
           "{\"resourceAttributes\":{\"namespace\":\"other\",\"verb\":\"get\",\"resource\":"
           "\"pods\"},\"user\":\"x\"}",
           ERR_INVALID);
    d = review(w, alice, "SelfSubjectRulesReview", "{\"namespace\":\"default\"}", 0);
    assert_int_equal(yyjson_mut_arr_size(json_mpath(d->root, "status.resourceRules")), 3);
    review(w, alice, "SelfSubjectRulesReview", "{}", ERR_BAD_REQUEST);
}

static void test_many_bindings(void **state) {
    struct world *w = *state;
    struct user alice = fixture_user("alice", NULL, NULL);
    put_basic(w);
    for (int i = 0; i < 300; i++) {
        char name[16];
        snprintf(name, sizeof(name), "u%d", i);
        bind_cluster_role(w, "none", name);
    }
    assert_true(allowed(w, alice, "get - pods default p", NULL));
    assert_false(allowed(w, alice, "get - pods team p", NULL));
}

static bool count_rule(void *ctx, const struct policy_rule *r) {
    (*(size_t *)ctx)++;
    return true;
}

/* A role costs a decision as much as its rules, however many bindings give it to whoever asks. */
static void test_many_bindings_of_one_role(void **state) {
    struct world *w = *state;
    struct user u0 = fixture_user("u0", NULL, NULL);
    struct buf b;
    size_t rules = 0;
    buf_init(&b, 0);
    put_basic(w);
    for (int i = 0; i < 50; i++) {
        fixture_put(w->m, many_subjects(&b, "default", i, 1));
    }
    for (int i = 1; i < 3; i++) {
        rules = 0;
        rbac_rules_of(w->b, &u0, STR("default"), count_rule, &rules);
        assert_int_equal(rules, 3); /* of r1 */
        assert_false(allowed(w, u0, "delete - pods default p", NULL));
        assert_true(allowed(w, u0, "get - pods default p", NULL));
    }
    buf_release(&b);
}

/* A namespace that is emptied leaves nothing behind. */
static void test_namespaces_go(void **state) {
    struct world *w = *state;
    struct user u0 = fixture_user("u0", NULL, NULL);
    struct buf b;
    buf_init(&b, 0);
    put_basic(w);
    assert_true(allowed(w, fixture_user("alice", NULL, NULL), "get - pods default p", NULL));
    size_t before = rbac_namespaces(w->b);
    for (int i = 0; i < 20; i++) {
        char ns[16];
        snprintf(ns, sizeof(ns), "ns%d", i);
        fixture_put(w->m, many_subjects(&b, ns, 1, 1));
        fixture_put(w->m, many_subjects(&b, ns, 2, 1));
        assert_false(allowed(w, u0, "get - pods ns1 p", NULL));
        fixture_delete(w->m, "rbac.authorization.k8s.io", "RoleBinding", ns, "b1");
        assert_int_equal(rbac_namespaces(w->b), before + 1);
        fixture_delete(w->m, "rbac.authorization.k8s.io", "RoleBinding", ns, "b2");
        assert_int_equal(rbac_namespaces(w->b), before);
    }
    assert_true(allowed(w, fixture_user("alice", NULL, NULL), "get - pods default p", NULL));
    buf_release(&b);
}

static void test_alloc_faults(void **state) {
    struct world *w = *state;
    struct user alice = fixture_user("alice", NULL, NULL);
    put_basic(w);
    for (uint64_t nth = 1;; nth++) {
        struct rbac *b = NULL;
        struct str reason;
        struct rbac_attributes q = {.user = &alice,
                                    .verb = STR("get"),
                                    .resource_request = true,
                                    .resource = STR("pods"),
                                    .ns = STR("default")};
        struct arena a;
        arena_init(&a, 1 << 20);
        mem_fault(nth, 1);
        bool yes = rbac_new(w->m, &b, NULL) == 0 && rbac_allows(b, &q, &a, &reason);
        int hit = mem_fault_hit();
        mem_fault(0, 0);
        if (b) { /* and it recovers */
            assert_true(rbac_allows(b, &q, &w->a, &reason));
        }
        rbac_free(b);
        arena_release(&a);
        assert_true(hit || yes);
        if (!hit) {
            break;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_matching, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cluster_wide, setup, teardown),
        cmocka_unit_test_setup_teardown(test_changes_are_seen, setup, teardown),
        cmocka_unit_test_setup_teardown(test_default_roles, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_default_role_makes_tokens, setup, teardown),
        cmocka_unit_test_setup_teardown(test_escalation, setup, teardown),
        cmocka_unit_test_setup_teardown(test_too_many_in_one_namespace, setup, teardown),
        cmocka_unit_test_setup_teardown(test_room_of_a_namespace, setup, teardown),
        cmocka_unit_test_setup_teardown(test_escalation_of_random_roles, setup, teardown),
        cmocka_unit_test_setup_teardown(test_escalation_is_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(test_binding_escalation, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reviews, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_bindings, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_bindings_of_one_role, setup, teardown),
        cmocka_unit_test_setup_teardown(test_namespaces_go, setup, teardown),
        cmocka_unit_test_setup_teardown(test_alloc_faults, setup, teardown),
    };
    return cmocka_run_group_tests_name("rbac", tests, NULL, NULL);
}
