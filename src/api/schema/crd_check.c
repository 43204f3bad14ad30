/*
 * crd_check: the rules of CustomResourceDefinitions: names, versions, columns, what may change. See crd_check.h.
 */
#include "api/schema/crd_check.h"

#include "api/schema/cells.h"
#include "api/schema/check.h"
#include "api/schema/crd_path.h"
#include "base/limits.h"

static void set_if_absent(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *key, struct str v) {
    if (json_mstr(json_mget(obj, str_of(key))).n == 0) {
        (void)json_mset_str(d, obj, key, v);
    }
}

void crd_set_defaults(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    yyjson_mut_val *names = json_mpath(obj, "spec.names");
    yyjson_mut_val *conversion = json_mensure(d, obj, "spec.conversion");
    if (!yyjson_mut_is_obj(names) || conversion == NULL) {
        return;
    }
    char lower[LIMIT_NAME + 1], list[LIMIT_NAME + 5];
    struct str kind = json_mstr(json_mget(names, STR("kind")));
    size_t n = 0;
    for (; n < kind.n && n < LIMIT_NAME; n++) {
        char c = kind.p[n];
        lower[n] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    }
    (void)err;
    (void)snprintf(list, sizeof(list), "%.*sList", (int)(kind.n < LIMIT_NAME ? kind.n : LIMIT_NAME),
                   kind.p != NULL ? kind.p : "");
    set_if_absent(d, names, "singular", str_from(lower, n));
    set_if_absent(d, names, "listKind", str_of(list));
    set_if_absent(d, conversion, "strategy", STR("None"));
    if (json_mget(json_mget(obj, STR("spec")), STR("preserveUnknownFields")) != NULL &&
        !yyjson_mut_get_bool(json_mpath(obj, "spec.preserveUnknownFields"))) {
        json_mdel(json_mget(obj, STR("spec")), STR("preserveUnknownFields"));
    }
}

/* The version that is stored is remembered for ever: objects of it may lie in the store. */
void crd_prepare(yyjson_mut_doc *d, yyjson_mut_val *obj, yyjson_val *old, int64_t now) {
    (void)now;
    (void)old;
    yyjson_mut_val *status = json_mensure(d, obj, "status");
    if (status == NULL) {
        return;
    }
    yyjson_mut_val *stored = json_mget(status, STR("storedVersions"));
    if (!yyjson_mut_is_arr(stored)) {
        stored = yyjson_mut_arr(d);
        (void)json_mset(d, status, STR("storedVersions"), stored);
    }
    EACH(json_mpath(obj, "spec.versions"), i, v) {
        (void)i;
        struct str name = json_mstr(json_mget(v, STR("name")));
        if (!yyjson_mut_get_bool(json_mget(v, STR("storage")))) {
            continue;
        }
        bool known = false;
        EACH(stored, j, s) {
            (void)j;
            known |= str_eq(json_mstr(s), name);
        }
        if (!known && stored != NULL) {
            yyjson_mut_arr_add_strncpy(d, stored, name.p, name.n);
        }
    }
    if (json_mget(status, STR("conditions")) == NULL) {
        (void)json_mset(d, status, STR("conditions"), yyjson_mut_arr(d));
    }
    if (json_mget(status, STR("acceptedNames")) == NULL) {
        yyjson_mut_val *names = json_mensure(d, obj, "status.acceptedNames");
        if (names != NULL) {
            (void)json_mset_str(d, names, "kind", STR(""));
            (void)json_mset_str(d, names, "plural", STR(""));
        }
    }
}

/* ---- the rules ---- */

static struct str text_at(yyjson_val *v, const char *dotted) {
    return json_str_at(v, dotted);
}

/* Dots below `at`: "names.plural". */
static struct path below(const struct path *at, const char *name) {
    return path_member(at, name);
}

