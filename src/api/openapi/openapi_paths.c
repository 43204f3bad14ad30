/*
 * openapi_paths: what can be asked of a resource, operation by operation. See openapi_int.h.
 *
 * Parameters are written once a document and referred to, but for those of PATCH: kubectl looks there for
 * fieldValidation, and follows no references.
 */
#include "api/openapi/openapi_private.h"
#include "api/openapi/subresource.h"
#include "api/tables/rows.h"

/* ---- parameters ---- */

enum parameter_set {
    FOR_ALL = 1 << 0,
    FOR_LIST = 1 << 1,
    FOR_WRITE = 1 << 2, /* create, update */
    FOR_PATCH = 1 << 3,
    FOR_DELETE = 1 << 4,
    FOR_MANY = 1 << 5, /* deletecollection */
    FOR_NAMESPACE = 1 << 6,
    FOR_NAME = 1 << 7,
};
#define FOR_LISTS (FOR_LIST | FOR_MANY)
#define FOR_WRITES (FOR_WRITE | FOR_PATCH)

static const struct parameter {
    const char *name, *type, *doc;
    unsigned sets;
} parameters[] = {
    {"pretty", "string", "Indents the answer.", FOR_ALL},
    {"allowWatchBookmarks", "boolean", "Asks a watch for bookmarks.", FOR_LIST},
    {"continue", "string", "Token of the page before.", FOR_LISTS},
    {"dryRun", "string", "All: checks everything and stores nothing.",
     FOR_WRITES | FOR_DELETE | FOR_MANY},
    {"fieldManager", "string", "Name of who manages the fields that are written.", FOR_WRITES},
    {"fieldSelector", "string", "Objects whose fields have these values.", FOR_LISTS},
    {"fieldValidation", "string", "Unknown and duplicate fields: Ignore, Warn or Strict.",
     FOR_WRITES},
    {"force", "boolean", "Takes fields over from other managers.", FOR_PATCH},
    {"gracePeriodSeconds", "integer", "Grace period in seconds; 0 deletes at once.",
     FOR_DELETE | FOR_MANY},
    {"labelSelector", "string", "Objects with these labels.", FOR_LISTS},
    {"limit", "integer", "Most items of a page.", FOR_LISTS},
    {"orphanDependents", "boolean", "Deprecated form of propagationPolicy.", FOR_DELETE | FOR_MANY},
    {"propagationPolicy", "string", "Policy for dependents: Orphan, Background or Foreground.",
     FOR_DELETE | FOR_MANY},
    {"resourceVersion", "string", "State to begin with.", FOR_LISTS},
    {"resourceVersionMatch", "string", "How resourceVersion is meant: Exact or NotOlderThan.",
     FOR_LISTS},
    {"sendInitialEvents", "boolean", "Begins a watch with what there is.", FOR_LISTS},
    {"timeoutSeconds", "integer", "End of the call, in seconds.", FOR_LISTS},
    {"watch", "boolean", "Changes, as a stream.", FOR_LIST},
    {"namespace", "string", "Namespace of the object.", FOR_NAMESPACE},
    {"name", "string", "Name of the object.", FOR_NAME},
};

static void write_parameter(struct buf *b, bool v2, const struct parameter *p) {
    bool path = p->sets & (FOR_NAME | FOR_NAMESPACE);
    buf_ch(b, '{');
    openapi_pair(b, "name", str_of(p->name));
    openapi_pair(b, "in", path ? STR("path") : STR("query"));
    openapi_pair(b, "description", str_of(p->doc));
    buf_c(b, path ? ",\"required\":true" : "");
    buf_c(b, v2 ? ",\"uniqueItems\":true," : ",\"schema\":{\"uniqueItems\":true,");
    buf_f(b, "\"type\":\"%s\"%s", p->type, v2 ? "}" : "}}");
}

void openapi_parameters(struct buf *b, bool v2) {
    for (size_t i = 0; i < COUNT(parameters); i++) {
        buf_f(b, "%s\"%s\":", i ? "," : "", parameters[i].name);
        write_parameter(b, v2, &parameters[i]);
    }
}

static void write_parameters(struct buf *b, bool v2, unsigned sets) {
    for (size_t i = 0; i < COUNT(parameters); i++) {
        if (!(parameters[i].sets & sets)) {
            continue;
        }
        place_comma(b);
        if (sets & FOR_PATCH) {
            write_parameter(b, v2, &parameters[i]);
        } else {
            buf_f(b, "{\"$ref\":\"#/%s/%s\"}", v2 ? "parameters" : "components/parameters",
                  parameters[i].name);
        }
    }
}

