/*
 * yaml: YAML streams to JSON values, over libyaml's events. See yaml.h.
 *
 * A stack of open collections, as deep as LIMIT_JSON_DEPTH, replaces recursion. An alias copies the value that its
 * anchor named; every node made, copies included, counts against LIMIT_YAML_NODES, and the texts that are copied
 * against LIMIT_YAML_COPIED. Merge keys are kept aside until
 * the mapping ends, because its own keys win wherever they stand.
 */
#include "wire/yaml.h"

#include <stdio.h>
#include <yaml.h>

#include "base/limits.h"
#include "wire/json/json_edit.h"
#include "wire/yaml_scalar.h"

enum { DIRECTIVES_MAX = 100 };

struct level {
    yyjson_mut_val *value; /* object or array */
    struct json_edit edit; /* of an object: its members, to find duplicates */
    bool has_key, is_merge;
    struct str key; /* waiting for its value */
    size_t key_line;
    yyjson_mut_val *merge; /* array of objects to merge at the end, or NULL */
    struct str anchor;
};

struct reader {
    struct arena *arena;
    yyjson_mut_doc *doc; /* the document being read */
    struct map anchors;  /* name -> value, of the document */
    struct level levels[LIMIT_JSON_DEPTH];
    size_t depth, nodes, copied;
    struct yaml_docs docs;
    size_t cap, seen;
    yaml_mark_t mark;
    struct err *err;
    const struct yaml_repeats *repeats; /* NULL: they are errors */
};

static int fail(struct reader *r, int code, const char *text) {
    return err_set(r->err, code, "line %zu, column %zu: %s", r->mark.line + 1, r->mark.column + 1,
                   text);
}

static int no_memory(struct reader *r) {
    return err_set(r->err, ERR_NOMEM, "no memory to read YAML");
}

static int count(struct reader *r, size_t nodes) {
    r->nodes += nodes;
    return r->nodes > LIMIT_YAML_NODES ? fail(r, ERR_TOO_LARGE, "too many nodes") : 0;
}

/* Values of v, itself and keys included; its depth goes to *ret_depth, its texts' length onto *bytes. */
static size_t measure(yyjson_mut_val *v, size_t *ret_depth, size_t *bytes) {
    size_t i, max, n = 1, deepest = 0, depth;
    yyjson_mut_val *key, *val;
    if (yyjson_mut_is_obj(v)) {
        yyjson_mut_obj_foreach(v, i, max, key, val) {
            *bytes += yyjson_mut_get_len(key);
            n += 1 + measure(val, &depth, bytes);
            deepest = depth > deepest ? depth : deepest;
        }
    } else if (yyjson_mut_is_arr(v)) {
        yyjson_mut_arr_foreach(v, i, max, val) {
            n += measure(val, &depth, bytes);
            deepest = depth > deepest ? depth : deepest;
        }
    }
    *bytes += yyjson_mut_is_str(v) ? yyjson_mut_get_len(v) : 0;
    *ret_depth = deepest + (yyjson_mut_is_ctn(v) ? 1 : 0);
    return n;
}

/* ---- placing values ---- */

static int add_merge(struct reader *r, struct level *l, yyjson_mut_val *v) {
    size_t i, max;
    yyjson_mut_val *elem;
    bool list = yyjson_mut_is_arr(v);
    if (l->merge == NULL && (l->merge = yyjson_mut_arr(r->doc)) == NULL) {
        return no_memory(r);
    }
    if (!list && !yyjson_mut_is_obj(v)) {
        return fail(r, ERR_SYNTAX, "map merge requires map or sequence of maps as the value");
    }
    if (!list) {
        yyjson_mut_arr_append(l->merge, v);
        return 0;
    }
    yyjson_mut_arr_foreach(v, i, max, elem) {
        if (!yyjson_mut_is_obj(elem)) {
            return fail(r, ERR_SYNTAX, "map merge requires map or sequence of maps as the value");
        }
    }
    for (elem = yyjson_mut_arr_remove_first(v); elem; elem = yyjson_mut_arr_remove_first(v)) {
        yyjson_mut_arr_append(l->merge, elem);
    }
    return 0;
}

static int put(struct reader *r, yyjson_mut_val *v) {
    if (r->depth == 0) {
        yyjson_mut_doc_set_root(r->doc, v);
        return 0;
    }
    struct level *l = &r->levels[r->depth - 1];
    if (yyjson_mut_is_arr(l->value)) {
        yyjson_mut_arr_append(l->value, v);
        return 0;
    }
    if (!l->has_key) {
        return fail(r, ERR_SYNTAX, "a mapping or sequence cannot be a key");
    }
    l->has_key = false;
    if (l->is_merge) {
        return add_merge(r, l, v);
    }
    bool again = json_edit_get(&l->edit, l->key) != NULL;
    if (again && r->repeats != NULL) {
        r->repeats->found(r->repeats->ctx, l->key_line + 1, l->key);
    } else if (again) {
        return err_set(r->err, ERR_SYNTAX, "line %zu, column %zu: key \"%.*s\" already set in map",
                       r->mark.line + 1, r->mark.column + 1, STR_ARG(str_head(l->key, 128)));
    }
    return json_edit_set(&l->edit, l->key, v) == 0 ? 0 : no_memory(r);
}