static void check_label(struct causes *c, const struct path *at, const char *name, struct str v,
                        bool any_case) {
    char lower[LIMIT_LABEL + 2];
    struct path here = below(at, name);
    struct str s = str_head(v, LIMIT_LABEL + 1);
    for (size_t i = 0; i < s.n; i++) {
        lower[i] = any_case && s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] + 32) : s.p[i];
    }
    const char *fault = v.n > 0 ? format_fault("dns1035-label", str_from(lower, s.n)) : NULL;
    if (v.n == 0) {
        cause_required(c, &here, NULL);
    } else if (fault != NULL) {
        cause_invalid(c, &here, v, "%s%s",
                      any_case ? "may have mixed case, but should otherwise match: " : "", fault);
    }
}

static void check_names(struct causes *c, yyjson_val *spec, const struct path *at) {
    struct path names = below(at, "names"), here;
    yyjson_val *v = json_get(spec, STR("names"));
    check_label(c, &names, "plural", text_at(v, "plural"), false);
    check_label(c, &names, "singular", text_at(v, "singular"), false);
    check_label(c, &names, "kind", text_at(v, "kind"), true);
    check_label(c, &names, "listKind", text_at(v, "listKind"), true);
    if (text_at(v, "kind").n > 0 && str_eq(text_at(v, "kind"), text_at(v, "listKind"))) {
        here = below(&names, "listKind");
        cause_invalid(c, &here, text_at(v, "listKind"), "kind and listKind may not be the same");
    }
    static const char *const lists[] = {"shortNames", "categories"};
    for (size_t k = 0; k < COUNT(lists); k++) {
        yyjson_val *list = json_get(v, str_of(lists[k]));
        here = below(&names, lists[k]);
        size_t i, n;
        yyjson_val *e;
        yyjson_arr_foreach(list, i, n, e) {
            struct path item = path_index(&here, i);
            struct str name = json_str(e);
            const char *fault = format_fault("dns1035-label", name);
            if (fault != NULL) {
                cause_invalid(c, &item, name, "%s", fault);
            }
        }
    }
}

static void check_columns(struct causes *c, yyjson_val *version, const struct path *at) {
    static const char *const types[] = {"boolean", "date", "integer", "number", "string"};
    static const char *const formats[] = {"int32", "int64", "float",     "double",
                                          "byte",  "date",  "date-time", "password"};
    yyjson_val *list = json_get(version, STR("additionalPrinterColumns"));
    struct path up = below(at, "additionalPrinterColumns");
    size_t n = yyjson_arr_size(list);
    if (n > LIMIT_CRD_COLUMNS) {
        causes_add(c, CAUSE_TOO_MANY, path_text(&up, c->arena),
                   "Too many: %zu: must have at most %d items", n, LIMIT_CRD_COLUMNS);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        yyjson_val *col = yyjson_arr_get(list, i);
        struct path item = path_index(&up, i), type_at = below(&item, "type");
        struct path format_at = below(&item, "format"), json_at = below(&item, "jsonPath");
        struct str type = text_at(col, "type"), format = text_at(col, "format");
        struct str path = text_at(col, "jsonPath");
        bool known = false, usual = format.n == 0;
        for (size_t k = 0; k < COUNT(types); k++) {
            known |= str_is(type, types[k]);
        }
        for (size_t k = 0; k < COUNT(formats); k++) {
            usual |= str_is(format, formats[k]);
        }
        if (!known && type.n > 0) {
            cause_invalid(c, &type_at, type, "must be one of boolean,date,integer,number,string");
        }
        if (!usual) {
            cause_invalid(c, &format_at, format,
                          "must be one of byte,date,date-time,double,float,int32,int64,password");
        }
        struct err err = {0};
        if (path.n > 0 && crd_path_check(path, &err) != 0) {
            cause_invalid(c, &json_at, path, "%s", err.text);
        }
    }
}

/* The schema at ".spec.color"; NULL when it names nothing. */
static yyjson_val *schema_at(yyjson_val *schema, struct str path) {
    struct str part;
    if (path.n == 0 || path.p[0] != '.') {
        return NULL;
    }
    path = str_skip(path, 1);
    while (schema != NULL && str_next(&path, '.', &part)) {
        yyjson_val *props = json_get(schema, STR("properties"));
        yyjson_val *more = json_get(schema, STR("additionalProperties"));
        yyjson_val *next = json_get(props, part);
        schema = next != NULL ? next : yyjson_is_obj(more) ? more : NULL;
    }
    return schema;
}

