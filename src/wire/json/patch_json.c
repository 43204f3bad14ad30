/*
 * patch: RFC 6902 JSON patch, on RFC 6901 pointers. See patch.h.
 *
 * Each operation finds the parent of its path, then acts on the last token. Containers of a mutable document are rings,
 * so the few changes are made with yyjson's own insert and remove.
 */
#include "base/limits.h"
#include "wire/json/patch.h"

/* What the whole patch has cost so far. */
struct cost {
    size_t copied; /* bytes that "copy" has added */
    size_t steps;  /* values looked at: members and elements are found by walking */
};

struct patch_op {
    yyjson_mut_doc *doc;
    yyjson_val *value;
    struct str path, from;
    struct cost *cost;
    struct err *err;
};

/* Where a pointer leads: the parent and the last token. parent NULL: the whole document. */
struct patch_place {
    yyjson_mut_val *parent;
    struct str token; /* unescaped */
    size_t index;     /* when the parent is an array */
    bool end;         /* "-": behind the last element */
};

static int invalid(struct patch_op *o, const char *text) {
    return err_set(o->err, ERR_INVALID, "%s", text);
}

/* "~1" is '/', "~0" is '~'. The copy lives in the document's memory. */
static int unescape(struct patch_op *o, struct str raw, struct str *ret) {
    if (str_find(raw, '~') < 0) {
        *ret = raw;
        return 0;
    }
    char *out = o->doc->alc.malloc(o->doc->alc.ctx, raw.n);
    size_t n = 0;
    if (out == NULL) {
        return err_set(o->err, ERR_NOMEM, "no memory to patch");
    }
    for (size_t i = 0; i < raw.n; i++) {
        if (raw.p[i] != '~') {
            out[n++] = raw.p[i];
            continue;
        }
        i++;
        if (i == raw.n || (raw.p[i] != '0' && raw.p[i] != '1')) {
            return invalid(o, "the path has a '~' that is neither ~0 nor ~1");
        }
        out[n++] = raw.p[i] == '1' ? '/' : '~';
    }
    *ret = str_from(out, n);
    return 0;
}

static int to_index(struct patch_op *o, struct str token, size_t *ret) {
    uint64_t v;
    bool leading_zero = token.n > 1 && token.p[0] == '0';
    if (leading_zero || !str_to_u64(token, &v)) {
        return invalid(o, "the path has no valid index into a list");
    }
    *ret = v > SIZE_MAX ? SIZE_MAX : (size_t)v;
    return 0;
}

static int charge(struct patch_op *o, size_t steps) {
    o->cost->steps += steps;
    return o->cost->steps <= LIMIT_JSON_PATCH_STEPS
               ? 0
               : err_set(o->err, ERR_TOO_LARGE, "the patch takes too many steps");
}

static int child(struct patch_op *o, yyjson_mut_val *at, struct str token, yyjson_mut_val **ret) {
    size_t index;
    yyjson_mut_val *v = NULL;
    int r = charge(o, 1 + (yyjson_mut_is_ctn(at) ? unsafe_yyjson_get_len(at) : 0));
    if (r == 0 && yyjson_mut_is_obj(at)) {
        v = json_mget(at, token);
    } else if (r == 0 && yyjson_mut_is_arr(at)) {
        r = to_index(o, token, &index);
        v = r == 0 ? yyjson_mut_arr_get(at, index) : NULL;
    }
    if (r != 0) {
        return r;
    }
    if (v == NULL) {
        return invalid(o, "the path does not exist");
    }
    *ret = v;
    return 0;
}

static int locate(struct patch_op *o, struct str pointer, struct patch_place *ret) {
    struct patch_place p = {0};
    yyjson_mut_val *at = o->doc->root;
    struct str rest = pointer;
    if (pointer.n == 0) {
        *ret = p;
        return 0;
    }
    if (pointer.p[0] != '/') {
        return invalid(o, "the path must begin with '/'");
    }
    for (;;) {
        struct str raw;
        bool more = str_cut(str_skip(rest, 1), '/', &raw, &rest);
        rest = more ? (struct str){rest.p - 1, rest.n + 1} : rest;
        int r = unescape(o, raw, &p.token);
        if (r != 0) {
            return r;
        }
        if (!more) {
            break;
        }
        r = child(o, at, p.token, &at);
        if (r != 0) {
            return r;
        }
    }
    p.parent = at;
    p.end = yyjson_mut_is_arr(at) && str_is(p.token, "-");
    if (yyjson_mut_is_arr(at) && !p.end) {
        int r = to_index(o, p.token, &p.index);
        if (r != 0) {
            return r;
        }
    } else if (!yyjson_mut_is_ctn(at)) {
        return invalid(o, "the path leads through a value that is neither object nor list");
    }
    *ret = p;
    return 0;
}

