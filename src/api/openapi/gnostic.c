/*
 * gnostic: parts of an OpenAPI v2 document in the protobuf form of gnostic's openapi.v2.Document, from their JSON.
 *
 * Each message is a table from the members of the JSON object to fields. A message of which parts come apart, one after
 * the other, is put together by every reader of protobuf: so a document is written in pieces. The numbers are those of
 * openapiv2/OpenAPIv2.proto of gnostic-models.
 */
#include "api/openapi/openapi_private.h"
#include "api/tables/table.h"

enum gnostic_type {
    G_TEXT,
    G_BOOL,
    G_INT,
    G_DOUBLE,
    G_TEXTS,   /* repeated string */
    G_ANY,     /* Any: its field 2 is the value as YAML, which JSON is */
    G_ANYS,    /* repeated Any */
    G_MESSAGE, /* an object by the table `of` */
    G_LIST,    /* repeated G_MESSAGE */
    G_NAMED, /* the object's members as repeated {1: name, 2: message `of`}, in field 1 of a message */
    G_TYPE,        /* TypeItem: a text or several, in field 1 */
    G_ITEMS,       /* ItemsItem: a schema in field 1 */
    G_OTHERS,      /* AdditionalPropertiesItem: 1 a schema, 2 a boolean */
    G_SCHEMA_ITEM, /* SchemaItem: a schema in field 1 */
};

