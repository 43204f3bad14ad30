/* cel_run: expressions evaluated for who wants a truth value, a text or JSON. See cel.h. */
#include <math.h>

#include "api/cel/cel_access.h"
#include "api/cel/cel_tree.h"
#include "base/limits.h"
#include "wire/json/json.h"

static struct cel_value bound(struct cel_run *r, const struct cel_bind *b) {
    switch (b->what) {
    case CEL_BOUND_VARIABLES:
        return (struct cel_value){.type = CEL_V_VARIABLES};
    case CEL_BOUND_AUTHORIZER:
        return cel_access_of(r);
    case CEL_BOUND_JSON:
        break;
    }
    return cel_of_json(b->json, NULL);
}

static struct cel_value run(const struct cel_expr *e, struct cel_input *in, bool *ret_spent) {
    struct cel_run r = {.in = in};
    struct cel_value was = {.type = CEL_V_OPTIONAL}, stored = {0};
    struct cel_frame frames[CEL_BINDS];
    for (size_t i = 0; in->binds != NULL && i < in->n_binds && i < CEL_BINDS; i++) {
        frames[i] = (struct cel_frame){r.root, str_of(in->binds[i].name), bound(&r, &in->binds[i])};
        r.root = &frames[i];
    }
    if (in->binds != NULL) {
        struct cel_value v = cel_eval(&r, e);
        *ret_spent = r.spent;
        return v;
    }
    if (in->old != NULL) {
        stored = cel_of_json(in->old, in->node);
        was = stored;
    }
    if (in->optional_old) {
        was = (struct cel_value){.type = CEL_V_OPTIONAL, .some = in->old ? &stored : NULL};
    }
    frames[0] = (struct cel_frame){NULL, STR("self"), cel_of_json(in->self, in->node)};
    frames[1] = (struct cel_frame){&frames[0], STR("oldSelf"), was};
    r.root = in->old != NULL || in->optional_old ? &frames[1] : &frames[0];
    struct cel_value v = cel_eval(&r, e);
    *ret_spent = r.spent;
    return v;
}

enum cel_outcome cel_check(const struct cel_expr *e, struct cel_input *in, struct str *ret_text) {
    bool spent;
    struct cel_value v = run(e, in, &spent);
    if (spent) {
        return CEL_TOO_LONG;
    }
    if (v.type == CEL_V_BOOL) {
        return v.b ? CEL_TRUE : CEL_FALSE;
    }
    *ret_text = v.type == CEL_V_ERROR ? v.s : STR("the rule is no truth value:");
    return CEL_ERROR;
}

bool cel_message(const struct cel_expr *e, struct cel_input *in, struct str *ret) {
    bool spent;
    struct cel_value v = run(e, in, &spent);
    if (spent || v.type != CEL_V_STRING || str_trim(v.s).n == 0 || v.s.n > 5120 ||
        str_find(v.s, '\n') >= 0) {
        return false;
    }
    *ret = str_trim(v.s);
    return true;
}

enum cel_outcome cel_text(const struct cel_expr *e, struct cel_input *in, struct str *ret,
                          struct str *ret_text) {
    bool spent;
    struct cel_value v = run(e, in, &spent);
    if (spent) {
        return CEL_TOO_LONG;
    }
    if (v.type == CEL_V_STRING || v.type == CEL_V_NULL) {
        *ret = v.type == CEL_V_STRING ? v.s : (struct str){0};
        return CEL_TRUE;
    }
    *ret_text = v.type == CEL_V_ERROR ? v.s : str_of(cel_type_name(v));
    return v.type == CEL_V_ERROR ? CEL_ERROR : CEL_FALSE;
}

/* ---- JSON ---- */

static yyjson_mut_val *json_of(struct cel_run *r, struct cel_value v, yyjson_mut_doc *d, int depth);

