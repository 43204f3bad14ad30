/* place: see place.h. */
#include "api/openapi/place.h"

#include "api/tables/table.h"

struct place place_of_table(const struct schema *s) {
    return (struct place){.table = s};
}

struct place place_of_written(yyjson_val *v, bool root) {
    return (struct place){.written = v, .root = root};
}

/* ---- what it says ---- */

static void facts_of_scalar(const struct field *f, struct place_facts *ret) {
    static const struct {
        const char *type, *format, *component;
    } known[] = {
        [FIELD_STRING] = {"string", "", ""},
        [FIELD_BOOL] = {"boolean", "", ""},
        [FIELD_INT32] = {"integer", "int32", ""},
        [FIELD_INT64] = {"integer", "int64", ""},
        [FIELD_DOUBLE] = {"number", "double", ""},
        [FIELD_BYTES] = {"string", "byte", ""},
        [FIELD_QUANTITY] = {"", "", PLACE_QUANTITY},
        [FIELD_TIME] = {"string", "date-time", ""},
        [FIELD_MICROTIME] = {"string", "date-time", ""},
        [FIELD_DURATION] = {"string", "", ""},
        [FIELD_INT_OR_STRING] = {"", "", PLACE_INT_OR_STRING},
        [FIELD_ANY] = {"object", "", ""},
    };
    if (f->type == FIELD_OBJECT) {
        ret->component = str_of(f->of->name);
        return;
    }
    ret->type = str_of(known[f->type].type);
    ret->format = str_of(known[f->type].format);
    ret->component = str_of(known[f->type].component);
    ret->preserves = f->type == FIELD_ANY;
}

static void facts_of_field(const struct place *p, struct place_facts *ret) {
    const struct field *f = p->field;
    if (f->shape == FIELD_ONE || p->item) {
        facts_of_scalar(f, ret);
    } else {
        ret->type = f->shape == FIELD_LIST ? STR("array") : STR("object");
    }
    if (!p->item) {
        ret->doc = f->doc != NULL ? str_of(f->doc) : (struct str){0};
        ret->def_text = f->def;
    }
    ret->texts = f->shape == FIELD_ONE || p->item ? f->values : NULL;
}

static bool says(yyjson_val *v, const char *name) {
    return yyjson_get_bool(json_get(v, str_of(name)));
}

static void facts_of_written(const struct place *p, struct place_facts *ret) {
    yyjson_val *v = p->written;
    *ret = (struct place_facts){
        .doc = json_str(json_get(v, STR("description"))),
        .type = json_str(json_get(v, STR("type"))),
        .format = json_str(json_get(v, STR("format"))),
        .nullable = says(v, "nullable"),
        .preserves = says(v, "x-kubernetes-preserve-unknown-fields"),
        .embeds = says(v, "x-kubernetes-embedded-resource"),
        .int_or_string = says(v, "x-kubernetes-int-or-string"),
        .def = json_get(v, STR("default")),
        .values = json_get(v, STR("enum")),
    };
}

void place_facts(const struct place *p, struct place_facts *ret) {
    *ret = (struct place_facts){0};
    if (p->table != NULL) {
        ret->type = STR("object");
        ret->doc = p->table->doc != NULL ? str_of(p->table->doc) : (struct str){0};
    } else if (p->field != NULL) {
        facts_of_field(p, ret);
    } else {
        facts_of_written(p, ret);
    }
}

/* ---- what is below ---- */

/* apiVersion, kind and metadata: of an object, and of one that is embedded in another. */
static const struct field *meta_rows(const struct place *p) {
    return p->root || says(p->written, "x-kubernetes-embedded-resource") ? schema_custom.fields
                                                                         : NULL;
}

static bool is_meta_row(struct str name) {
    bool is = false;
    for (size_t i = 0; i < schema_custom.n; i++) {
        is |= str_is(name, schema_custom.fields[i].json);
    }
    return is;
}

struct place_members place_members(const struct place *p) {
    struct place_members m = {.of = p};
    yyjson_val *members = p->written != NULL ? json_get(p->written, STR("properties")) : NULL;
    if (yyjson_is_obj(members)) {
        m.it = yyjson_obj_iter_with(members);
    }
    return m;
}

static bool next_written(struct place_members *m, struct str *ret_name, struct place *ret) {
    const struct field *meta = meta_rows(m->of);
    if (meta != NULL && m->at < schema_custom.n) {
        *ret_name = str_of(meta[m->at].json);
        *ret = (struct place){.field = &meta[m->at++]};
        return true;
    }
    for (yyjson_val *k; m->it.obj != NULL && (k = yyjson_obj_iter_next(&m->it)) != NULL;) {
        if (meta == NULL || !is_meta_row(json_str(k))) {
            *ret_name = json_str(k);
            *ret = place_of_written(yyjson_obj_iter_get_val(k), false);
            return true;
        }
    }
    return false;
}

bool place_next(struct place_members *m, struct str *ret_name, struct place *ret) {
    if (m->of->written != NULL) {
        return next_written(m, ret_name, ret);
    }
    if (m->of->table == NULL || m->at >= m->of->table->n) {
        return false;
    }
    const struct field *f = &m->of->table->fields[m->at++];
    *ret_name = str_of(f->json);
    *ret = (struct place){.field = f};
    return true;
}

bool place_has_members(const struct place *p) {
    struct place_members m = place_members(p);
    struct str name;
    struct place below;
    return place_next(&m, &name, &below);
}

