/* select: see select.h. Names and labels are in the object's head; only other fields cost a parse.
 * */
#include "server/kit/select.h"

#include <stdio.h>

#include "api/walk/walk.h"
#include "wire/json/json.h"

int pick_init(struct picker *p, const struct api_request *q, struct arena *a, struct arena *scratch,
              struct err *err) {
    *p = (struct picker){.ns = request_key_ns(q), .scratch = scratch};
    int r = selector_parse(a, q->opt.label_selector, &p->labels, err);
    r = r ? r : field_selector_parse(a, q->opt.field_selector, &p->fields, err);
    r = r ? r
          : field_selector_check(&p->fields,
                                 q->kv != NULL && q->kv->selectable != NULL ? q->kv->selectable
                                                                            : q->kind->selectable,
                                 err);
    if (r != 0) {
        return r;
    }
    p->by_name = field_selector_requires(&p->fields, STR("metadata.name"), &p->name);
    if (q->name.n > 0) { /* .../watch/.../NAME: authorized for that one name */
        p->by_name = true;
        p->name = q->name;
    }
    for (size_t i = 0; i < p->fields.n; i++) {
        struct str key = p->fields.terms[i].key;
        p->by_body |= !str_is(key, "metadata.name") && !str_is(key, "metadata.namespace");
    }
    return 0;
}

bool pick_selects(const struct picker *p) {
    return p->labels.n > 0 || p->fields.n > 0;
}

/* What a field says that is absent: upstream's selectors see Go's zero, which for all but texts is not empty. */
static struct str absent(const struct schema *s, struct str path) {
    struct str part;
    const struct field *f = NULL;
    size_t hint = 0;
    while (s != NULL && s->custom == NULL && str_next(&path, '.', &part)) {
        f = schema_find(s, part, &hint);
        s = f != NULL && f->type == FIELD_OBJECT && f->shape == FIELD_ONE ? f->of : NULL;
        hint = 0;
    }
    bool found = f != NULL && f->shape == FIELD_ONE && path.n == 0;
    return found && f->type == FIELD_BOOL                                ? STR("false")
           : found && (f->type == FIELD_INT32 || f->type == FIELD_INT64) ? STR("0")
                                                                         : (struct str){0};
}

/* Selectors that are called otherwise than the stored field: of another version, or upstream's own name. */
static struct str stored_path(const struct object *o, struct str path, struct str *ret_else) {
    static const struct {
        const char *group, *kind, *path, *stored, *otherwise;
    } rows[] = {
        {"batch", "Job", "status.successful", "status.succeeded", ""},
        {"", "Event", "source", "source.component", "reportingComponent"},
        {"", "Event", "reportingController", "reportingComponent", ""},
        {"", "Event", "regarding.kind", "involvedObject.kind", ""},
        {"", "Event", "regarding.namespace", "involvedObject.namespace", ""},
        {"", "Event", "regarding.name", "involvedObject.name", ""},
        {"", "Event", "regarding.uid", "involvedObject.uid", ""},
        {"", "Event", "regarding.apiVersion", "involvedObject.apiVersion", ""},
        {"", "Event", "regarding.resourceVersion", "involvedObject.resourceVersion", ""},
        {"", "Event", "regarding.fieldPath", "involvedObject.fieldPath", ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (str_is(path, rows[i].path) && strcmp(rows[i].kind, o->kind->kind) == 0 &&
            strcmp(rows[i].group, o->kind->group) == 0) {
            *ret_else = str_of(rows[i].otherwise);
            return str_of(rows[i].stored);
        }
    }
    *ret_else = (struct str){0};
    return path;
}

struct field_reader {
    const struct object *o;
    const struct schema *schema;
    yyjson_val *root;
    char number[32];
};

static struct str read_field(void *ctx, struct str path) {
    struct field_reader *r = ctx;
    char dotted[256];
    if (str_is(path, "metadata.name")) {
        return r->o->name;
    }
    if (str_is(path, "metadata.namespace")) {
        return r->o->ns;
    }
    struct str otherwise;
    path = stored_path(r->o, path, &otherwise);
    if (r->root == NULL || !str_copy(path, dotted, sizeof(dotted))) {
        return (struct str){0};
    }
    yyjson_val *v = json_path(r->root, dotted);
    if (otherwise.n > 0 && json_str(v).n == 0) {
        v = json_path(r->root, otherwise.p); /* of the table above: NUL follows */
    }
    if (yyjson_is_bool(v)) {
        return yyjson_get_bool(v) ? STR("true") : STR("false");
    }
    if (yyjson_is_int(v)) {
        int n = snprintf(r->number, sizeof(r->number), "%lld", (long long)yyjson_get_sint(v));
        return str_from(r->number, (size_t)n);
    }
    return v == NULL || yyjson_is_null(v) ? absent(r->schema, path) : json_str(v);
}

bool pick_matches(struct picker *p, const struct object *o) {
    if ((p->ns.n > 0 && !str_eq(p->ns, o->ns)) || (p->by_name && !str_eq(p->name, o->name)) ||
        (p->labels.n > 0 && !selector_matches(&p->labels, &o->labels))) {
        return false;
    }
    if (p->fields.n == 0) {
        return true;
    }
    struct field_reader r = {.o = o, .schema = kind_storage(o->kind)->schema};
    yyjson_doc *doc;
    if (p->by_body) {
        arena_reset(p->scratch);
        if (object_tree(o, p->scratch, &doc, NULL) != 0) {
            p->failed = ERR_NOMEM;
            return false;
        }
        r.root = yyjson_doc_get_root(doc);
    }
    return field_selector_matches(&p->fields, read_field, &r);
}
