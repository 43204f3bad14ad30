/* catalog: see catalog.h; models. catalog_sources.c reads sources and records. */
#include <math.h>

#include "base/limits.h"
#include "core/model/catalog_private.h"
#include "wire/yaml.h"

int catalog_parse(struct arena *a, struct str text, yyjson_mut_doc **ret, struct err *err) {
    if (text.n > LIMIT_CATALOG_BYTES) {
        return err_set(err, ERR_TOO_LARGE, "%zu bytes; at most %d are read", text.n,
                       LIMIT_CATALOG_BYTES);
    }
    return yaml_parse_one(a, text, ret, err);
}

int catalog_fault(struct catalog_in *c, const char *field, const char *what) {
    if (c->code == 0) {
        c->code = c->list != NULL ? err_set(c->err, ERR_INVALID, "%s[%zu].%s: %s", c->list,
                                            c->index, field, what)
                                  : err_set(c->err, ERR_INVALID, "%s: %s", field, what);
    }
    return c->code;
}

static yyjson_mut_val *member(yyjson_mut_val *obj, const char *field) {
    yyjson_mut_val *v = json_mget(obj, str_of(field));
    return yyjson_mut_is_null(v) ? NULL : v;
}

struct str catalog_in_text(struct catalog_in *c, yyjson_mut_val *obj, const char *field) {
    yyjson_mut_val *v = member(obj, field);
    if (v != NULL && !yyjson_mut_is_str(v)) {
        catalog_fault(c, field, "expected a text");
    }
    return json_mstr(v);
}

yyjson_mut_val *catalog_in_list(struct catalog_in *c, yyjson_mut_val *obj, const char *field,
                                size_t most) {
    yyjson_mut_val *v = member(obj, field);
    if (v != NULL && !yyjson_mut_is_arr(v)) {
        catalog_fault(c, field, "expected a list");
    } else if (v != NULL && yyjson_mut_arr_size(v) > most) {
        catalog_fault(c, field, "has more items than are read");
    } else {
        return v;
    }
    return NULL;
}

struct catalog_texts catalog_in_texts(struct catalog_in *c, yyjson_mut_val *obj,
                                      const char *field) {
    yyjson_mut_val *list = catalog_in_list(c, obj, field, LIMIT_CATALOG_ITEMS), *v;
    struct catalog_texts ret = {0};
    size_t i, n;

    if (list == NULL) {
        return ret;
    }
    ret.v = ARENA_ARRAY(c->arena, struct str, yyjson_mut_arr_size(list) + 1);
    yyjson_mut_arr_foreach(list, i, n, v) {
        if (!yyjson_mut_is_str(v)) {
            catalog_fault(c, field, "expected texts");
        } else if (ret.v != NULL) {
            ret.v[ret.n++] = json_mstr(v);
        }
    }
    return ret;
}

/* A time in ms, or a whole number: written as a number or, as the registry does, as a text. */
static bool whole(yyjson_mut_val *v, int64_t *ret) {
    if (yyjson_mut_is_int(v)) {
        *ret = yyjson_mut_is_uint(v) && yyjson_mut_get_uint(v) > INT64_MAX ? INT64_MAX
                                                                           : yyjson_mut_get_sint(v);
        return true;
    }
    return yyjson_mut_is_str(v) && str_to_i64(json_mstr(v), ret);
}

static int64_t time_of(struct catalog_in *c, yyjson_mut_val *obj, const char *field) {
    yyjson_mut_val *v = member(obj, field);
    int64_t ms = 0;
    if (v != NULL && (!whole(v, &ms) || ms < 0)) {
        catalog_fault(c, field, "expected ms since 1970");
    }
    return ms;
}

/* ---- custom properties ---- */

static bool read_value(yyjson_mut_val *v, struct catalog_property *p) {
    yyjson_mut_val *text = member(v, "string_value"), *n = member(v, "int_value");
    yyjson_mut_val *real = member(v, "double_value"), *truth = member(v, "bool_value");

    p->kind = CATALOG_NONE;
    if (yyjson_mut_is_str(text)) {
        p->kind = CATALOG_TEXT;
        p->text = json_mstr(text);
    } else if (n != NULL && whole(n, &p->whole)) {
        p->kind = CATALOG_WHOLE;
    } else if (yyjson_mut_is_num(real)) {
        p->kind = CATALOG_REAL;
        p->real = yyjson_mut_get_num(real);
    } else if (yyjson_mut_is_bool(truth)) {
        p->kind = CATALOG_BOOL;
        p->whole = yyjson_mut_get_bool(truth);
    } else {
        return text == NULL && n == NULL && real == NULL &&
               truth == NULL; /* of another type: kept out */
    }
    return true;
}

static struct catalog_properties read_custom(struct catalog_in *c, yyjson_mut_val *obj) {
    yyjson_mut_val *map = member(obj, "customProperties"), *key, *v;
    struct catalog_properties ret = {0};
    size_t i, n;

    if (map == NULL) {
        return ret;
    }
    if (!yyjson_mut_is_obj(map) || yyjson_mut_obj_size(map) > LIMIT_CATALOG_ITEMS) {
        catalog_fault(c, "customProperties", "expected an object with not too many members");
        return ret;
    }
    ret.v = ARENA_ARRAY(c->arena, struct catalog_property, yyjson_mut_obj_size(map) + 1);
    yyjson_mut_obj_foreach(map, i, n, key, v) {
        struct catalog_property p = {.name = json_mstr(key)};
        if (!yyjson_mut_is_obj(v) || !read_value(v, &p)) {
            catalog_fault(c, "customProperties",
                          "expected {metadataType, and a value of that type}");
        } else if (ret.v != NULL && p.kind != CATALOG_NONE) {
            ret.v[ret.n++] = p;
        }
    }
    return ret;
}