static void check_selectable(struct causes *c, yyjson_val *version, const struct path *at) {
    enum { MOST = 8 };
    yyjson_val *list = json_get(version, STR("selectableFields"));
    yyjson_val *schema = json_path(version, "schema.openAPIV3Schema");
    struct path up = below(at, "selectableFields");
    size_t n = yyjson_arr_size(list);
    if (n > MOST) {
        causes_add(c, CAUSE_TOO_MANY, path_text(&up, c->arena),
                   "Too many: %zu: must have at most %d items", n, MOST);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct path item = path_index(&up, i), here = below(&item, "jsonPath");
        struct str path = text_at(yyjson_arr_get(list, i), "jsonPath");
        yyjson_val *s = schema_at(schema, path);
        struct str type = text_at(s, "type");
        if (path.n == 0) {
            continue; /* told as required */
        }
        if (str_starts(path, STR(".metadata"))) {
            cause_invalid(c, &here, path, "must not point to fields in metadata");
        } else if (s == NULL) {
            cause_invalid(c, &here, path, "is an invalid path: does not refer to a valid field");
        } else if (!str_is(type, "string") && !str_is(type, "boolean") &&
                   !str_is(type, "integer")) {
            cause_invalid(c, &here, path,
                          "must point to a field of type string, boolean or integer. Enum string "
                          "fields and strings with formats are allowed.");
        }
        for (size_t k = 0; k < i; k++) {
            if (str_eq(path, text_at(yyjson_arr_get(list, k), "jsonPath"))) {
                cause_duplicate(c, &here, path);
            }
        }
    }
}

static void check_scale(struct causes *c, yyjson_val *version, const struct path *at) {
    static const struct {
        const char *name, *prefix, *other, *text;
    } rows[] = {
        {"specReplicasPath", ".spec.", ".spec.", "should be a json path under .spec"},
        {"statusReplicasPath", ".status.", ".status.", "should be a json path under .status"},
        {"labelSelectorPath", ".spec.", ".status.",
         "should be a json path under either .spec or .status"},
    };
    yyjson_val *scale = json_path(version, "subresources.scale");
    struct path subs = below(at, "subresources"), up = below(&subs, "scale");
    for (size_t i = 0; scale != NULL && i < COUNT(rows); i++) {
        struct path here = below(&up, rows[i].name);
        struct str path = text_at(scale, rows[i].name);
        if (path.n == 0) {
            continue;
        }
        if (path.p[0] != '.') {
            cause_invalid(c, &here, path, "must be a simple json path starting with .");
        } else if (!str_starts(path, str_of(rows[i].prefix)) &&
                   !str_starts(path, str_of(rows[i].other))) {
            cause_invalid(c, &here, path, "%s", rows[i].text);
        }
    }
}

/* The schema that the definition had before for a version of this name; NULL: none. */
static yyjson_val *old_schema(yyjson_val *old, struct str name) {
    yyjson_val *list = json_path(old, "spec.versions"), *v;
    size_t i, n;
    yyjson_arr_foreach(list, i, n, v) {
        if (str_eq(text_at(v, "name"), name)) {
            return json_path(v, "schema.openAPIV3Schema");
        }
    }
    return NULL;
}

