/* form: see form.h. */
#include "api/managed/form.h"

#include "api/schema/crd_schema.h"
#include "api/tables/view_meta.h"
#include "api/walk/crd_node.h"
#include "api/walk/walk.h"

static struct form of_node(const struct crd_node *n) {
    struct form f = {.how = n != NULL ? FORM_NODE : FORM_UNKNOWN, .node = n};
    f.atomic = n != NULL && (n->flags & CRD_ATOMIC) != 0;
    return f;
}

static struct form of_schema(const struct schema *s) {
    return (struct form){.how = FORM_OBJECT, .schema = s, .atomic = s->atomic};
}

/* One value by a row: an element, or the member itself where it is no list or map. */
static struct form one_of(const struct field *row) {
    return row->type == FIELD_OBJECT ? of_schema(row->of)
                                     : (struct form){.how = FORM_VALUE, .atomic = true, .row = row};
}

static struct form of_row(const struct field *row) {
    if (row->shape == FIELD_ONE) {
        struct form f = one_of(row);
        f.atomic = f.atomic || (row->flags & FIELD_F_ATOMIC) != 0;
        return f;
    }
    bool list = row->shape == FIELD_LIST;
    bool parts = row->list_keys != NULL || (row->flags & FIELD_F_SET) != 0;
    bool whole = (row->flags & FIELD_F_ATOMIC) != 0 || (list && !parts);
    return (struct form){.how = list ? FORM_LIST : FORM_MAP, .row = row, .atomic = whole};
}

struct form form_root(const struct schema *s) {
    return of_schema(s);
}

enum form_rule form_list_rule(const struct form *f) {
    if (f->atomic) {
        return RULE_LEAF;
    }
    if (f->how == FORM_LIST) {
        return f->row->list_keys != NULL ? RULE_KEYED : RULE_SET;
    }
    unsigned flags = f->how == FORM_NODE ? f->node->flags : 0;
    return (flags & CRD_LIST_MAP) != 0   ? RULE_KEYED
           : (flags & CRD_LIST_SET) != 0 ? RULE_SET
                                         : RULE_LEAF;
}

enum form_rule form_rule(const struct form *f, yyjson_mut_val *v) {
    if (f->atomic) {
        return RULE_LEAF;
    }
    if (yyjson_mut_is_obj(v)) {
        return f->how == FORM_LIST ? RULE_LEAF : RULE_MEMBERS;
    }
    return yyjson_mut_is_arr(v) ? form_list_rule(f) : RULE_LEAF;
}

static const struct field *row_named(const struct schema *s, struct str name) {
    size_t hint = 0;
    return schema_find(s, name, &hint);
}

/* A value of a custom kind: what is embedded has the metadata of any object. */
static struct form member_of_node(const struct crd_node *n, struct str name, bool *named) {
    const struct crd_node *prop = crd_prop(n, name);
    *named = prop != NULL;
    if (prop == NULL && (n->flags & CRD_EMBEDDED) != 0 && str_is(name, "metadata")) {
        *named = true;
        return of_schema(&schema_meta);
    }
    return of_node(prop != NULL ? prop : n->additional);
}

struct form form_member(const struct form *f, struct str name, size_t *hint, bool *ret_named) {
    *ret_named = false;
    if (f->how == FORM_NODE) {
        return member_of_node(f->node, name, ret_named);
    }
    if (f->how == FORM_MAP) {
        return one_of(f->row);
    }
    const struct field *row = f->how == FORM_OBJECT ? schema_find(f->schema, name, hint) : NULL;
    *ret_named = row != NULL;
    if (row != NULL) {
        return of_row(row);
    }
    if (f->how == FORM_OBJECT && f->schema->custom != NULL) {
        return member_of_node(f->schema->custom->root, name, ret_named);
    }
    return (struct form){0};
}

static bool node_allows(const struct crd_node *n, struct str name) {
    return crd_member(n, name) != NULL || n->type == CRD_ANY ||
           (n->flags & (CRD_PRESERVE | CRD_ADDITIONAL)) != 0 ||
           ((n->flags & CRD_EMBEDDED) != 0 &&
            (str_is(name, "apiVersion") || str_is(name, "kind") || str_is(name, "metadata")));
}

