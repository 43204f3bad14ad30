/* select: see select.h. Names and labels are in the object's head; only other fields cost a parse.
 * */
#include "server/select.h"

#include <stdio.h>

#include "wire/json.h"

int pick_init(struct picker *p, const struct api_request *q, struct arena *a, struct arena *scratch,
              struct err *err) {
    *p = (struct picker){.ns = request_key_ns(q), .scratch = scratch};
    int r = selector_parse(a, q->opt.label_selector, &p->labels, err);
    r = r ? r : field_selector_parse(a, q->opt.field_selector, &p->fields, err);
    r = r ? r : field_selector_check(&p->fields,
                                     q->kv != NULL && q->kv->selectable != NULL
                                         ? q->kv->selectable
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

struct field_reader {
    const struct object *o;
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
    if (r->root == NULL || !str_copy(path, dotted, sizeof(dotted))) {
        return (struct str){0};
    }
    yyjson_val *v = json_path(r->root, dotted);
    if (yyjson_is_bool(v)) {
        return yyjson_get_bool(v) ? STR("true") : STR("false");
    }
    if (yyjson_is_int(v)) {
        int n = snprintf(r->number, sizeof(r->number), "%lld", (long long)yyjson_get_sint(v));
        return str_from(r->number, (size_t)n);
    }
    return json_str(v);
}

bool pick_matches(struct picker *p, const struct object *o) {
    if ((p->ns.n > 0 && !str_eq(p->ns, o->ns)) || (p->by_name && !str_eq(p->name, o->name)) ||
        (p->labels.n > 0 && !selector_matches(&p->labels, &o->labels))) {
        return false;
    }
    if (p->fields.n == 0) {
        return true;
    }
    struct field_reader r = {.o = o};
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
