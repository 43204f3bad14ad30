/* flow_rules: which level a request belongs to. See flow_rules.h. */
#include "server/flow/flow_rules.h"

#include <stdlib.h>

#include "base/mem.h"

enum { ARENA_BYTES = 64 << 20, QUEUES = 64, HAND = 8, LENGTH = 50, SHARES = 30 };

#define FLOW_GROUP STR("flowcontrol.apiserver.k8s.io")

struct flow_reader {
    struct flow_rules *r;
    int code;
};

static size_t product(int64_t a, int64_t b) {
    a = a < 1 ? 1 : a > 1000000 ? 1000000 : a;
    b = b < 1 ? 1 : b > 1000000 ? 1000000 : b;
    return (size_t)(a * b);
}

static yyjson_val *tree_of(struct flow_reader *x, const struct object *o) {
    yyjson_doc *doc;
    if (object_tree(o, &x->r->arena, &doc, NULL) != 0) {
        x->code = ERR_NOMEM;
        return NULL;
    }
    return yyjson_doc_get_root(doc);
}

static bool add_level(void *ctx, const struct object *o) {
    struct flow_reader *x = ctx;
    yyjson_val *spec = json_get(tree_of(x, o), STR("spec"));
    yyjson_val *limited = json_get(spec, STR("limited"));
    yyjson_val *q = json_path(limited, "limitResponse.queuing");
    if (x->code != 0 || x->r->n_levels == FLOW_LEVELS_MAX - 1) { /* one is for catch-all */
        return false;
    }
    int64_t length = json_i64_at(q, "queueLengthLimit", LENGTH);
    x->r->levels[x->r->n_levels++] = (struct flow_level_rule){
        .name = arena_str(&x->r->arena, o->name),
        .uid = arena_str(&x->r->arena, o->uid),
        .exempt = str_is(json_str_at(spec, "type"), "Exempt"),
        .rejects = str_is(json_str_at(limited, "limitResponse.type"), "Reject"),
        .shares = json_i64_at(limited, "nominalConcurrencyShares", SHARES),
        .lends = json_i64_at(limited, "lendablePercent", 0),
        .borrows = json_i64_at(limited, "borrowingLimitPercent", -1),
        .flow_waits = product(json_i64_at(q, "handSize", HAND), length),
        .level_waits = product(json_i64_at(q, "queues", QUEUES), length),
    };
    return true;
}

static bool level_index(const struct flow_rules *r, struct str name, size_t *ret) {
    for (size_t i = 0; i < r->n_levels; i++) {
        if (str_eq(name, r->levels[i].name)) {
            *ret = i;
            return true;
        }
    }
    return false;
}

static bool add_schema(void *ctx, const struct object *o) {
    struct flow_reader *x = ctx;
    yyjson_val *spec = json_get(tree_of(x, o), STR("spec"));
    struct str how = json_str_at(spec, "distinguisherMethod.type");
    struct flow_schema_rule s = {.precedence = json_i64_at(spec, "matchingPrecedence", 1000),
                                 .distinguisher = str_is(how, "ByUser")        ? FLOW_BY_USER
                                                  : str_is(how, "ByNamespace") ? FLOW_BY_NAMESPACE
                                                                               : FLOW_ONE,
                                 .rules = json_get(spec, STR("rules"))};
    if (x->code != 0 || x->r->n_schemas == FLOW_SCHEMAS_MAX) {
        return false;
    }
    if (level_index(x->r, json_str_at(spec, "priorityLevelConfiguration.name"), &s.level)) {
        s.name = arena_str(&x->r->arena, o->name);
        s.uid = arena_str(&x->r->arena, o->uid);
        x->r->schemas[x->r->n_schemas++] = s;
    }
    return true;
}

static int by_precedence(const void *a, const void *b) {
    const struct flow_schema_rule *x = a, *y = b;
    return x->precedence != y->precedence ? (x->precedence > y->precedence ? 1 : -1)
                                          : str_cmp(x->name, y->name);
}

/* The level and the schema that take what nothing else does. */
static void add_catch_all(struct flow_rules *r) {
    size_t level;
    if (!level_index(r, STR("catch-all"), &level)) {
        level = r->n_levels++;
        r->levels[level] = (struct flow_level_rule){.name = STR("catch-all"),
                                                    .shares = 5,
                                                    .flow_waits = product(HAND, LENGTH),
                                                    .level_waits = product(QUEUES, LENGTH)};
    }
    r->schemas[r->n_schemas] = (struct flow_schema_rule){
        .name = STR("catch-all"), .level = level, .distinguisher = FLOW_BY_USER};
}

