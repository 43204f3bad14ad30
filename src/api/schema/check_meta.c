/* check_meta: the rules of object metadata and of label selectors. */
#include "api/schema/check.h"
#include "base/limits.h"
#include "base/map.h"

void check_labels(struct causes *c, const struct path *at, yyjson_mut_val *map) {
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(map);
    yyjson_mut_val *k;
    while ((k = yyjson_mut_obj_iter_next(&it)) != NULL) {
        struct str key = json_mstr(k), value = json_mstr(yyjson_mut_obj_iter_get_val(k));
        const char *fault = format_fault("label-key", key);
        if (fault != NULL) {
            cause_invalid(c, at, key, "%s", fault);
        }
        fault = format_fault("label-value", value);
        if (fault != NULL) {
            cause_invalid(c, at, value, "%s", fault);
        }
    }
}

void check_annotations(struct causes *c, const struct path *at, yyjson_mut_val *map) {
    size_t total = 0;
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(map);
    yyjson_mut_val *k;
    while ((k = yyjson_mut_obj_iter_next(&it)) != NULL) {
        struct str key = json_mstr(k);
        char lower[LIMIT_NAME + LIMIT_LABEL + 2];
        /* Unlike labels, the prefix may be written in capitals. */
        for (size_t i = 0; i < key.n && i < sizeof(lower); i++) {
            lower[i] = key.p[i] >= 'A' && key.p[i] <= 'Z' ? (char)(key.p[i] + 32) : key.p[i];
        }
        const char *fault =
            format_fault("label-key", key.n < sizeof(lower) ? str_from(lower, key.n) : key);
        if (fault != NULL) {
            cause_invalid(c, at, key, "%s", fault);
        }
        total += key.n + json_mstr(yyjson_mut_obj_iter_get_val(k)).n;
    }
    if (total > LIMIT_ANNOTATION_BYTES) {
        causes_add(c, CAUSE_TOO_LONG, path_text(at, c->arena),
                   "Too long: may not be more than %d bytes", LIMIT_ANNOTATION_BYTES);
    }
}

static bool is_selector_operator(struct str op) {
    return str_is(op, "In") || str_is(op, "NotIn") || str_is(op, "Exists") ||
           str_is(op, "DoesNotExist");
}

static void check_selector_values(struct causes *c, const struct path *at, yyjson_mut_val *values) {
    EACH(values, i, v) {
        struct path here = path_index(at, i);
        const char *fault = format_fault("label-value", json_mstr(v));
        if (fault != NULL) {
            cause_invalid(c, &here, json_mstr(v), "%s", fault);
        }
    }
}

