/*
 * request: classification of a URL and decoding of its query; see request.h for the forms.
 */
#include "server/kit/request.h"

#include "base/limits.h"

enum { PARTS_MAX = 32, QUERY_MAX = 64, FIELD_MANAGER_MAX = 128 };

struct str user_account(const struct user *u) {
    const struct str prefix = STR("system:serviceaccount:");
    struct str name = u->impersonated_by.n > 0 ? u->impersonated_by : u->name;
    ptrdiff_t end = str_starts(name, prefix) ? str_find(str_skip(name, prefix.n), ':') : -1;
    return end >= 0 ? str_head(name, prefix.n + (size_t)end) : name;
}

static int hex(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return -1;
}

int request_unescape(struct arena *a, struct str s, bool plus, struct str *ret, struct err *err) {
    if (str_find(s, '%') < 0 && !(plus && str_find(s, '+') >= 0)) {
        *ret = s;
        return 0;
    }
    char *p = arena_alloc(a, s.n + 1);
    if (p == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '%') {
            int hi = i + 1 < s.n ? hex(s.p[i + 1]) : -1;
            int lo = i + 2 < s.n ? hex(s.p[i + 2]) : -1;
            if (hi < 0 || lo < 0) {
                return err_set(err, ERR_BAD_REQUEST, "invalid URL escape");
            }
            c = (char)(hi * 16 + lo);
            i += 2;
        } else if (plus && c == '+') {
            c = ' ';
        }
        p[n++] = c;
    }
    p[n] = '\0';
    *ret = str_from(p, n);
    return 0;
}

bool request_bool(struct str s, bool *ret) {
    static const char *const yes[] = {"1", "t", "T", "true", "True", "TRUE"};
    static const char *const no[] = {"0", "f", "F", "false", "False", "FALSE"};
    for (size_t i = 0; i < 6; i++) {
        if (str_is(s, yes[i]) || str_is(s, no[i])) {
            *ret = str_is(s, yes[i]);
            return true;
        }
    }
    return false;
}

bool request_query_nth(const struct api_request *q, const char *key, size_t i, struct str *ret) {
    for (size_t k = 0; k < q->n_query; k++) {
        if (str_is(q->query[k].key, key) && i-- == 0) {
            *ret = q->query[k].value;
            return true;
        }
    }
    return false;
}

struct str request_query(const struct api_request *q, const char *key) {
    struct str s = {0};
    (void)request_query_nth(q, key, 0, &s);
    return s;
}

struct str request_key_ns(const struct api_request *q) {
    return q->kind != NULL && (q->kind->flags & KIND_NAMESPACED) ? q->ns : (struct str){0};
}