static void read_artifacts(struct catalog_in *c, yyjson_mut_val *obj, struct catalog_model *m) {
    yyjson_mut_val *list = catalog_in_list(c, obj, "artifacts", LIMIT_CATALOG_ITEMS), *v;
    size_t i, n;

    if (list == NULL) {
        return;
    }
    m->artifacts = ARENA_ARRAY(c->arena, struct catalog_artifact, yyjson_mut_arr_size(list) + 1);
    yyjson_mut_arr_foreach(list, i, n, v) {
        struct catalog_artifact x = {.uri = catalog_in_text(c, v, "uri"),
                                     .custom = read_custom(c, v)};
        if (m->artifacts != NULL) {
            m->artifacts[m->n_artifacts++] = x;
        }
    }
}

static struct catalog_model read_model(struct catalog_in *c, yyjson_mut_val *v) {
    struct catalog_model m = {
        .name = catalog_in_text(c, v, "name"),
        .provider = catalog_in_text(c, v, "provider"),
        .description = catalog_in_text(c, v, "description"),
        .readme = catalog_in_text(c, v, "readme"),
        .license = catalog_in_text(c, v, "license"),
        .license_link = catalog_in_text(c, v, "licenseLink"),
        .library = catalog_in_text(c, v, "libraryName"),
        .maturity = catalog_in_text(c, v, "maturity"),
        .logo = catalog_in_text(c, v, "logo"),
        .languages = catalog_in_texts(c, v, "language"),
        .tasks = catalog_in_texts(c, v, "tasks"),
        .created_ms = time_of(c, v, "createTimeSinceEpoch"),
        .updated_ms = time_of(c, v, "lastUpdateTimeSinceEpoch"),
        .custom = read_custom(c, v),
    };
    if (m.name.n == 0) {
        catalog_fault(c, "name", "expected the name of the model");
    }
    read_artifacts(c, v, &m);
    return m;
}

int catalog_read(struct arena *a, struct str text, struct catalog *ret, struct err *err) {
    struct catalog_in c = {.arena = a, .err = err};
    struct catalog x = {0};
    yyjson_mut_doc *doc;
    yyjson_mut_val *v;
    size_t i, n;

    int code = catalog_parse(a, text, &doc, err);
    if (code != 0) {
        return code;
    }
    if (!yyjson_mut_is_obj(doc->root)) {
        return err_set(err, ERR_INVALID, "expected an object with source and models");
    }
    x.source = catalog_in_text(&c, doc->root, "source");
    yyjson_mut_val *list = catalog_in_list(&c, doc->root, "models", LIMIT_CATALOG_MODELS);
    if (c.code == 0 && list == NULL) {
        return catalog_fault(&c, "models", "expected a list");
    }
    x.models =
        ARENA_ARRAY(a, struct catalog_model, list != NULL ? yyjson_mut_arr_size(list) + 1 : 1);
    c.list = "models";
    for (i = 0, n = yyjson_mut_arr_size(list), v = yyjson_mut_arr_get_first(list);
         i < n && c.code == 0; i++) {
        c.index = i;
        struct catalog_model m = read_model(&c, v);
        if (x.models != NULL) {
            x.models[x.n++] = m;
        }
        v = v->next;
    }
    code = c.code != 0 ? c.code : arena_ok(a);
    if (code == 0) {
        *ret = x;
    }
    return code == ERR_NOMEM ? err_set(err, ERR_NOMEM, "no memory for a catalog") : code;
}

/* ---- what a model has ---- */

static struct str without(struct str name, const char *suffix) {
    struct str s = str_of(suffix);
    return str_ends(name, s) && name.n > s.n ? str_head(name, name.n - s.n) : name;
}

struct catalog_property catalog_property(const struct catalog_model *m, struct str name) {
    const struct {
        const char *name;
        struct str text;
    } fields[] = {
        {"name", m->name},       {"provider", m->provider},   {"description", m->description},
        {"license", m->license}, {"libraryName", m->library}, {"maturity", m->maturity},
        {"readme", m->readme}};

    name = without(without(without(without(name, ".string_value"), ".int_value"), ".double_value"),
                   ".bool_value");
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
        if (str_is(name, fields[i].name)) {
            return (struct catalog_property){
                .name = name, .kind = CATALOG_TEXT, .text = fields[i].text};
        }
    }
    if (str_is(name, "tasks") || str_is(name, "task")) {
        return (struct catalog_property){.name = name, .kind = CATALOG_LIST, .list = m->tasks};
    }
    if (str_is(name, "language")) {
        return (struct catalog_property){.name = name, .kind = CATALOG_LIST, .list = m->languages};
    }
    for (size_t i = 0; i < m->custom.n; i++) {
        if (str_eq(m->custom.v[i].name, name)) {
            return m->custom.v[i];
        }
    }
    return (struct catalog_property){.name = name};
}

int64_t catalog_memory(const struct catalog_model *m) {
    struct catalog_property p = catalog_property(m, STR("min_vram_gb"));
    int64_t n = 0;
    double gib = p.kind == CATALOG_WHOLE                            ? (double)p.whole
                 : p.kind == CATALOG_REAL                           ? p.real
                 : p.kind == CATALOG_TEXT && str_to_i64(p.text, &n) ? (double)n
                                                                    : 0;
    return gib > 0 && gib < 1e6 ? (int64_t)ceil(gib * 1073741824.0) : 0;
}