static int remember(struct reader *r, struct str anchor, yyjson_mut_val *v) {
    if (!anchor.n) {
        return 0;
    }
    return map_put(&r->anchors, anchor, v, NULL) == 0 ? 0 : no_memory(r);
}

static bool wants_key(const struct reader *r) {
    const struct level *l = r->depth ? &r->levels[r->depth - 1] : NULL;
    return l && yyjson_mut_is_obj(l->value) && !l->has_key;
}

/* ---- events ---- */

static struct str copy_anchor(struct reader *r, const yaml_char_t *name) {
    return name ? arena_str(r->arena, str_of((const char *)name)) : (struct str){NULL, 0};
}

static int on_scalar(struct reader *r, const yaml_event_t *e) {
    struct str text = {(const char *)e->data.scalar.value, e->data.scalar.length};
    struct yaml_scalar s = {0};
    int code = count(r, 1);
    if (code != 0) {
        return code;
    }
    const char *bad = yaml_resolve(text, e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE,
                                   str_of((const char *)e->data.scalar.tag), &s);
    if (bad) {
        return fail(r, ERR_SYNTAX, bad);
    }
    bool key = wants_key(r);
    if (key) {
        struct level *l = &r->levels[r->depth - 1];
        l->is_merge = s.type == YAML_SCALAR_MERGE;
        l->has_key = true;
        l->key_line = r->mark.line;
        if (s.type == YAML_SCALAR_NULL) {
            return fail(r, ERR_SYNTAX, "a key cannot be null");
        }
        char out[32];
        l->key = arena_str(r->arena, yaml_key_text(&s, out));
    }
    yyjson_mut_val *v = yaml_scalar_value(r->doc, &s);
    struct str anchor = copy_anchor(r, e->data.scalar.anchor);
    if (v == NULL || arena_ok(r->arena) != 0) {
        return no_memory(r);
    }
    code = remember(r, anchor, v);
    return code || key ? code : put(r, v);
}

static int on_alias(struct reader *r, const yaml_event_t *e) {
    yyjson_mut_val *v = map_get(&r->anchors, str_of((const char *)e->data.alias.anchor));
    size_t depth = 0, nodes = 0;
    for (size_t i = 0; i < r->depth; i++) {
        if (v && r->levels[i].value == v) {
            return fail(r, ERR_SYNTAX, "an anchor contains itself");
        }
    }
    if (v == NULL) {
        return fail(r, ERR_SYNTAX, "unknown anchor");
    }
    nodes = measure(v, &depth, &r->copied);
    int code = count(r, nodes);
    if (code == 0 && r->copied > LIMIT_YAML_COPIED) {
        code = fail(r, ERR_TOO_LARGE, "the aliases repeat too much text");
    }
    if (code == 0 && r->depth + depth > LIMIT_JSON_DEPTH) {
        code = fail(r, ERR_TOO_LARGE, "nested too deep");
    }
    if (code != 0) {
        return code;
    }
    if (wants_key(r)) {
        struct level *l = &r->levels[r->depth - 1];
        l->key = json_mstr(v);
        l->has_key = true;
        l->key_line = r->mark.line;
        l->is_merge = false;
        return yyjson_mut_is_str(v) ? 0 : fail(r, ERR_SYNTAX, "a key must be a scalar");
    }
    yyjson_mut_val *copy = yyjson_mut_val_mut_copy(r->doc, v);
    return copy ? put(r, copy) : no_memory(r);
}

static int on_start(struct reader *r, yyjson_mut_val *v, const yaml_char_t *anchor) {
    if (r->depth == LIMIT_JSON_DEPTH) {
        return fail(r, ERR_TOO_LARGE, "nested too deep");
    }
    if (wants_key(r)) {
        return fail(r, ERR_SYNTAX, "a mapping or sequence cannot be a key");
    }
    struct level l = {.value = v, .anchor = copy_anchor(r, anchor)};
    int code = count(r, 1);
    if (v == NULL || arena_ok(r->arena) != 0) {
        return no_memory(r);
    }
    if (code == 0 && yyjson_mut_is_obj(v) && json_edit_begin(&l.edit, r->doc, v, SIZE_MAX) != 0) {
        return no_memory(r);
    }
    if (code == 0) {
        r->levels[r->depth++] = l;
        /* Known from its start, so that an alias inside it is told apart from an unknown one. */
        code = remember(r, l.anchor, v);
    }
    return code;
}

/* Members that the mapping itself does not have; the first of several merged mappings wins. */
static int apply_merge(struct reader *r, struct level *l) {
    for (yyjson_mut_val *m = yyjson_mut_arr_remove_first(l->merge); m;
         m = yyjson_mut_arr_remove_first(l->merge)) {
        yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(m);
        for (yyjson_mut_val *key; (key = yyjson_mut_obj_iter_next(&it));) {
            if (json_edit_get(&l->edit, json_mstr(key))) {
                continue;
            }
            yyjson_mut_val *v = yyjson_mut_val_mut_copy(r->doc, key->next);
            if (v == NULL || json_edit_set(&l->edit, json_mstr(key), v) != 0) {
                return no_memory(r);
            }
        }
    }
    return 0;
}