/* Object.spec{...} stands in the field spec of an Object{...}, and nowhere else. */
static bool fits_name(struct cel_value outer, struct str field, struct cel_value x) {
    struct cel_value k, e;
    if (cel_is_list(x)) {
        struct cel_cursor c = cel_walk(x);
        return !cel_next(&c, &k, &e) || cel_is_list(e) || fits_name(outer, field, e);
    }
    if (x.type != CEL_V_OBJECT || outer.type != CEL_V_OBJECT) {
        return true;
    }
    struct str in = outer.made->name, own = x.made->name;
    return own.n == in.n + 1 + field.n && str_starts(own, in) && own.p[in.n] == '.' &&
           str_ends(own, field);
}

static yyjson_mut_val *map_of(struct cel_run *r, struct cel_value v, yyjson_mut_doc *d, int depth) {
    yyjson_mut_val *out = yyjson_mut_obj(d);
    struct cel_cursor c = cel_walk(v);
    struct cel_value k, x;
    char buf[512];
    while (out != NULL && cel_next(&c, &k, &x)) {
        bool named = v.type == CEL_V_OBJECT;
        struct str name = named ? cel_plain_name(k.s, buf, sizeof(buf)) : k.s;
        yyjson_mut_val *key = k.type == CEL_V_STRING
                                  ? yyjson_mut_strncpy(d, name.p != NULL ? name.p : "", name.n)
                                  : NULL;
        if (key != NULL && !fits_name(v, k.s, x)) {
            r->mismatch = true;
            return NULL;
        }
        yyjson_mut_val *value = key != NULL ? json_of(r, x, d, depth + 1) : NULL;
        out = value != NULL && yyjson_mut_obj_add(out, key, value) ? out : NULL;
    }
    return out;
}

static yyjson_mut_val *list_of(struct cel_run *r, struct cel_value v, yyjson_mut_doc *d,
                               int depth) {
    yyjson_mut_val *out = yyjson_mut_arr(d);
    struct cel_cursor c = cel_walk(v);
    struct cel_value k, x;
    while (out != NULL && cel_next(&c, &k, &x)) {
        yyjson_mut_val *value = json_of(r, x, d, depth + 1);
        out = value != NULL && yyjson_mut_arr_append(out, value) ? out : NULL;
    }
    return out;
}

/* NULL: it has no form in JSON, or the budget is spent. */
static yyjson_mut_val *json_of(struct cel_run *r, struct cel_value v, yyjson_mut_doc *d,
                               int depth) {
    if (depth > LIMIT_JSON_DEPTH || !cel_spend(r, 1)) {
        return NULL;
    }
    if (cel_is_list(v)) {
        return list_of(r, v, d, depth);
    }
    if (cel_is_map(v)) {
        return map_of(r, v, d, depth);
    }
    switch (v.type) {
    case CEL_V_NULL:
        return yyjson_mut_null(d);
    case CEL_V_BOOL:
        return yyjson_mut_bool(d, v.b);
    case CEL_V_INT:
        return yyjson_mut_sint(d, v.i);
    case CEL_V_UINT:
        return yyjson_mut_uint(d, v.u);
    case CEL_V_DOUBLE:
        return isfinite(v.d) ? yyjson_mut_real(d, v.d) : NULL;
    default:
        break;
    }
    v = cel_string_of(r, v);
    return v.type == CEL_V_STRING && cel_spend(r, v.s.n / 16)
               ? yyjson_mut_strncpy(d, v.s.p != NULL ? v.s.p : "", v.s.n)
               : NULL;
}

enum cel_outcome cel_json(const struct cel_expr *e, struct cel_input *in, yyjson_mut_doc *d,
                          yyjson_mut_val **ret, struct str *ret_text) {
    bool spent;
    struct cel_value v = run(e, in, &spent);
    struct cel_run r = {.in = in};
    if (spent) {
        return CEL_TOO_LONG;
    }
    if (v.type == CEL_V_ERROR) {
        *ret_text = v.s;
        return CEL_ERROR;
    }
    *ret = json_of(&r, v, d, 0);
    *ret_text = r.mismatch
                    ? STR("type mismatch: the name of an object's type must match the path of "
                          "the field that it stands in, from Object on")
                    : STR("the value has no form in JSON");
    return *ret != NULL ? CEL_TRUE : r.spent ? CEL_TOO_LONG : CEL_ERROR;
}