int flow_rules_make(const struct mirror *m, struct flow_rules *ret) {
    struct flow_rules r = {0};
    struct flow_reader x = {.r = &r};
    arena_init(&r.arena, ARENA_BYTES);
    r.schemas = ARENA_ARRAY(&r.arena, struct flow_schema_rule, FLOW_SCHEMAS_MAX + 1);
    if (r.schemas != NULL) {
        mirror_scan(m, kind_by_name(FLOW_GROUP, STR("PriorityLevelConfiguration")), STR(""),
                    add_level, &x);
        mirror_scan(m, kind_by_name(FLOW_GROUP, STR("FlowSchema")), STR(""), add_schema, &x);
    }
    if (x.code != 0 || arena_ok(&r.arena) != 0) {
        flow_rules_release(&r);
        return ERR_NOMEM;
    }
    qsort(r.schemas, r.n_schemas, sizeof(r.schemas[0]), by_precedence);
    add_catch_all(&r);
    *ret = r;
    return 0;
}

void flow_rules_release(struct flow_rules *r) {
    arena_release(&r->arena);
    *r = (struct flow_rules){0};
}

/* ---- matching ---- */

/* The text or "*" is among them. */
static bool lists(yyjson_val *list, struct str s) {
    yyjson_val *v;
    size_t i, max;
    yyjson_arr_foreach(list, i, max, v) {
        if (str_is(json_str(v), "*") || str_eq(json_str(v), s)) {
            return true;
        }
    }
    return false;
}

static bool is_account(struct str user, struct str ns, struct str name) {
    struct str its_ns, its_name, prefix = STR("system:serviceaccount:");
    return str_starts(user, prefix) && str_cut(str_skip(user, prefix.n), ':', &its_ns, &its_name) &&
           str_eq(ns, its_ns) && (str_is(name, "*") || str_eq(name, its_name));
}

static bool is_subject(yyjson_val *s, const struct user *u) {
    struct str kind = json_str(json_get(s, STR("kind")));
    if (str_is(kind, "User")) {
        struct str name = json_str_at(s, "user.name");
        return str_is(name, "*") || str_eq(name, u->name);
    }
    if (str_is(kind, "ServiceAccount")) {
        return is_account(u->name, json_str_at(s, "serviceAccount.namespace"),
                          json_str_at(s, "serviceAccount.name"));
    }
    struct str name = json_str_at(s, "group.name");
    for (size_t i = 0; i < u->groups.n; i++) {
        if (str_is(name, "*") || str_eq(name, u->groups.v[i])) {
            return true;
        }
    }
    return false;
}

static bool is_resource(yyjson_val *rule, const struct api_request *q) {
    char text[256];
    struct str what = q->plural;
    if (q->subresource.n && q->plural.n + 1 + q->subresource.n < sizeof(text)) {
        memcpy(text, q->plural.p, q->plural.n);
        text[q->plural.n] = '/';
        memcpy(text + q->plural.n + 1, q->subresource.p, q->subresource.n);
        what = str_from(text, q->plural.n + 1 + q->subresource.n);
    }
    if (!lists(json_get(rule, STR("verbs")), q->verb_name) ||
        !lists(json_get(rule, STR("apiGroups")), q->group) ||
        !lists(json_get(rule, STR("resources")), what)) {
        return false;
    }
    return q->ns.n ? lists(json_get(rule, STR("namespaces")), q->ns)
                   : json_bool_at(rule, "clusterScope", false);
}

static bool is_path(yyjson_val *rule, const struct api_request *q) {
    yyjson_val *v;
    size_t i, max;
    if (!lists(json_get(rule, STR("verbs")), q->verb_name)) {
        return false;
    }
    yyjson_arr_foreach(json_get(rule, STR("nonResourceURLs")), i, max, v) {
        struct str url = json_str(v);
        if (str_eq(url, q->path) ||
            (str_ends(url, STR("*")) && str_starts(q->path, str_head(url, url.n - 1)))) {
            return true;
        }
    }
    return false;
}

static bool is_match(yyjson_val *rule, const struct api_request *q) {
    yyjson_val *v, *subjects = json_get(rule, STR("subjects"));
    yyjson_val *what = json_get(rule, q->resource ? STR("resourceRules") : STR("nonResourceRules"));
    size_t i, max;
    bool subject = false;
    yyjson_arr_foreach(subjects, i, max, v) {
        subject = subject || is_subject(v, &q->user);
    }
    if (!subject) {
        return false;
    }
    yyjson_arr_foreach(what, i, max, v) {
        if (q->resource ? is_resource(v, q) : is_path(v, q)) {
            return true;
        }
    }
    return false;
}