/* What a single version says stands where definitions had it before they had versions. */
static void check_version(struct causes *c, yyjson_val *version, yyjson_val *old, bool single,
                          const struct path *at) {
    struct path spec = path_member(NULL, "spec");
    const struct path *top = single ? &spec : at;
    struct str name = text_at(version, "name");
    yyjson_val *schema = json_path(version, "schema.openAPIV3Schema");
    struct path name_at = below(at, "name");
    struct path up = single ? below(&spec, "validation") : below(at, "schema");
    struct path schema_path = below(&up, "openAPIV3Schema");
    const char *fault = name.n > 0 ? format_fault("dns1035-label", name) : NULL;
    if (fault != NULL) {
        cause_invalid(c, &name_at, name, "%s", fault);
    }
    if (schema == NULL) {
        cause_required(c, &schema_path, NULL);
    } else {
        size_t before = c->n;
        crd_structural(schema, old_schema(old, name), &schema_path, c);
        if (c->n == before && !arena_spent(c->arena)) {
            crd_check_defaults(schema, &schema_path, c);
        }
    }
    if (json_bool_at(schema, "nullable", false)) {
        struct path here = below(&schema_path, "nullable");
        cause_forbidden(c, &here, "nullable cannot be true at the root");
    }
    yyjson_val *warning = json_get(version, STR("deprecationWarning"));
    struct path warning_at = below(at, "deprecationWarning");
    if (warning != NULL && !json_bool_at(version, "deprecated", false)) {
        cause_invalid(c, &warning_at, json_str(warning), "can only be set for deprecated versions");
    } else if (warning != NULL && json_str(warning).n > 256) {
        cause_invalid(c, &warning_at, json_str(warning), "must be <= 256 characters long");
    }
    check_columns(c, version, top);
    check_selectable(c, version, top);
    check_scale(c, version, top);
}

static void check_versions(struct causes *c, yyjson_val *crd, yyjson_val *old,
                           const struct path *at) {
    yyjson_val *list = json_path(crd, "spec.versions");
    struct path up = below(at, "versions");
    size_t n = yyjson_arr_size(list), stored = 0;
    bool twice = false;
    if (n > LIMIT_CRD_VERSIONS) {
        causes_add(c, CAUSE_TOO_MANY, path_text(&up, c->arena),
                   "Too many: %zu: must have at most %d items", n, LIMIT_CRD_VERSIONS);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        yyjson_val *v = yyjson_arr_get(list, i);
        struct path here = path_index(&up, i);
        check_version(c, v, old, n == 1, &here);
        stored += json_bool_at(v, "storage", false);
        for (size_t k = 0; k < i; k++) {
            twice |= str_eq(text_at(v, "name"), text_at(yyjson_arr_get(list, k), "name"));
        }
    }
    if (twice) {
        cause_invalid(c, &up, STR(""), "must contain unique version names");
    }
    if (stored != 1) {
        cause_invalid(c, &up, STR(""), "must have exactly one version marked as storage version");
    }
    struct path status = path_member(NULL, "status"), old_at = below(&status, "storedVersions");
    yyjson_val *was = json_path(crd, "status.storedVersions");
    size_t i, n_was;
    yyjson_val *e;
    yyjson_arr_foreach(was, i, n_was, e) {
        struct str name = json_str(e);
        bool there = false;
        for (size_t k = 0; k < n; k++) {
            there |= str_eq(name, text_at(yyjson_arr_get(list, k), "name"));
        }
        if (!there) {
            struct path here = path_index(&old_at, i);
            cause_invalid(c, &here, name,
                          "missing from spec.versions; %.*s was previously a storage version, and "
                          "must remain in spec.versions until a storage migration ensures no data "
                          "remains persisted in %.*s and removes %.*s from status.storedVersions",
                          STR_ARG(name), STR_ARG(name), STR_ARG(name));
        }
    }
}

static void check_conversion(struct causes *c, yyjson_val *spec, const struct path *at) {
    struct path up = below(at, "conversion"), hook = below(&up, "webhook");
    struct path client = below(&hook, "clientConfig");
    yyjson_val *v = json_get(spec, STR("conversion")), *webhook = json_get(v, STR("webhook"));
    bool calls = str_is(text_at(v, "strategy"), "Webhook");
    yyjson_val *config = json_get(webhook, STR("clientConfig"));
    if (!calls && webhook != NULL) {
        cause_forbidden(c, &hook, "should not be set when strategy is not set to Webhook");
    }
    if (calls && config == NULL) {
        cause_required(c, &client, "required when strategy is set to Webhook");
    } else if (calls && (json_get(config, STR("url")) != NULL) ==
                            (json_get(config, STR("service")) != NULL)) {
        cause_required(c, &client, "exactly one of url or service is required");
    }
}