static int on_end(struct reader *r) {
    struct level *l = &r->levels[r->depth - 1];
    int code = l->merge ? apply_merge(r, l) : 0;
    json_edit_end(&l->edit);
    r->depth--;
    return code ? code : put(r, l->value);
}

static int on_document_end(struct reader *r) {
    map_clear(&r->anchors);
    if (++r->seen > LIMIT_YAML_DOCS) {
        return fail(r, ERR_TOO_LARGE, "too many documents");
    }
    if (r->doc->root == NULL || yyjson_mut_is_null(r->doc->root)) {
        return 0;
    }
    if (r->docs.n == r->cap && ARENA_GROW(r->arena, r->docs.v, r->cap) != 0) {
        return no_memory(r);
    }
    r->docs.v[r->docs.n++] = r->doc;
    return 0;
}

static int on_event(struct reader *r, const yaml_event_t *e) {
    r->mark = e->start_mark;
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        r->doc = json_mut_new(r->arena);
        return r->doc ? 0 : no_memory(r);
    case YAML_DOCUMENT_END_EVENT:
        return on_document_end(r);
    case YAML_SCALAR_EVENT:
        return on_scalar(r, e);
    case YAML_ALIAS_EVENT:
        return on_alias(r, e);
    case YAML_SEQUENCE_START_EVENT:
        return on_start(r, yyjson_mut_arr(r->doc), e->data.sequence_start.anchor);
    case YAML_MAPPING_START_EVENT:
        return on_start(r, yyjson_mut_obj(r->doc), e->data.mapping_start.anchor);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return on_end(r);
    default:
        return 0;
    }
}

static int parser_error(struct reader *r, const yaml_parser_t *p) {
    if (p->error == YAML_MEMORY_ERROR) {
        return no_memory(r);
    }
    r->mark = p->problem_mark;
    return fail(r, ERR_SYNTAX, p->problem ? p->problem : "invalid YAML");
}

static int run(struct reader *r, yaml_parser_t *p) {
    for (bool end = false; !end;) {
        yaml_event_t e;
        if (!yaml_parser_parse(p, &e)) {
            return parser_error(r, p);
        }
        end = e.type == YAML_STREAM_END_EVENT;
        int code = on_event(r, &e);
        yaml_event_delete(&e);
        if (code != 0) {
            return code;
        }
    }
    return 0;
}

/* libyaml compares each %TAG directive with all before it. Nobody writes more than a few. The last bytes of NEL, LS
 * and PS count as line ends, too. */
static bool too_many_directives(struct str text) {
    const struct str tag = STR("%TAG");
    size_t n = 0;
    for (const char *at; text.p && (at = memmem(text.p, text.n, tag.p, tag.n)) != NULL;) {
        bool first = at == text.p;
        n += first || str_find(STR("\n\r\x85\xa8\xa9"), at[-1]) >= 0;
        if (n > DIRECTIVES_MAX) {
            return true;
        }
        text = str_skip(text, (size_t)(at - text.p) + tag.n);
    }
    return false;
}

static int parse(struct arena *a, struct str text, const struct yaml_repeats *repeats,
                 struct yaml_docs *ret, struct err *err) {
    struct reader *r = ARENA_NEW(a, struct reader);
    yaml_parser_t p;
    if (too_many_directives(text)) {
        return err_set(err, ERR_TOO_LARGE, "more than %d %%TAG directives", DIRECTIVES_MAX);
    }
    if (r == NULL || !yaml_parser_initialize(&p)) {
        return err_set(err, ERR_NOMEM, "no memory to read YAML");
    }
    r->arena = a;
    r->err = err;
    r->repeats = repeats;
    yaml_parser_set_encoding(&p, YAML_UTF8_ENCODING); /* not what a byte order mark says */
    yaml_parser_set_input_string(&p, (const unsigned char *)(text.p ? text.p : ""), text.n);
    int code = run(r, &p);
    yaml_parser_delete(&p);
    while (r->depth > 0) {
        json_edit_end(&r->levels[--r->depth].edit);
    }
    map_release(&r->anchors);
    if (code == 0) {
        *ret = r->docs;
    }
    return code;
}

int yaml_parse(struct arena *a, struct str text, struct yaml_docs *ret, struct err *err) {
    return parse(a, text, NULL, ret, err);
}

int yaml_parse_lax(struct arena *a, struct str text, const struct yaml_repeats *repeats,
                   yyjson_mut_doc **ret, struct err *err) {
    struct yaml_docs docs;
    int r = parse(a, text, repeats, &docs, err);
    if (r == 0 && docs.n != 1) {
        r = err_set(err, ERR_SYNTAX, "exactly one YAML document is expected, not %zu", docs.n);
    }
    if (r == 0) {
        *ret = docs.v[0];
    }
    return r;
}

int yaml_parse_one(struct arena *a, struct str text, yyjson_mut_doc **ret, struct err *err) {
    return yaml_parse_lax(a, text, NULL, ret, err);
}