static int value_at(struct patch_op *o, struct str pointer, struct patch_place *ret,
                    yyjson_mut_val **ret_value) {
    int r = locate(o, pointer, ret);
    if (r == 0 && ret->parent == NULL) {
        *ret_value = o->doc->root;
        return 0;
    }
    if (r == 0 && ret->end) {
        return invalid(o, "the path does not exist");
    }
    if (r != 0) {
        return r;
    }
    return child(o, ret->parent, ret->token, ret_value);
}

struct patch_size {
    size_t bytes, values; /* bytes roughly */
};

/* Nesting of v, at most `limit` + 1, and its size. */
static size_t measure(yyjson_mut_val *v, size_t limit, struct patch_size *size) {
    size_t i, max, deepest = 0;
    yyjson_mut_val *key, *val;
    size->values++;
    size->bytes += 8 + (yyjson_mut_is_str(v) ? yyjson_mut_get_len(v) : 0);
    if (!yyjson_mut_is_ctn(v)) {
        return 0;
    }
    if (limit == 0) {
        return 1;
    }
    if (yyjson_mut_is_obj(v)) {
        yyjson_mut_obj_foreach(v, i, max, key, val) {
            size->bytes += 4 + yyjson_mut_get_len(key);
            size_t depth = measure(val, limit - 1, size);
            deepest = depth > deepest ? depth : deepest;
        }
    } else {
        yyjson_mut_arr_foreach(v, i, max, val) {
            size_t depth = measure(val, limit - 1, size);
            deepest = depth > deepest ? depth : deepest;
        }
    }
    return deepest + 1;
}

/* Refuses v when it would be nested too deep at the operation's path. */
static int check_depth(struct patch_op *o, yyjson_mut_val *v, size_t *ret_bytes) {
    struct patch_size size = {0};
    size_t above = 0;
    for (size_t i = 0; i < o->path.n; i++) {
        above += o->path.p[i] == '/';
    }
    size_t below = above < LIMIT_JSON_DEPTH ? LIMIT_JSON_DEPTH - above : 0;
    if (above > LIMIT_JSON_DEPTH || measure(v, below, &size) > below) {
        return err_set(o->err, ERR_TOO_LARGE, "the result is nested deeper than %d levels",
                       LIMIT_JSON_DEPTH);
    }
    *ret_bytes = size.bytes;
    return charge(o, size.values);
}

static int put(struct patch_op *o, yyjson_mut_val *v) {
    struct patch_place p;
    size_t bytes = 0;
    int r = check_depth(o, v, &bytes);
    r = r ? r : locate(o, o->path, &p);
    r = r == 0 && p.parent ? charge(o, unsafe_yyjson_get_len(p.parent)) : r; /* found by walking */
    if (r != 0) {
        return r;
    }
    if (p.parent == NULL) {
        yyjson_mut_doc_set_root(o->doc, v);
        return 0;
    }
    if (yyjson_mut_is_obj(p.parent)) {
        return json_mset(o->doc, p.parent, p.token, v) == 0
                   ? 0
                   : err_set(o->err, ERR_NOMEM, "no memory to patch");
    }
    size_t n = yyjson_mut_arr_size(p.parent);
    if (!p.end && p.index > n) {
        return invalid(o, "the index is behind the end of the list");
    }
    yyjson_mut_arr_insert(p.parent, v, p.end ? n : p.index);
    return 0;
}

static void cut(struct patch_place *p) {
    if (yyjson_mut_is_obj(p->parent)) {
        json_mdel(p->parent, p->token);
    } else {
        yyjson_mut_arr_remove(p->parent, p->index);
    }
}

static int op_add(struct patch_op *o) {
    yyjson_mut_val *v = yyjson_val_mut_copy(o->doc, o->value);
    return v ? put(o, v) : err_set(o->err, ERR_NOMEM, "no memory to patch");
}

static int op_remove(struct patch_op *o) {
    struct patch_place p;
    yyjson_mut_val *old;
    int r = value_at(o, o->path, &p, &old);
    if (r == 0 && p.parent == NULL) {
        return invalid(o, "the whole document cannot be removed");
    }
    if (r == 0) {
        cut(&p);
    }
    return r;
}

static int op_replace(struct patch_op *o) {
    struct patch_place p;
    yyjson_mut_val *old;
    int r = value_at(o, o->path, &p, &old);
    if (r == 0 && p.parent && yyjson_mut_is_arr(p.parent)) {
        cut(&p);
    }
    if (r != 0) {
        return r;
    }
    return op_add(o);
}