/* The groups of Kubernetes' community need its leave, in an annotation. */
static void check_approval(struct causes *c, yyjson_val *crd, yyjson_val *old) {
    struct str group = text_at(crd, "spec.group"), note = STR("api-approved.kubernetes.io");
    bool theirs = str_is(group, "k8s.io") || str_ends(group, STR(".k8s.io")) ||
                  str_is(group, "kubernetes.io") || str_ends(group, STR(".kubernetes.io"));
    struct str by = json_str(json_get(json_path(crd, "metadata.annotations"), note));
    struct path meta = path_member(NULL, "metadata"), up = below(&meta, "annotations");
    struct path here = path_key(&up, note);
    bool url = str_starts(by, STR("http://")) || str_starts(by, STR("https://"));
    if (!theirs || url || str_starts(by, STR("unapproved"))) {
        return;
    }
    if (old != NULL &&
        str_eq(by, json_str(json_get(json_path(old, "metadata.annotations"), note)))) {
        return;
    }
    static const char *const text =
        "protected groups must have approval annotation \"api-approved.kubernetes.io\"";
    if (by.n == 0) {
        cause_required(c, &here, text);
    } else {
        cause_invalid(c, &here, by,
                      "%s with either a URL or a reason starting with "
                      "\"unapproved\"",
                      text);
    }
}

static void check_change(struct causes *c, yyjson_val *crd, yyjson_val *old) {
    static const char *const always[] = {"group", "names.plural"};
    static const char *const established[] = {"scope", "names.kind"};
    bool is = false;
    yyjson_val *list = json_path(old, "status.conditions");
    size_t k, n;
    yyjson_val *v;
    yyjson_arr_foreach(list, k, n, v) {
        is |= str_is(text_at(v, "type"), "Established") && str_is(text_at(v, "status"), "True");
    }
    yyjson_val *now = json_get(crd, STR("spec")), *was = json_get(old, STR("spec"));
    for (size_t i = 0; i < COUNT(always) + (is ? COUNT(established) : 0); i++) {
        const char *name = i < COUNT(always) ? always[i] : established[i - COUNT(always)];
        struct path up = path_member(NULL, "spec"), here = below(&up, name);
        if (!str_eq(text_at(now, name), text_at(was, name))) {
            cause_invalid(c, &here, text_at(now, name), "field is immutable");
        }
    }
}

static void check_whole(struct causes *c, yyjson_val *crd, yyjson_val *old) {
    struct path at = path_member(NULL, "spec"), group_at = below(&at, "group");
    struct path meta = path_member(NULL, "metadata"), name_at = below(&meta, "name");
    yyjson_val *spec = json_get(crd, STR("spec"));
    struct str group = text_at(spec, "group"), name = text_at(crd, "metadata.name");
    struct str want =
        arena_f(c->arena, "%.*s.%.*s", STR_ARG(text_at(spec, "names.plural")), STR_ARG(group));
    const char *fault = format_fault("dns1123-subdomain", group);
    if (!str_eq(name, want)) {
        cause_invalid(c, &name_at, name, "must be spec.names.plural+\".\"+spec.group");
    }
    if (fault != NULL) {
        cause_invalid(c, &group_at, group, "%s", fault);
    } else if (str_find(group, '.') < 0) {
        cause_invalid(c, &group_at, group, "should be a domain with at least one dot");
    }
    if (json_bool_at(spec, "preserveUnknownFields", false)) {
        struct path here = below(&at, "preserveUnknownFields");
        causes_add(c, CAUSE_INVALID, path_text(&here, c->arena),
                   "Invalid value: true: cannot set to true, set "
                   "x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema "
                   "instead");
    }
    check_names(c, spec, &at);
    check_versions(c, crd, old, &at);
    check_conversion(c, spec, &at);
    check_approval(c, crd, old);
    if (old != NULL) {
        check_change(c, crd, old);
    }
}

void crd_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct buf b;
    yyjson_doc *doc;
    if (c->status_alone) {
        return;
    }
    buf_init(&b, 0);
    json_write_mut(&b, obj);
    struct str text = buf_ok(&b) == 0 ? arena_str(c->arena, buf_view(&b)) : (struct str){0};
    buf_release(&b);
    if (text.p != NULL && json_parse(c->arena, text, &doc, NULL) == 0) {
        check_whole(c, yyjson_doc_get_root(doc), old);
    }
}