/* ---- bodies ---- */

static const struct schema schema_scale_spec = SCHEMA(
    "io.k8s.api.autoscaling.v1.ScaleSpec",
    ((const struct field[]){F(INT32, ONE, "replicas", 0, .doc = "Number of replicas wanted.")}), 0,
    "Desired state, set by the user.");
static const struct schema schema_scale_status = SCHEMA(
    "io.k8s.api.autoscaling.v1.ScaleStatus",
    ((const struct field[]){F(INT32, ONE, "replicas", 0, .doc = "Number of replicas there are."),
                            TEXT("selector", "Label selector of the pods, as text.")}),
    0, "Observed state, set by controllers.");
TABLE(static, scale, "io.k8s.api.autoscaling.v1.Scale", "The number of replicas of an object.",
      ROWS_OF_OBJECT, ONE_OF("spec", scale_spec, 0, "Desired state, set by the user."),
      ONE_OF("status", scale_status, 0, "Observed state, set by controllers."));

const struct schema *openapi_body(const struct kind_version *kv, const char *kind) {
    static const struct kind *const bodies[] = {&kind_eviction, &kind_token_request,
                                                &kind_delete_options, &kind_status};
    if (kind == NULL) {
        return kv->schema;
    }
    for (size_t i = 0; i < COUNT(bodies); i++) {
        if (strcmp(bodies[i]->kind, kind) == 0) {
            return bodies[i]->versions[0].schema;
        }
    }
    return strcmp(kind, "Scale") == 0 ? &schema_scale : NULL;
}

/* ---- operations ---- */

enum operation_at { AT_ALL, AT_COLLECTION, AT_OBJECT };

static const struct operation {
    const char *method, *verb; /* of HTTP; of Kubernetes */
    enum operation_at at;
    const char *word; /* first of its id */
    unsigned sets;    /* of parameters */
    enum { NO_BODY, BODY_OBJECT, BODY_PATCH, BODY_OPTIONS } body;
    enum { ANSWER_OBJECT, ANSWER_LIST, ANSWER_STATUS } answer;
} operations[] = {
    {"get", "list", AT_ALL, "list", FOR_LIST, NO_BODY, ANSWER_LIST},
    {"get", "list", AT_COLLECTION, "list", FOR_LIST, NO_BODY, ANSWER_LIST},
    {"post", "create", AT_COLLECTION, "create", FOR_WRITE, BODY_OBJECT, ANSWER_OBJECT},
    {"delete", "deletecollection", AT_COLLECTION, "delete", FOR_MANY, BODY_OPTIONS, ANSWER_STATUS},
    {"get", "get", AT_OBJECT, "read", 0, NO_BODY, ANSWER_OBJECT},
    {"put", "update", AT_OBJECT, "replace", FOR_WRITE, BODY_OBJECT, ANSWER_OBJECT},
    {"patch", "patch", AT_OBJECT, "patch", FOR_PATCH, BODY_PATCH, ANSWER_OBJECT},
    {"delete", "delete", AT_OBJECT, "delete", FOR_DELETE, BODY_OPTIONS, ANSWER_STATUS},
    {"post", "create", AT_OBJECT, "create", FOR_WRITE, BODY_OBJECT, ANSWER_OBJECT},
};

struct path_writer {
    struct buf *b;
    bool v2;
    const struct kind *k;
    const struct kind_version *kv;
    const struct subresource *sub; /* NULL: the resource itself */
    char group[128];               /* "apps", "rbacAuthorization": as tags and ids have it */
};