bool form_allows(const struct form *f, struct str name) {
    if (f->how == FORM_NODE) {
        return node_allows(f->node, name);
    }
    if (f->how != FORM_OBJECT || row_named(f->schema, name) != NULL) {
        return true;
    }
    const struct crd_schema *custom = f->schema->custom;
    return custom != NULL && node_allows(custom->root, name);
}

struct form form_element(const struct form *f) {
    if (f->how == FORM_LIST || f->how == FORM_MAP) {
        return one_of(f->row);
    }
    return f->how == FORM_NODE ? of_node(f->node->items) : (struct form){0};
}

static struct str nth_part(const char *list, size_t i) {
    struct str rest = str_of(list), part = {0};
    while (str_next(&rest, ',', &part)) {
        if (i-- == 0) {
            return part;
        }
    }
    return (struct str){0};
}

/* What upstream's types have where nothing is written: their zero, but for those that leave it out. */
static struct str default_of_row(const struct field *row) {
    if (row == NULL) {
        return (struct str){0};
    }
    if (row->def != NULL) {
        return str_of(row->def);
    }
    bool number = row->type == FIELD_INT32 || row->type == FIELD_INT64;
    return (row->flags & FIELD_F_KEEP_EMPTY) == 0 ? (struct str){0}
           : number                               ? STR("0")
           : row->type == FIELD_STRING            ? STR("\"\"")
                                                  : (struct str){0};
}

static struct str default_of_node(const struct crd_node *n, struct arena *a) {
    struct buf b;
    if (n == NULL || n->def == NULL) {
        return (struct str){0};
    }
    buf_init(&b, 0);
    json_write(&b, n->def);
    struct str r = buf_ok(&b) == 0 ? arena_str(a, buf_view(&b)) : (struct str){0};
    buf_release(&b);
    return r;
}

bool form_key(const struct form *f, size_t i, struct str *ret_name, struct arena *a,
              struct str *ret_default) {
    if (f->how == FORM_LIST) {
        *ret_name = nth_part(f->row->list_keys, i);
        *ret_default = default_of_row(
            ret_name->n > 0 && f->row->of != NULL ? row_named(f->row->of, *ret_name) : NULL);
        return ret_name->n > 0;
    }
    if (f->how != FORM_NODE || i >= f->node->n_keys) {
        return false;
    }
    *ret_name = f->node->keys[i];
    *ret_default =
        default_of_node(f->node->items != NULL ? crd_prop(f->node->items, *ret_name) : NULL, a);
    return true;
}

/* What the schema wants: 'm'ap, 'l'ist, 's'calar, or anything. */
static char wanted(const struct form *f) {
    switch (f->how) {
    case FORM_OBJECT:
    case FORM_MAP:
        return 'm';
    case FORM_LIST:
        return 'l';
    case FORM_VALUE:
        return f->row->type == FIELD_ANY ? '*' : 's';
    case FORM_NODE:
        return f->node->type == CRD_OBJECT  ? 'm'
               : f->node->type == CRD_ARRAY ? 'l'
               : f->node->type == CRD_ANY   ? '*'
                                            : 's';
    case FORM_UNKNOWN:
        break;
    }
    return '*';
}

const char *form_mismatch(const struct form *f, yyjson_mut_val *v) {
    char want = wanted(f);
    if (want == '*' || yyjson_mut_is_null(v)) {
        return NULL;
    }
    bool obj = yyjson_mut_is_obj(v), arr = yyjson_mut_is_arr(v);
    if (want == 'm') {
        return obj ? NULL : arr ? "expected map, got a list" : "expected map, got a scalar";
    }
    if (want == 'l') {
        return arr ? NULL : obj ? "expected list, got a map" : "expected list, got a scalar";
    }
    return obj ? "expected a scalar, got a map" : arr ? "expected a scalar, got a list" : NULL;
}