static int query_parse(struct arena *a, struct str query, struct api_request *q, struct err *err) {
    q->query = ARENA_ARRAY(a, struct str_pair, QUERY_MAX);
    if (q->query == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    struct str part;
    while (str_next(&query, '&', &part)) {
        if (part.n == 0) {
            continue;
        }
        if (q->n_query == QUERY_MAX) {
            return err_set(err, ERR_BAD_REQUEST, "too many query parameters");
        }
        struct str key, value;
        (void)str_cut(part, '=', &key, &value);
        struct str_pair *pair = &q->query[q->n_query];
        int r = request_unescape(a, key, true, &pair->key, err);
        if (r == 0) {
            r = request_unescape(a, value, true, &pair->value, err);
        }
        if (r != 0) {
            return r;
        }
        q->n_query++;
    }
    return 0;
}

static int opt_number(const struct api_request *q, const char *key, int64_t otherwise, int64_t *ret,
                      struct err *err) {
    struct str s;
    *ret = otherwise;
    if (!request_query_nth(q, key, 0, &s) || s.n == 0) {
        return 0;
    }
    if (!str_to_i64(s, ret)) {
        return err_set(err, ERR_BAD_REQUEST, "invalid value for query parameter \"%s\": %.*s", key,
                       STR_ARG(str_head(s, 64)));
    }
    return 0;
}

static int opt_flag(const struct api_request *q, const char *key, struct opt_bool *ret,
                    struct err *err) {
    struct str s;
    if (!request_query_nth(q, key, 0, &s) || s.n == 0) {
        return 0;
    }
    if (!request_bool(s, &ret->v)) {
        return err_set(err, ERR_BAD_REQUEST, "invalid value for query parameter \"%s\": %.*s", key,
                       STR_ARG(str_head(s, 64)));
    }
    ret->set = true;
    return 0;
}

/* dryRun: All is the one legal value; an empty one is none. */
static int opt_dry_run(struct api_request *q, struct err *err) {
    struct str s;
    for (size_t i = 0; request_query_nth(q, "dryRun", i, &s); i++) {
        if (str_is(s, "All")) {
            q->opt.dry_run = true;
        } else if (s.n > 0) {
            return err_set(err, ERR_INVALID,
                           "dryRun: Unsupported value: \"%.*s\": supported values: \"All\"",
                           STR_ARG(str_head(s, 64)));
        }
    }
    return 0;
}

static int opt_validation(struct api_request *q, struct err *err) {
    struct str s = request_query(q, "fieldValidation");
    if (s.n > 0 && !str_is(s, "Ignore") && !str_is(s, "Warn") && !str_is(s, "Strict")) {
        return err_set(err, ERR_INVALID,
                       "fieldValidation: Unsupported value: \"%.*s\": supported values: "
                       "\"Ignore\", \"Strict\", \"Warn\"",
                       STR_ARG(str_head(s, 64)));
    }
    q->opt.field_validation = s;
    return 0;
}

/* includeObject, of tables, and fieldManager. */
static int opt_words(struct api_request *q, struct err *err) {
    struct str object = q->opt.include_object, manager = q->opt.field_manager;
    if (object.n > 0 && !str_is(object, "None") && !str_is(object, "Metadata") &&
        !str_is(object, "Object")) {
        return err_set(err, ERR_BAD_REQUEST,
                       "includeObject: unrecognized value \"%.*s\": expected None, Metadata or "
                       "Object",
                       STR_ARG(str_head(object, 64)));
    }
    if (manager.n > FIELD_MANAGER_MAX) {
        return err_set(err, ERR_INVALID, "fieldManager: Too long: may not be more than %d bytes",
                       FIELD_MANAGER_MAX);
    }
    return 0;
}

static int options_parse(struct api_request *q, struct err *err) {
    struct request_options *o = &q->opt;
    o->label_selector = request_query(q, "labelSelector");
    o->field_selector = request_query(q, "fieldSelector");
    o->resource_version = request_query(q, "resourceVersion");
    o->resource_version_match = request_query(q, "resourceVersionMatch");
    o->continue_token = request_query(q, "continue");
    o->field_manager = request_query(q, "fieldManager");
    o->include_object = request_query(q, "includeObject");
    o->propagation_policy = request_query(q, "propagationPolicy");
    if (o->label_selector.n > LIMIT_SELECTOR_BYTES || o->field_selector.n > LIMIT_SELECTOR_BYTES) {
        return err_set(err, ERR_BAD_REQUEST, "the selector is too long");
    }
    struct str w;
    struct opt_bool bookmarks = {0}, watch = {0};
    int r = opt_flag(q, "watch", &watch, err);
    o->watch = watch.v || (request_query_nth(q, "watch", 0, &w) && w.n == 0);
    r = r ? r : opt_words(q, err);
    r = r ? r : opt_number(q, "limit", 0, &o->limit, err);
    r = r ? r : opt_number(q, "timeoutSeconds", -1, &o->timeout_seconds, err);
    r = r ? r : opt_number(q, "gracePeriodSeconds", -1, &o->grace_seconds, err);
    r = r ? r : opt_flag(q, "sendInitialEvents", &o->send_initial_events, err);
    r = r ? r : opt_flag(q, "allowWatchBookmarks", &bookmarks, err);
    r = r ? r : opt_flag(q, "force", &o->force, err);
    r = r ? r : opt_flag(q, "orphanDependents", &o->orphan_dependents, err);
    r = r ? r : opt_dry_run(q, err);
    r = r ? r : opt_validation(q, err);
    o->allow_bookmarks = bookmarks.v;
    return r;
}

static const char *const verb_names[] = {
    [VERB_OTHER] = "",      [VERB_GET] = "get",       [VERB_LIST] = "list",
    [VERB_WATCH] = "watch", [VERB_CREATE] = "create", [VERB_UPDATE] = "update",
    [VERB_PATCH] = "patch", [VERB_DELETE] = "delete", [VERB_DELETECOLLECTION] = "deletecollection",
};

static enum verb verb_of(const struct api_request *q) {
    if (str_is(q->method, "GET")) {
        return q->name.n > 0 ? VERB_GET : q->opt.watch ? VERB_WATCH : VERB_LIST;
    }
    if (str_is(q->method, "POST")) {
        return VERB_CREATE;
    }
    if (str_is(q->method, "PUT")) {
        return VERB_UPDATE;
    }
    if (str_is(q->method, "PATCH")) {
        return VERB_PATCH;
    }
    if (str_is(q->method, "DELETE")) {
        return q->name.n > 0 ? VERB_DELETE : VERB_DELETECOLLECTION;
    }
    return VERB_OTHER;
}

/* Fills resource, namespace, name, subresource from the segments after the version. */
static void place_parts(struct str *v, size_t n, struct api_request *q) {
    if (n > 1 && str_is(v[0], "namespaces")) {
        q->ns = v[1];
        if (n > 2 && !str_is(v[2], "status") && !str_is(v[2], "finalize")) {
            v += 2;
            n -= 2;
        }
    }
    q->plural = n > 0 ? v[0] : (struct str){0};
    q->name = n > 1 ? v[1] : (struct str){0};
    q->subresource = n > 2 ? v[2] : (struct str){0};
    q->rest = n > 3 ? v[3] : (struct str){0};
}

static int check_name(struct str name, struct err *err) {
    if (str_is(name, ".") || str_is(name, "..") || str_find(name, '/') >= 0 ||
        str_find(name, '%') >= 0 || memchr(name.p ? name.p : "", '\0', name.n) != NULL) {
        return err_set(err, ERR_BAD_REQUEST, "invalid name in the path");
    }
    return 0;
}

/* metadata.name=X in the field selector: what authorization by resourceNames looks at. */
static struct str selected_name(struct str fields) {
    struct str part;
    while (str_next(&fields, ',', &part)) {
        if (str_starts(part, STR("metadata.name="))) {
            part = str_skip(part, 14);
            return part.n > 0 && part.p[0] == '=' ? str_skip(part, 1) : part;
        }
    }
    return (struct str){0};
}

static int parse_resource(struct str *v, size_t n, struct api_request *q, struct err *err) {
    bool watch_prefix = n > 1 && str_is(v[0], "watch");
    if (watch_prefix) {
        v++;
        n--;
    }
    place_parts(v, n, q);
    int r = check_name(q->name, err);
    r = r ? r : check_name(q->ns, err);
    q->verb = verb_of(q);
    if (watch_prefix && str_is(q->method, "GET")) {
        q->verb = VERB_WATCH;
    }
    q->verb_name = str_of(verb_names[q->verb]);
    q->authz_name = q->name;
    if (q->verb == VERB_LIST || q->verb == VERB_WATCH || q->verb == VERB_DELETECOLLECTION) {
        if (q->name.n == 0) {
            q->authz_name = selected_name(q->opt.field_selector);
        }
    }
    q->kind = kind_by_resource(q->group, q->version, q->plural);
    q->kv = q->kind != NULL ? kind_version(q->kind, q->version) : NULL;
    if (r == 0 && q->verb == VERB_OTHER) {
        r = err_set(err, ERR_METHOD,
                    "the server does not allow this method on the requested resource");
    }
    return r;
}

static struct str lower(struct arena *a, struct str s) {
    char *p = arena_alloc(a, s.n + 1);
    if (p == NULL) {
        return (struct str){0};
    }
    for (size_t i = 0; i < s.n; i++) {
        p[i] = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] + 32) : s.p[i];
    }
    p[s.n] = '\0';
    return str_from(p, s.n);
}