struct gnostic_table;
struct gnostic_row {
    const char *json;
    uint8_t field;
    enum gnostic_type type;
    const struct gnostic_table *of;
};
struct gnostic_table {
    const struct gnostic_row *rows;
    size_t n;
    uint8_t extensions; /* field of x-*: repeated NamedAny */
    uint8_t others;     /* field of all other members, as NamedX; 0: left out */
    void (*write)(struct buf *b, yyjson_val *v, int depth); /* instead of rows */
};
#define GNOSTIC_TABLE(name_, ext_, ...)                                                            \
    static const struct gnostic_row name_##_rows[] = {__VA_ARGS__};                                \
    static const struct gnostic_table name_ = {name_##_rows, COUNT(name_##_rows), ext_, 0, NULL}

enum { DEPTH_MAX = 512 };

static void write_parameter(struct buf *b, yyjson_val *v, int depth);
static void write_parameters_item(struct buf *b, yyjson_val *v, int depth);
static void write_answer(struct buf *b, yyjson_val *v, int depth);
static void write_answers(struct buf *b, yyjson_val *v, int depth);
static const struct gnostic_table schema;
static const struct gnostic_table parameter = {.write = write_parameter};
static const struct gnostic_table parameters_item = {.write = write_parameters_item};
static const struct gnostic_table answer = {.write = write_answer};
static const struct gnostic_table answers = {.write = write_answers};

GNOSTIC_TABLE(docs, 3, {"description", 1, G_TEXT, NULL}, {"url", 2, G_TEXT, NULL});
static const struct gnostic_row schema_rows[] = {
    {"$ref", 1, G_TEXT, NULL},
    {"format", 2, G_TEXT, NULL},
    {"title", 3, G_TEXT, NULL},
    {"description", 4, G_TEXT, NULL},
    {"default", 5, G_ANY, NULL},
    {"multipleOf", 6, G_DOUBLE, NULL},
    {"maximum", 7, G_DOUBLE, NULL},
    {"exclusiveMaximum", 8, G_BOOL, NULL},
    {"minimum", 9, G_DOUBLE, NULL},
    {"exclusiveMinimum", 10, G_BOOL, NULL},
    {"maxLength", 11, G_INT, NULL},
    {"minLength", 12, G_INT, NULL},
    {"pattern", 13, G_TEXT, NULL},
    {"maxItems", 14, G_INT, NULL},
    {"minItems", 15, G_INT, NULL},
    {"uniqueItems", 16, G_BOOL, NULL},
    {"maxProperties", 17, G_INT, NULL},
    {"minProperties", 18, G_INT, NULL},
    {"required", 19, G_TEXTS, NULL},
    {"enum", 20, G_ANYS, NULL},
    {"additionalProperties", 21, G_OTHERS, NULL},
    {"type", 22, G_TYPE, NULL},
    {"items", 23, G_ITEMS, NULL},
    {"properties", 25, G_NAMED, &schema},
    {"externalDocs", 29, G_MESSAGE, &docs},
    {"example", 30, G_ANY, NULL},
};
static const struct gnostic_table schema = {schema_rows, COUNT(schema_rows), 31, 0, NULL};
GNOSTIC_TABLE(operation, 13, {"tags", 1, G_TEXTS, NULL}, {"description", 3, G_TEXT, NULL},
              {"operationId", 5, G_TEXT, NULL}, {"produces", 6, G_TEXTS, NULL},
              {"consumes", 7, G_TEXTS, NULL}, {"parameters", 8, G_LIST, &parameters_item},
              {"responses", 9, G_MESSAGE, &answers}, {"schemes", 10, G_TEXTS, NULL});
GNOSTIC_TABLE(path_item, 10, {"get", 2, G_MESSAGE, &operation}, {"put", 3, G_MESSAGE, &operation},
              {"post", 4, G_MESSAGE, &operation}, {"delete", 5, G_MESSAGE, &operation},
              {"patch", 8, G_MESSAGE, &operation}, {"parameters", 9, G_LIST, &parameters_item});
GNOSTIC_TABLE(body, 6, {"description", 1, G_TEXT, NULL}, {"name", 2, G_TEXT, NULL},
              {"in", 3, G_TEXT, NULL}, {"required", 4, G_BOOL, NULL},
              {"schema", 5, G_MESSAGE, &schema});
GNOSTIC_TABLE(query, 23, {"required", 1, G_BOOL, NULL}, {"in", 2, G_TEXT, NULL},
              {"description", 3, G_TEXT, NULL}, {"name", 4, G_TEXT, NULL},
              {"type", 6, G_TEXT, NULL}, {"format", 7, G_TEXT, NULL},
              {"uniqueItems", 20, G_BOOL, NULL});
GNOSTIC_TABLE(in_path, 22, {"required", 1, G_BOOL, NULL}, {"in", 2, G_TEXT, NULL},
              {"description", 3, G_TEXT, NULL}, {"name", 4, G_TEXT, NULL},
              {"type", 5, G_TEXT, NULL}, {"format", 6, G_TEXT, NULL},
              {"uniqueItems", 19, G_BOOL, NULL});
GNOSTIC_TABLE(reference, 0, {"$ref", 1, G_TEXT, NULL}, {"description", 2, G_TEXT, NULL});
GNOSTIC_TABLE(response, 5, {"description", 1, G_TEXT, NULL}, {"schema", 2, G_SCHEMA_ITEM, NULL});

/* ---- the wire ---- */

static void varint(struct buf *b, uint64_t v) {
    for (; v >= 0x80; v >>= 7) {
        buf_ch(b, (char)(v | 0x80));
    }
    buf_ch(b, (char)v);
}

static void key(struct buf *b, unsigned field, unsigned wire) {
    varint(b, (uint64_t)field << 3 | wire);
}

static void text(struct buf *b, unsigned field, struct str s) {
    key(b, field, 2);
    varint(b, s.n);
    buf_str(b, s);
}

static void integer(struct buf *b, unsigned field, uint64_t v) {
    key(b, field, 0);
    varint(b, v);
}

static void number(struct buf *b, unsigned field, double d) {
    uint64_t bits;
    memcpy(&bits, &d, sizeof(bits));
    key(b, field, 1);
    for (int i = 0; i < 8; i++) {
        buf_ch(b, (char)(bits >> (8 * i)));
    }
}

/* A message whose length is known only when it is written: where it begins, and its length put before it. */
static size_t begin(struct buf *b, unsigned field) {
    key(b, field, 2);
    return b->n;
}

static void end(struct buf *b, size_t start) {
    size_t n = b->n - start, size = 1;
    for (uint64_t v = n; v >= 0x80; v >>= 7) {
        size++;
    }
    if (buf_ok(b) != 0 || buf_room(b, size) == NULL) {
        return;
    }
    memmove(b->p + start + size, b->p + start, n);
    b->n = start;
    varint(b, n);
    b->n = start + size + n;
}

/* ---- values ---- */

static void message(struct buf *b, const struct gnostic_table *t, yyjson_val *v, int depth);

static void any(struct buf *b, unsigned field, yyjson_val *v) {
    size_t at = begin(b, field), in = begin(b, 2);
    json_write(b, v);
    end(b, in);
    end(b, at);
}

static void nested(struct buf *b, unsigned field, const struct gnostic_table *t, yyjson_val *v,
                   int depth) {
    size_t at = begin(b, field);
    message(b, t, v, depth + 1);
    end(b, at);
}

/* {1: name, 2: message} in `field`, for each member. */
static void named(struct buf *b, unsigned field, const struct gnostic_table *t, yyjson_val *v,
                  int depth) {
    yyjson_obj_iter it = yyjson_obj_iter_with(v);
    for (yyjson_val *k; (k = yyjson_obj_iter_next(&it)) != NULL;) {
        size_t at = begin(b, field);
        text(b, 1, json_str(k));
        nested(b, 2, t, yyjson_obj_iter_get_val(k), depth);
        end(b, at);
    }
}

static void each(struct buf *b, const struct gnostic_row *r, yyjson_val *list, int depth) {
    size_t i, n;
    yyjson_val *e;
    yyjson_arr_foreach(list, i, n, e) {
        if (r->type == G_TEXTS) {
            text(b, r->field, json_str(e));
        } else if (r->type == G_ANYS) {
            any(b, r->field, e);
        } else {
            nested(b, r->field, r->of, e, depth);
        }
    }
}

static void inside(struct buf *b, const struct gnostic_row *r, yyjson_val *v, int depth) {
    size_t at = begin(b, r->field);
    if (r->type == G_NAMED) {
        named(b, 1, r->of, v, depth);
    } else if (r->type == G_TYPE) {
        text(b, 1, json_str(v));
    } else if (yyjson_is_bool(v)) {
        integer(b, 2, yyjson_get_bool(v));
    } else {
        nested(b, 1, &schema, v, depth);
    }
    end(b, at);
}

static void member(struct buf *b, const struct gnostic_row *r, yyjson_val *v, int depth) {
    switch (r->type) {
    case G_TEXT:
        text(b, r->field, json_str(v));
        break;
    case G_BOOL:
        integer(b, r->field, yyjson_get_bool(v));
        break;
    case G_INT:
        integer(b, r->field,
                (uint64_t)(yyjson_is_real(v) ? (int64_t)yyjson_get_real(v) : yyjson_get_sint(v)));
        break;
    case G_DOUBLE:
        number(b, r->field, yyjson_get_num(v));
        break;
    case G_ANY:
        any(b, r->field, v);
        break;
    case G_TEXTS:
    case G_ANYS:
    case G_LIST:
        each(b, r, v, depth);
        break;
    case G_MESSAGE:
        nested(b, r->field, r->of, v, depth);
        break;
    case G_NAMED:
    case G_TYPE:
    case G_ITEMS:
    case G_OTHERS:
    case G_SCHEMA_ITEM:
        inside(b, r, v, depth);
        break;
    }
}

static void message(struct buf *b, const struct gnostic_table *t, yyjson_val *v, int depth) {
    yyjson_obj_iter it = yyjson_obj_iter_with(v);
    if (!yyjson_is_obj(v) || depth > DEPTH_MAX) {
        return;
    }
    if (t->write != NULL) {
        t->write(b, v, depth);
        return;
    }
    for (yyjson_val *k; (k = yyjson_obj_iter_next(&it)) != NULL;) {
        struct str name = json_str(k);
        yyjson_val *x = yyjson_obj_iter_get_val(k);
        size_t i = 0;
        while (i < t->n && !str_is(name, t->rows[i].json)) {
            i++;
        }
        if (i < t->n) {
            member(b, &t->rows[i], x, depth);
        } else if (t->extensions != 0 && str_starts(name, STR("x-"))) {
            size_t at = begin(b, t->extensions);
            text(b, 1, name);
            any(b, 2, x);
            end(b, at);
        }
    }
}

/* Parameter: 1 a body, 2 another: of that 3 in the query, 4 in the path. */
static void write_parameter(struct buf *b, yyjson_val *v, int depth) {
    struct str in = json_str(json_get(v, STR("in")));
    if (str_is(in, "body")) {
        nested(b, 1, &body, v, depth);
        return;
    }
    size_t at = begin(b, 2);
    bool path = str_is(in, "path");
    nested(b, path ? 4 : 3, path ? &in_path : &query, v, depth);
    end(b, at);
}

/* ParametersItem: 1 a parameter, 2 a reference to one. */
static void write_parameters_item(struct buf *b, yyjson_val *v, int depth) {
    bool refers = json_get(v, STR("$ref")) != NULL;
    nested(b, refers ? 2 : 1, refers ? &reference : &parameter, v, depth);
}

/* ResponseValue: 1 a response. */
static void write_answer(struct buf *b, yyjson_val *v, int depth) {
    nested(b, 1, &response, v, depth);
}

/* Responses: 1 each by its code. */
static void write_answers(struct buf *b, yyjson_val *v, int depth) {
    named(b, 1, &answer, v, depth);
}

/* ---- parts ---- */

int gnostic_part(enum gnostic_part part, struct str members, struct buf *out) {
    static const struct gnostic_table *const of[] = {
        [GNOSTIC_PATHS] = &path_item,
        [GNOSTIC_DEFINITIONS] = &schema,
        [GNOSTIC_PARAMETERS] = &parameter,
    };
    struct arena a;
    struct buf b;
    yyjson_doc *doc = NULL;
    arena_init(&a, SIZE_MAX / 4);
    buf_init(&b, 0);
    buf_ch(&b, '{');
    buf_str(&b, members);
    buf_ch(&b, '}');
    int r = buf_ok(&b);
    r = r ? r : json_parse(&a, buf_view(&b), &doc, NULL);
    if (r == 0) {
        size_t at = begin(out, part);
        named(out, part == GNOSTIC_PATHS ? 2 : 1, of[part], yyjson_doc_get_root(doc), 0);
        end(out, at);
        r = buf_ok(out);
    }
    buf_release(&b);
    arena_release(&a);
    return r;
}

void gnostic_head(struct str title, struct str version, struct buf *out) {
    text(out, 1, STR("2.0"));
    size_t at = begin(out, 2);
    text(out, 1, title);
    text(out, 2, version);
    end(out, at);
}