/* "rbac.authorization.k8s.io" is rbacAuthorization, "" is core: parts begin with a large letter, but for the first. */
static void name_group(struct path_writer *p) {
    struct str rest = str_of(p->k->group[0] ? p->k->group : "core"), part;
    size_t n = 0;
    if (str_ends(rest, STR(".k8s.io"))) {
        rest = str_head(rest, rest.n - 7);
    }
    for (int i = 0; str_next(&rest, '.', &part); i++) {
        bool large = i > 0;
        for (size_t j = 0; j < part.n && n + 1 < sizeof(p->group); j++) {
            char c = part.p[j];
            if (c == '-') {
                large = true;
                continue;
            }
            p->group[n++] = (char)(large && c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
            large = false;
        }
    }
    p->group[n] = '\0';
}

static void write_large(struct buf *b, const char *word) {
    if (word[0] != '\0') {
        buf_ch(b, (char)(word[0] >= 'a' && word[0] <= 'z' ? word[0] - 'a' + 'A' : word[0]));
        buf_c(b, word + 1);
    }
}

/* "patchAppsV1NamespacedDeploymentScale" */
static void write_id(const struct path_writer *p, const struct operation *o) {
    struct buf *b = p->b;
    place_name(b, STR("operationId"));
    buf_f(b, "\"%s", o->word);
    write_large(b, p->group);
    write_large(b, p->kv->version);
    buf_c(b, strcmp(o->verb, "deletecollection") == 0 ? "Collection" : "");
    buf_c(b, p->k->flags & KIND_NAMESPACED && o->at != AT_ALL ? "Namespaced" : "");
    buf_c(b, p->k->kind);
    write_large(b, p->sub != NULL ? p->sub->name : "");
    buf_c(b, p->k->flags & KIND_NAMESPACED && o->at == AT_ALL ? "ForAllNamespaces\"" : "\"");
}

/* {"$ref":...} of what is sent or answered. */
static void write_schema_of(const struct path_writer *p, const struct schema *s, bool list) {
    buf_ch(p->b, '{');
    if (s == NULL) {
        openapi_pair(p->b, "type", STR("string"));
    } else {
        openapi_ref(p->b, p->v2, str_of(s->name));
        if (list) { /* the name goes on */
            p->b->n -= p->b->failed ? 0 : 1;
            buf_c(p->b, "List\"");
        }
    }
    buf_ch(p->b, '}');
}

static const struct schema *body_of(const struct path_writer *p, const struct operation *o) {
    static const struct schema patch = {.name = PLACE_META "Patch"};
    return o->body == BODY_PATCH     ? &patch
           : o->body == BODY_OPTIONS ? openapi_body(p->kv, "DeleteOptions")
           : p->sub != NULL          ? openapi_body(p->kv, p->sub->kind)
                                     : p->kv->schema;
}

static const char *const patch_types[] = {
    "application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml",
    "application/strategic-merge-patch+json", /* last: custom kinds have none */
};
static const char *const plain_types[] = {"application/json", "application/yaml"};

static const char *const *types_of(const struct path_writer *p, const struct operation *o,
                                   size_t *n) {
    bool patch = o->body == BODY_PATCH;
    *n = patch ? COUNT(patch_types) - (p->k->flags & KIND_CUSTOM ? 1 : 0) : COUNT(plain_types);
    return patch ? patch_types : plain_types;
}

static void write_content(const struct path_writer *p, const char *const *types, size_t n,
                          const struct schema *s, bool list) {
    place_name(p->b, STR("content"));
    buf_ch(p->b, '{');
    for (size_t i = 0; i < n; i++) {
        place_name(p->b, str_of(types[i]));
        buf_c(p->b, "{\"schema\":");
        write_schema_of(p, s, list);
        buf_ch(p->b, '}');
    }
    buf_ch(p->b, '}');
}

static void write_body(const struct path_writer *p, const struct operation *o) {
    size_t n;
    const char *const *types = types_of(p, o, &n);
    if (o->body == NO_BODY || p->v2) {
        return;
    }
    place_name(p->b, STR("requestBody"));
    buf_ch(p->b, '{');
    write_content(p, types, n, body_of(p, o), false);
    buf_c(p->b, o->body == BODY_OPTIONS ? "}" : ",\"required\":true}");
}

static void write_types(struct buf *b, const char *name, const char *const *types, size_t n) {
    place_name(b, str_of(name));
    buf_ch(b, '[');
    for (size_t i = 0; i < n; i++) {
        place_comma(b);
        buf_json(b, str_of(types[i]));
    }
    buf_ch(b, ']');
}

static void write_answer(const struct path_writer *p, const struct operation *o) {
    const struct schema *s = o->answer == ANSWER_STATUS ? openapi_body(p->kv, "Status")
                             : p->sub != NULL           ? openapi_body(p->kv, p->sub->kind)
                                                        : p->kv->schema;
    bool list = o->answer == ANSWER_LIST;
    bool made = strcmp(o->verb, "create") == 0;
    buf_f(p->b, ",\"responses\":{\"%s\":{\"description\":\"%s\"", made ? "201" : "200",
          made ? "Created" : "OK");
    if (p->v2) {
        place_name(p->b, STR("schema"));
        write_schema_of(p, s, list);
    } else {
        write_content(p, plain_types, COUNT(plain_types), s, list);
    }
    buf_c(p->b, "},\"401\":{\"description\":\"Unauthorized\"}}");
}

static void write_operation(const struct path_writer *p, const struct operation *o) {
    struct buf *b = p->b;
    size_t n;
    bool own = p->sub == NULL || p->sub->kind == NULL;
    place_name(b, str_of(o->method));
    buf_ch(b, '{');
    place_name(b, STR("description"));
    buf_f(b, "\"%s %s of kind %s\"", o->verb, p->sub ? p->sub->name : "objects", p->k->kind);
    write_id(p, o);
    buf_f(b, ",\"tags\":[\"%s_%s\"]", p->group, p->kv->version);
    if (p->v2) {
        const char *const *types = types_of(p, o, &n);
        buf_c(b, ",\"schemes\":[\"https\"]");
        write_types(b, "consumes", types, n);
        write_types(b, "produces", plain_types, COUNT(plain_types));
    }
    buf_c(b, ",\"parameters\":[");
    if (p->v2 && o->body != NO_BODY) {
        buf_f(b, "{\"name\":\"body\",\"in\":\"body\"%s,\"schema\":",
              o->body == BODY_OPTIONS ? "" : ",\"required\":true");
        write_schema_of(p, body_of(p, o), false);
        buf_ch(b, '}');
    }
    write_parameters(b, p->v2, o->sets);
    buf_ch(b, ']');
    write_body(p, o);
    write_answer(p, o);
    buf_c(b, ",\"x-kubernetes-action\":");
    buf_json(b, str_of(o->verb[0] == 'c' ? "post" : o->verb[0] == 'u' ? "put" : o->verb));
    buf_c(b, ",\"x-kubernetes-group-version-kind\":");
    openapi_gvk(b, str_of(own ? p->k->group : p->sub->group),
                str_of(own ? p->kv->version : p->sub->version),
                str_of(own ? p->k->kind : p->sub->kind));
    buf_ch(b, '}');
}

/* Which of the verbs there are: of a subresource as its row says, else by the kind's flags. */
static bool is_there(const struct path_writer *p, const struct operation *o) {
    if (p->sub != NULL) {
        char quoted[24];
        (void)snprintf(quoted, sizeof(quoted), "\"%s\"", o->verb);
        return o->at == AT_OBJECT && strcmp(o->verb, "delete") != 0 &&
               strstr(p->sub->verbs, quoted) != NULL;
    }
    bool only_computed = (p->k->flags & KIND_COMPUTED) && p->k->subresources != NULL;
    bool reads = strcmp(o->method, "get") == 0, creates = strcmp(o->verb, "create") == 0;
    if (only_computed || (o->at == AT_ALL && !(p->k->flags & KIND_NAMESPACED)) ||
        (creates && o->at == AT_OBJECT)) {
        return false;
    }
    /* Of what can only be created a patch is told as well, which is answered 405: kubectl looks there whether a kind
     * knows fieldValidation, and else lists CustomResourceDefinitions, which users may not. */
    bool told = creates || strcmp(o->verb, "patch") == 0;
    return p->k->flags & KIND_VIRTUAL ? told : p->k->flags & KIND_COMPUTED ? reads : true;
}

static void write_path(const struct path_writer *p, enum operation_at at) {
    struct buf *b = p->b;
    bool namespaced = (p->k->flags & KIND_NAMESPACED) && at != AT_ALL, some = false;
    for (size_t i = 0; i < COUNT(operations); i++) {
        const struct operation *o = &operations[i];
        if (o->at != at || !is_there(p, o)) {
            continue;
        }
        if (!some) {
            place_comma(b);
            buf_ch(b, '"');
            buf_f(b, p->k->group[0] ? "/apis/%s/%s" : "/api%s/%s", p->k->group, p->kv->version);
            buf_c(b, namespaced ? "/namespaces/{namespace}" : "");
            buf_f(b, "/%s%s", p->k->plural, at == AT_OBJECT ? "/{name}" : "");
            buf_f(b, "%s%s\":{", p->sub ? "/" : "", p->sub ? p->sub->name : "");
            some = true;
        }
        write_operation(p, o);
    }
    if (some) {
        buf_c(b, ",\"parameters\":[");
        write_parameters(b, p->v2,
                         FOR_ALL | (namespaced ? FOR_NAMESPACE : 0) |
                             (at == AT_OBJECT ? FOR_NAME : 0));
        buf_c(b, "]}");
    }
}

void openapi_paths(struct buf *b, bool v2, const struct kind *k, const struct kind_version *kv) {
    struct path_writer p = {.b = b, .v2 = v2, .k = k, .kv = kv};
    name_group(&p);
    write_path(&p, AT_ALL);
    write_path(&p, AT_COLLECTION);
    write_path(&p, AT_OBJECT);
    for (size_t i = 0; (p.sub = subresource_at(k, i)) != NULL; i++) {
        write_path(&p, AT_OBJECT);
    }
}