/* Segments, decoded; empty ones (doubled or trailing slashes) are left out. */
static int split_path(struct arena *a, struct str path, struct str *v, size_t *n, struct err *err) {
    struct str part;
    while (str_next(&path, '/', &part)) {
        if (part.n == 0) {
            continue;
        }
        if (*n == PARTS_MAX) {
            return err_set(err, ERR_BAD_REQUEST, "the path has too many segments");
        }
        int r = request_unescape(a, part, false, &v[*n], err);
        if (r != 0) {
            return r;
        }
        (*n)++;
    }
    return 0;
}

int request_parse(struct arena *a, struct str method, struct str path, struct str query,
                  struct api_request *ret, struct err *err) {
    struct str v[PARTS_MAX];
    size_t n = 0;
    *ret = (struct api_request){.method = method, .path = path};
    ret->opt.timeout_seconds = ret->opt.grace_seconds = -1;
    ret->verb_name = lower(a, method);
    int r = split_path(a, path, v, &n, err);
    if (r != 0) {
        return r;
    }
    r = query_parse(a, query, ret, err);
    if (r != 0) {
        return r;
    }
    size_t skip = n > 2 && str_is(v[0], "api") ? 2 : n > 3 && str_is(v[0], "apis") ? 3 : 0;
    if (skip == 0) {
        return 0;
    }
    ret->resource = true;
    ret->group = skip == 3 ? v[1] : (struct str){"", 0};
    ret->version = v[skip - 1];
    r = options_parse(ret, err);
    int r2 = parse_resource(v + skip, n - skip, ret, r ? NULL : err);
    return r ? r : r2;
}