void check_selector(struct causes *c, const struct path *at, yyjson_mut_val *selector) {
    struct path labels = path_member(at, "matchLabels");
    struct path terms = path_member(at, "matchExpressions");
    check_labels(c, &labels, json_mget(selector, STR("matchLabels")));
    EACH(json_mget(selector, STR("matchExpressions")), i, e) {
        struct path here = path_index(&terms, i), values = path_member(&here, "values");
        struct str op = json_mstr_at(e, "operator");
        size_t n = yyjson_mut_arr_size(json_mget(e, STR("values")));
        check_selector_values(c, &values, json_mget(e, STR("values")));
        if ((str_is(op, "In") || str_is(op, "NotIn")) && n == 0) {
            cause_required(c, &values, "must be specified when `operator` is 'In' or 'NotIn'");
        } else if ((str_is(op, "Exists") || str_is(op, "DoesNotExist")) && n > 0) {
            cause_forbidden(c, &values,
                            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
        } else if (op.n > 0 && !is_selector_operator(op)) {
            struct path operator= path_member(&here, "operator");
            cause_invalid(c, &operator, op, "not a valid selector operator");
        }
    }
}

static void check_name(const struct kind *k, yyjson_mut_val *meta, const struct path *at,
                       struct causes *c) {
    const char *format = k->flags & KIND_PATH_NAME    ? "path-name"
                         : k->flags & KIND_LABEL_NAME ? "dns1123-label"
                                                      : "dns1123-subdomain";
    struct path name = path_member(at, "name"), generate = path_member(at, "generateName");
    struct str v = json_mstr_at(meta, "name"), prefix = json_mstr_at(meta, "generateName");
    if (v.n == 0 && prefix.n == 0) {
        cause_required(c, &name, "name or generateName is required");
        return;
    }
    const char *fault = v.n > 0 ? format_fault(format, v) : NULL;
    if (fault != NULL) {
        cause_invalid(c, &name, v, "%s", fault);
    }
    if (prefix.n > 0 && v.n == 0) {
        /* What will be appended ends it well. */
        while (prefix.n > 1 && (prefix.p[prefix.n - 1] == '-')) {
            prefix.n--;
        }
        fault = format_fault(format, prefix);
        if (fault != NULL) {
            cause_invalid(c, &generate, json_mstr_at(meta, "generateName"), "%s", fault);
        }
    }
}

static void check_owners(yyjson_mut_val *list, const struct path *at, struct causes *c) {
    int controllers = 0;
    struct str first = {0};
    EACH(list, i, e) {
        (void)i;
        if (yyjson_mut_get_bool(json_mget(e, STR("controller")))) {
            if (controllers++ > 0) {
                causes_add(c, CAUSE_INVALID, path_text(at, c->arena),
                           "Invalid value: \"ownerReferences\": Only one reference can have "
                           "Controller set to true. Found \"true\" in references for %.*s and %.*s",
                           STR_ARG(first), STR_ARG(json_mstr_at(e, "name")));
            }
            first = json_mstr_at(e, "name");
        }
    }
}

static void check_finalizers(yyjson_mut_val *list, yyjson_val *old_meta, const struct path *at,
                             struct causes *c) {
    bool deleting = json_str_at(old_meta, "deletionTimestamp").n > 0;
    struct map known = {0};
    yyjson_arr_iter it = yyjson_arr_iter_with(json_get(old_meta, STR("finalizers")));
    for (yyjson_val *had; deleting && (had = yyjson_arr_iter_next(&it)) != NULL;) {
        if (map_put(&known, json_str(had), had, NULL) != 0) {
            c->arena->failed = ERR_NOMEM;
        }
    }
    EACH(list, i, e) {
        struct path here = path_index(at, i);
        struct str name = json_mstr(e);
        const char *fault = format_fault("label-key", name);
        if (fault != NULL) {
            cause_invalid(c, &here, name, "%s", fault);
        }
        if (deleting && map_get(&known, name) == NULL) {
            cause_forbidden(c, at,
                            "no new finalizers can be added if the object is being deleted, found "
                            "new finalizers []string{\"%.*s\"}",
                            STR_ARG(name));
        }
    }
    map_release(&known);
}

void check_meta(const struct kind *k, yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    static const char *const fixed[] = {"name", "namespace", "uid", "creationTimestamp"};
    yyjson_mut_val *meta = json_mget(obj, STR("metadata"));
    yyjson_val *was = json_get(old, STR("metadata"));
    struct path at = path_member(NULL, "metadata");
    struct path labels = path_member(&at, "labels"), notes = path_member(&at, "annotations");
    struct path owners = path_member(&at, "ownerReferences");
    struct path finalizers = path_member(&at, "finalizers");
    check_name(k, meta, &at, c);
    check_labels(c, &labels, json_mget(meta, STR("labels")));
    check_annotations(c, &notes, json_mget(meta, STR("annotations")));
    check_owners(json_mget(meta, STR("ownerReferences")), &owners, c);
    check_finalizers(json_mget(meta, STR("finalizers")), was, &finalizers, c);
    for (size_t i = 0; old != NULL && i < sizeof(fixed) / sizeof(fixed[0]); i++) {
        struct path here = path_member(&at, fixed[i]);
        yyjson_mut_val *now = json_mget(meta, str_of(fixed[i]));
        yyjson_val *then = json_get(was, str_of(fixed[i]));
        if (now != NULL && then != NULL) {
            check_immutable(c, &here, now, then);
        }
    }
}