const struct flow_schema_rule *flow_rules_match(const struct flow_rules *r,
                                                const struct api_request *q) {
    yyjson_val *rule;
    size_t k, max;
    for (size_t i = 0; i < r->n_schemas; i++) {
        yyjson_arr_foreach(r->schemas[i].rules, k, max, rule) {
            if (is_match(rule, q)) {
                return &r->schemas[i];
            }
        }
    }
    return &r->schemas[r->n_schemas]; /* catch-all */
}

struct str flow_rules_key(const struct flow_schema_rule *s, const struct api_request *q,
                          struct arena *a) {
    struct str by = s->distinguisher == FLOW_BY_USER        ? user_account(&q->user)
                    : s->distinguisher == FLOW_BY_NAMESPACE ? q->ns
                                                            : STR("");
    return arena_f(a, "%.*s/%.*s", STR_ARG(s->name), STR_ARG(by));
}

/* ---- what is there from the start ---- */

struct default_level {
    const char *name;
    int shares, lends, queues, hand; /* no queues: it rejects */
};
static const struct default_level levels[] = {
    {"system", 30, 33, 64, 6},         {"node-high", 40, 25, 64, 6},
    {"leader-election", 10, 0, 16, 4}, {"workload-high", 40, 50, 128, 6},
    {"workload-low", 100, 90, 128, 6}, {"global-default", 20, 50, 128, 6},
    {"catch-all", 5, 0, 0, 0},
};

#define ALL_RESOURCES                                                                              \
    "{\"verbs\":[\"*\"],\"apiGroups\":[\"*\"],\"resources\":[\"*\"],\"namespaces\":[\"*\"],"       \
    "\"clusterScope\":true}"
#define ALL_PATHS "{\"verbs\":[\"*\"],\"nonResourceURLs\":[\"*\"]}"
#define ALL ",\"resourceRules\":[" ALL_RESOURCES "],\"nonResourceRules\":[" ALL_PATHS "]}]"
#define GROUP(name_) "{\"kind\":\"Group\",\"group\":{\"name\":\"" name_ "\"}}"
#define USER(name_) "{\"kind\":\"User\",\"user\":{\"name\":\"" name_ "\"}}"
#define ACCOUNT(ns_, name_)                                                                        \
    "{\"kind\":\"ServiceAccount\",\"serviceAccount\":{\"namespace\":\"" ns_ "\",\"name\":\"" name_ \
    "\"}}"
#define SUBJECTS(list_) "[{\"subjects\":[" list_ "]"
#define EVERYBODY GROUP("system:unauthenticated") "," GROUP("system:authenticated")

struct default_schema {
    const char *name, *level;
    int precedence;
    const char *by, *rules;
};
static const struct default_schema schemas[] = {
    {"exempt", "exempt", 1, NULL, SUBJECTS(GROUP("system:masters")) ALL},
    {"probes", "exempt", 2, NULL,
     SUBJECTS(
         EVERYBODY) ",\"nonResourceRules\":[{\"verbs\":[\"get\"],\"nonResourceURLs\":[\"/healthz\","
                    "\"/readyz\",\"/livez\"]}]}]"},
    {"system-leader-election", "leader-election", 100, "ByUser",
     SUBJECTS(USER("system:kube-controller-manager") "," USER("system:kube-scheduler") "," ACCOUNT(
         "kube-system", "*")) ",\"resourceRules\":[{\"verbs\":[\"get\",\"create\",\"update\"],"
                              "\"apiGroups\":[\"coordination.k8s.io\"],\"resources\":[\"leases\"],"
                              "\"namespaces\":[\"*\"]}]}]"},
    {"endpoint-controller", "workload-high", 150, "ByUser",
     SUBJECTS(USER("system:kube-controller-manager") "," ACCOUNT(
         "kube-system",
         "endpoint-controller") "," ACCOUNT("kube-system",
                                            "endpointslicemirroring-controller")) ",\"resourceRules"
                                                                                  "\":[{\"verbs\":["
                                                                                  "\"get\","
                                                                                  "\"create\","
                                                                                  "\"update\"],"
                                                                                  "\"apiGroups\":"
                                                                                  "[\"\"],"
                                                                                  "\"resources\":["
                                                                                  "\"endpoints\"],"
                                                                                  "\"namespaces\":["
                                                                                  "\"*\"]}]}]"},
    {"workload-leader-election", "leader-election", 200, "ByUser",
     SUBJECTS(ACCOUNT("kube-system",
                      "*")) ",\"resourceRules\":[{\"verbs\":[\"get\",\"create\",\"update\"],"
                            "\"apiGroups\":[\"coordination.k8s.io\"],\"resources\":["
                            "\"leases\"],\"namespaces\":[\"*\"]}]}]"},
    {"system-node-high", "node-high", 400, "ByUser",
     SUBJECTS(
         GROUP("system:nodes")) ",\"resourceRules\":[{\"verbs\":[\"*\"],\"apiGroups\":[\"\"],"
                                "\"resources\":[\"nodes\",\"nodes/status\"],\"namespaces\":[\"*\"],"
                                "\"clusterScope\":true},{\"verbs\":[\"*\"],\"apiGroups\":["
                                "\"coordination.k8s.io\"],\"resources\":[\"leases\"],"
                                "\"namespaces\":[\"*\"]}]}]"},
    {"system-nodes", "system", 500, "ByUser", SUBJECTS(GROUP("system:nodes")) ALL},
    {"kube-controller-manager", "workload-high", 800, "ByNamespace",
     SUBJECTS(USER("system:kube-controller-manager")) ALL},
    {"kube-scheduler", "workload-high", 800, "ByNamespace",
     SUBJECTS(USER("system:kube-scheduler")) ALL},
    {"kube-system-service-accounts", "workload-high", 900, "ByNamespace",
     SUBJECTS(ACCOUNT("kube-system", "*")) ALL},
    {"service-accounts", "workload-low", 9000, "ByUser",
     SUBJECTS(GROUP("system:serviceaccounts")) ALL},
    {"global-default", "global-default", 9900, "ByUser", SUBJECTS(EVERYBODY) ALL},
    {"catch-all", "catch-all", 10000, "ByUser", SUBJECTS(EVERYBODY) ALL},
};