static bool has_text(yyjson_val *list, const char *text) {
    size_t i, n;
    yyjson_val *e;
    yyjson_arr_foreach(list, i, n, e) {
        if (str_is(json_str(e), text)) {
            return true;
        }
    }
    return false;
}

/* Those that are written, then what an embedded object needs. */
static bool next_required_written(yyjson_val *v, size_t *at, struct str *ret_name) {
    static const char *const needs[] = {"kind", "apiVersion"};
    yyjson_val *list = json_get(v, STR("required"));
    size_t n = yyjson_arr_size(list);
    if (*at < n) {
        *ret_name = json_str(yyjson_arr_get(list, (*at)++));
        return true;
    }
    while (says(v, "x-kubernetes-embedded-resource") && *at < n + COUNT(needs)) {
        const char *name = needs[(*at)++ - n];
        if (list == NULL || !has_text(list, name)) {
            *ret_name = str_of(name);
            return true;
        }
    }
    return false;
}

bool place_next_required(const struct place *p, size_t *at, struct str *ret_name) {
    if (p->written != NULL) {
        return next_required_written(p->written, at, ret_name);
    }
    for (; p->table != NULL && *at < p->table->n; ++*at) {
        if (p->table->fields[*at].flags & FIELD_F_REQUIRED) {
            *ret_name = str_of(p->table->fields[(*at)++].json);
            return true;
        }
    }
    return false;
}

bool place_items(const struct place *p, struct place *ret) {
    yyjson_val *items = p->written != NULL ? json_get(p->written, STR("items")) : NULL;
    bool list = p->field != NULL && p->field->shape == FIELD_LIST && !p->item;
    *ret = list ? (struct place){.field = p->field, .item = true} : place_of_written(items, false);
    return list || yyjson_is_obj(items);
}

bool place_others(const struct place *p, struct place *ret) {
    yyjson_val *v = p->written != NULL ? json_get(p->written, STR("additionalProperties")) : NULL;
    bool map = p->field != NULL && p->field->shape == FIELD_MAP && !p->item;
    *ret = map ? (struct place){.field = p->field, .item = true} : place_of_written(v, false);
    return map || yyjson_is_obj(v);
}

/* ---- the rest ---- */

static void write_text(struct buf *b, const char *name, struct str value) {
    place_name(b, str_of(name));
    buf_json(b, value);
}

static void rest_of_field(const struct field *f, struct buf *b) {
    if (f->flags & (FIELD_F_MERGE | FIELD_F_RETAIN_KEYS)) {
        const char *how = (f->flags & FIELD_F_MERGE) && (f->flags & FIELD_F_RETAIN_KEYS)
                              ? "merge,retainKeys"
                          : f->flags & FIELD_F_MERGE ? "merge"
                                                     : "retainKeys";
        write_text(b, "x-kubernetes-patch-strategy", str_of(how));
    }
    if (f->merge_key != NULL) {
        write_text(b, "x-kubernetes-patch-merge-key", str_of(f->merge_key));
    }
    if (f->list_keys != NULL) {
        struct str keys = str_of(f->list_keys), key;
        write_text(b, "x-kubernetes-list-type", STR("map"));
        place_name(b, STR("x-kubernetes-list-map-keys"));
        buf_ch(b, '[');
        while (str_next(&keys, ',', &key)) {
            place_comma(b);
            buf_json(b, key);
        }
        buf_ch(b, ']');
    } else if (f->flags & FIELD_F_SET) {
        write_text(b, "x-kubernetes-list-type", STR("set"));
    } else if (f->flags & FIELD_F_ATOMIC) {
        bool list = f->shape == FIELD_LIST;
        write_text(b, list ? "x-kubernetes-list-type" : "x-kubernetes-map-type", STR("atomic"));
    }
}

/* What the writer makes of the facts, and has no need to be copied. */
static bool is_fact(struct str name, bool v2) {
    static const char *const facts[] = {
        "description",
        "type",
        "format",
        "default",
        "enum",
        "properties",
        "required",
        "items",
        "x-kubernetes-preserve-unknown-fields",
        "nullable",
        "additionalProperties",
    };
    static const char *const alternatives[] = {"allOf", "anyOf", "oneOf", "not"};
    bool is = false;
    for (size_t i = 0; i < COUNT(facts); i++) {
        is |= str_is(name, facts[i]);
    }
    for (size_t i = 0; v2 && i < COUNT(alternatives); i++) {
        is |= str_is(name, alternatives[i]);
    }
    return is;
}

void place_write_rest(const struct place *p, bool v2, struct buf *b) {
    if (p->table != NULL && p->table->atomic) {
        write_text(b, "x-kubernetes-map-type", STR("atomic"));
    }
    if (p->field != NULL && !p->item) {
        rest_of_field(p->field, b);
    }
    yyjson_val *others =
        p->written != NULL ? json_get(p->written, STR("additionalProperties")) : NULL;
    if (yyjson_is_bool(others)) {
        place_name(b, STR("additionalProperties"));
        buf_c(b, yyjson_get_bool(others) ? "true" : "false");
    }
    yyjson_obj_iter it = yyjson_obj_iter_with(p->written);
    for (yyjson_val *k; p->written != NULL && (k = yyjson_obj_iter_next(&it)) != NULL;) {
        if (!is_fact(json_str(k), v2)) {
            place_name(b, json_str(k));
            json_write(b, yyjson_obj_iter_get_val(k));
        }
    }
}