static int op_move(struct patch_op *o) {
    struct patch_place p;
    yyjson_mut_val *v;
    int r = value_at(o, o->from, &p, &v);
    if (r != 0 || str_eq(o->from, o->path)) {
        return r;
    }
    bool into_itself =
        str_starts(o->path, o->from) && o->path.n > o->from.n && o->path.p[o->from.n] == '/';
    if (p.parent == NULL || into_itself) {
        return invalid(o, "a value cannot be moved into itself");
    }
    cut(&p);
    return put(o, v);
}

static int op_copy(struct patch_op *o) {
    struct patch_place p;
    yyjson_mut_val *from;
    size_t bytes = 0;
    int r = value_at(o, o->from, &p, &from);
    r = r ? r : check_depth(o, from, &bytes); /* before the copy: copying recurses */
    if (r != 0) {
        return r;
    }
    o->cost->copied += bytes;
    if (o->cost->copied > LIMIT_JSON_PATCH_COPY_BYTES) {
        return err_set(o->err, ERR_TOO_LARGE, "copies add more than %d bytes",
                       LIMIT_JSON_PATCH_COPY_BYTES);
    }
    yyjson_mut_val *v = yyjson_mut_val_mut_copy(o->doc, from);
    return v ? put(o, v) : err_set(o->err, ERR_NOMEM, "no memory to patch");
}

static int op_test(struct patch_op *o) {
    struct patch_place p;
    yyjson_mut_val *v;
    int r = value_at(o, o->path, &p, &v);
    yyjson_mut_val *want = r == 0 ? yyjson_val_mut_copy(o->doc, o->value) : NULL;
    if (r == 0 && want == NULL) {
        return err_set(o->err, ERR_NOMEM, "no memory to patch");
    }
    if (r == 0 && !json_mequal(v, want)) {
        return invalid(o, "the value is another");
    }
    return r;
}

static const struct op_kind {
    const char *name;
    int (*run)(struct patch_op *o);
    bool value, from; /* members that must be there */
} op_kinds[] = {
    {"add", op_add, true, false},         {"remove", op_remove, false, false},
    {"replace", op_replace, true, false}, {"move", op_move, false, true},
    {"copy", op_copy, false, true},       {"test", op_test, true, false},
};

static int run_op(yyjson_mut_doc *d, yyjson_val *v, size_t i, struct cost *cost, struct err *err) {
    yyjson_val *name = json_get(v, STR("op")), *path = json_get(v, STR("path"));
    yyjson_val *from = json_get(v, STR("from"));
    const struct op_kind *kind = NULL;
    for (size_t k = 0; k < sizeof(op_kinds) / sizeof(op_kinds[0]); k++) {
        kind = str_is(json_str(name), op_kinds[k].name) ? &op_kinds[k] : kind;
    }
    struct patch_op o = {.doc = d,
                         .value = json_get(v, STR("value")),
                         .path = json_str(path),
                         .from = json_str(from),
                         .cost = cost,
                         .err = err};
    if (kind == NULL) {
        return err_set(err, ERR_SYNTAX, "operation %zu: unknown \"op\"", i);
    }
    if (!yyjson_is_str(path) || (kind->value && o.value == NULL) ||
        (kind->from && !yyjson_is_str(from))) {
        return err_set(err, ERR_SYNTAX, "operation %zu (%s): \"%s\" is missing", i, kind->name,
                       !yyjson_is_str(path) ? "path"
                       : kind->value        ? "value"
                                            : "from");
    }
    int r = kind->run(&o);
    if (r != 0) {
        err_wrap(err, "operation %zu (%s %.*s)", i, kind->name, STR_ARG(str_head(o.path, 128)));
    }
    return r;
}

int patch_json(yyjson_mut_doc *d, yyjson_val *ops, struct err *err) {
    size_t i, max;
    struct cost cost = {0};
    yyjson_val *op;
    if (!yyjson_is_arr(ops)) {
        return err_set(err, ERR_SYNTAX, "a JSON patch must be a list of operations");
    }
    if (yyjson_arr_size(ops) > LIMIT_JSON_PATCH_OPS) {
        return err_set(err, ERR_TOO_LARGE,
                       "The allowed maximum operations in a JSON patch is %d, got %zu",
                       LIMIT_JSON_PATCH_OPS, yyjson_arr_size(ops));
    }
    yyjson_arr_foreach(ops, i, max, op) {
        int r = run_op(d, op, i, &cost, err);
        if (r != 0) {
            return r;
        }
    }
    return 0;
}