static void write_head(struct buf *b, const char *kind, const char *name) {
    buf_f(b,
          "{\"apiVersion\":\"flowcontrol.apiserver.k8s.io/v1\",\"kind\":\"%s\",\"metadata\":{"
          "\"name\":\"%s\",\"annotations\":{\"apf.kubernetes.io/autoupdate-spec\":\"true\"}},",
          kind, name);
}

static void write_level(struct buf *b, const struct default_level *l) {
    write_head(b, "PriorityLevelConfiguration", l->name);
    buf_f(b,
          "\"spec\":{\"type\":\"Limited\",\"limited\":{\"nominalConcurrencyShares\":%d,"
          "\"lendablePercent\":%d,\"limitResponse\":{\"type\":\"%s\"",
          l->shares, l->lends, l->queues ? "Queue" : "Reject");
    if (l->queues) {
        buf_f(b, ",\"queuing\":{\"queues\":%d,\"handSize\":%d,\"queueLengthLimit\":50}", l->queues,
              l->hand);
    }
    buf_c(b, "}}}}");
}

static void write_schema(struct buf *b, const struct default_schema *s) {
    write_head(b, "FlowSchema", s->name);
    buf_f(b,
          "\"spec\":{\"priorityLevelConfiguration\":{\"name\":\"%s\"},\"matchingPrecedence\":%d,",
          s->level, s->precedence);
    if (s->by) {
        buf_f(b, "\"distinguisherMethod\":{\"type\":\"%s\"},", s->by);
    }
    buf_c(b, "\"rules\":");
    buf_c(b, s->rules);
    buf_c(b, "}}");
}

int flow_rules_defaults(int (*each)(void *ctx, struct str json, struct err *err), void *ctx,
                        struct err *err) {
    const size_t n_levels = sizeof(levels) / sizeof(levels[0]);
    struct buf b;
    int r = 0;
    buf_init(&b, 0);
    write_head(&b, "PriorityLevelConfiguration", "exempt");
    buf_c(&b, "\"spec\":{\"type\":\"Exempt\",\"exempt\":{\"nominalConcurrencyShares\":0,"
              "\"lendablePercent\":0}}}");
    for (size_t i = 0; r == 0 && i < n_levels + 1 + sizeof(schemas) / sizeof(schemas[0]); i++) {
        if (i > 0) {
            buf_reset(&b);
        }
        if (i > 0 && i <= n_levels) {
            write_level(&b, &levels[i - 1]);
        } else if (i > n_levels) {
            write_schema(&b, &schemas[i - 1 - n_levels]);
        }
        r = buf_ok(&b) ? err_set(err, ERR_NOMEM, "out of memory") : each(ctx, buf_view(&b), err);
    }
    buf_release(&b);
    return r;
}
