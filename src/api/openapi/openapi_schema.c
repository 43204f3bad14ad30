/* openapi_schema: schemas, from places. See openapi_int.h. */
#include "api/openapi/openapi_private.h"

#include "api/schema/crd_schema.h"
#include "api/tables/table.h"

void openapi_pair(struct buf *b, const char *name, struct str value) {
    place_name(b, str_of(name));
    buf_json(b, value);
}

void openapi_ref(struct buf *b, bool v2, struct str component) {
    place_comma(b);
    buf_c(b, v2 ? "\"$ref\":\"#/definitions/" : "\"$ref\":\"#/components/schemas/");
    buf_str(b, component);
    buf_ch(b, '"');
}

void openapi_gvk(struct buf *b, struct str group, struct str version, struct str kind) {
    buf_ch(b, '{');
    openapi_pair(b, "group", group);
    openapi_pair(b, "kind", kind);
    openapi_pair(b, "version", version);
    buf_ch(b, '}');
}

struct schema_writer {
    struct buf *b;
    bool v2;
};

static void write(struct schema_writer *w, const struct place *p, struct str own);

static void write_values(struct buf *b, const struct place_facts *f) {
    if (f->def_text != NULL || f->def != NULL) {
        place_name(b, STR("default"));
        f->def_text != NULL ? buf_c(b, f->def_text) : json_write(b, f->def);
    }
    if (f->values != NULL) {
        place_name(b, STR("enum"));
        json_write(b, f->values);
    }
    if (f->texts != NULL) {
        place_name(b, STR("enum"));
        buf_ch(b, '[');
        for (size_t i = 0; f->texts[i] != NULL; i++) {
            place_comma(b);
            buf_json(b, str_of(f->texts[i]));
        }
        buf_ch(b, ']');
    }
}

static void write_members(struct schema_writer *w, const struct place *p) {
    struct place_members m = place_members(p);
    struct place below;
    struct str name;
    if (!place_has_members(p)) {
        return;
    }
    place_name(w->b, STR("properties"));
    buf_ch(w->b, '{');
    while (place_next(&m, &name, &below)) {
        place_name(w->b, name);
        write(w, &below, (struct str){0});
    }
    buf_ch(w->b, '}');
}

/* Version 2 has no word for nullable: such a member has no type there, and need not be there. */
static bool is_nullable_member(const struct place *p, struct str name) {
    yyjson_val *members = p->written != NULL ? json_get(p->written, STR("properties")) : NULL;
    yyjson_val *v = members != NULL ? json_get(members, name) : NULL;
    return v != NULL && yyjson_get_bool(json_get(v, STR("nullable")));
}

static void write_required(struct schema_writer *w, const struct place *p) {
    struct str name;
    size_t n = 0;
    for (size_t at = 0; place_next_required(p, &at, &name);) {
        if (!(w->v2 && is_nullable_member(p, name))) {
            if (n++ == 0) {
                place_name(w->b, STR("required"));
                buf_ch(w->b, '[');
            }
            place_comma(w->b);
            buf_json(w->b, name);
        }
    }
    buf_c(w->b, n > 0 ? "]" : "");
}

static void write_below(struct schema_writer *w, const struct place *p, const char *name) {
    place_name(w->b, str_of(name));
    write(w, p, (struct str){0});
}

/* kubectl takes what has members for closed, and a list needs elements that are described: version 2 leaves the type
 * and the members of what may be anything away. */
static void write_shape(struct schema_writer *w, const struct place *p,
                        const struct place_facts *f) {
    struct place below;
    bool open = w->v2 && p->written != NULL && (f->nullable || f->preserves);
    bool items = !open && place_items(p, &below);
    bool untyped = open && !(f->preserves && !f->nullable && !str_is(f->type, "object") &&
                             !str_is(f->type, "array"));
    untyped |= w->v2 && !items && str_is(f->type, "array");
    if (f->type.n > 0 && !untyped) {
        openapi_pair(w->b, "type", f->type);
    }
    if (f->format.n > 0) {
        openapi_pair(w->b, "format", f->format);
    }
    if (f->nullable && !w->v2) {
        place_comma(w->b);
        buf_c(w->b, "\"nullable\":true");
    }
    if (!open) {
        write_members(w, p);
    }
    if (items) {
        write_below(w, &below, "items");
    }
    if (place_others(p, &below)) {
        write_below(w, &below, "additionalProperties");
    }
    if (f->int_or_string && !w->v2 && json_get(p->written, STR("anyOf")) == NULL &&
        json_get(p->written, STR("allOf")) == NULL) {
        place_comma(w->b);
        buf_c(w->b, "\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}]");
    }
}

static void write_component(struct schema_writer *w, const struct place *p,
                            const struct place_facts *f) {
    bool alone = f->doc.n == 0 && f->def_text == NULL && p->item;
    if (w->v2 || alone) {
        openapi_ref(w->b, w->v2, f->component);
    } else { /* a bare $ref may have no siblings */
        place_comma(w->b);
        buf_c(w->b, "\"allOf\":[{");
        openapi_ref(w->b, w->v2, f->component);
        buf_c(w->b, "}]");
    }
}

static void write(struct schema_writer *w, const struct place *p, struct str own) {
    struct place_facts f;
    struct buf *b = w->b;
    place_facts(p, &f);
    buf_ch(b, '{');
    if (f.doc.n > 0) {
        openapi_pair(b, "description", f.doc);
    }
    if (f.component.n > 0) {
        write_component(w, p, &f);
    } else {
        write_shape(w, p, &f);
    }
    if (f.preserves) {
        place_comma(b);
        buf_c(b, "\"x-kubernetes-preserve-unknown-fields\":true");
    }
    write_values(b, &f);
    write_required(w, p);
    place_write_rest(p, w->v2, b);
    if (own.n > 0) {
        place_comma(b);
        buf_str(b, own);
    }
    buf_ch(b, '}');
}

void openapi_schema(struct buf *b, bool v2, const struct place *p, struct str own) {
    struct schema_writer w = {b, v2};
    write(&w, p, own);
}

/* ---- components ---- */

static const char common[] =
    "\"" PLACE_QUANTITY "\":{\"description\":\"An amount: 100m, 2, 1.5Gi, 1e3.\",%s},"
    "\"" PLACE_INT_OR_STRING "\":{\"description\":\"A number, or a name or percentage.\","
    "\"format\":\"int-or-string\",%s},"
    "\"" PLACE_META "Patch\":{\"description\":\"Changes, in the form that the Content-Type "
    "names.\",\"type\":\"object\"}";

void openapi_common(struct buf *b, bool v2) {
    if (v2) {
        buf_f(b, common, "\"type\":\"string\"", "\"type\":\"string\"");
    } else {
        buf_f(b, common, "\"oneOf\":[{\"type\":\"string\"},{\"type\":\"number\"}]",
              "\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}]");
    }
}

static void write_own(struct buf *b, const struct kind *k, const struct kind_version *kv,
                      struct str kind) {
    buf_c(b, "\"x-kubernetes-group-version-kind\":[");
    openapi_gvk(b, str_of(k->group), str_of(kv->version), kind);
    buf_ch(b, ']');
    for (size_t i = 0; kv->selectable != NULL && kv->selectable[i] != NULL; i++) {
        buf_c(b, i ? "," : ",\"x-kubernetes-selectable-fields\":[");
        buf_ch(b, '{');
        openapi_pair(b, "fieldPath", str_of(kv->selectable[i]));
        buf_c(b, kv->selectable[i + 1] == NULL ? "}]" : "}");
    }
}

void openapi_list(struct buf *b, bool v2, const struct kind *k, const struct kind_version *kv) {
    struct str meta = STR(PLACE_META "ListMeta"), of = str_of(kv->schema->name);
    buf_f(b, "\"%.*sList\":{\"description\":\"%sList is a list of %s\",\"type\":\"object\",",
          STR_ARG(of), k->kind, k->kind);
    buf_c(b,
          "\"required\":[\"items\"],\"properties\":{\"apiVersion\":{\"description\":\"APIVersion "
          "names the group and version of the list.\",\"type\":\"string\"},\"kind\":{"
          "\"description\":\"Kind of the list.\",\"type\":\"string\"},\"metadata\":{"
          "\"description\":\"Standard list metadata.\"");
    buf_c(b, v2 ? "" : ",\"allOf\":[{");
    openapi_ref(b, v2, meta);
    buf_c(b, v2 ? "" : "}]");
    buf_f(b, "},\"items\":{\"description\":\"List of %s.\",\"type\":\"array\",\"items\":{",
          k->plural);
    openapi_ref(b, v2, of);
    buf_c(b, "}}},");
    char kind[256];
    (void)snprintf(kind, sizeof(kind), "%s%s", k->list_kind ? k->list_kind : k->kind,
                   k->list_kind ? "" : "List");
    write_own(b, k, kv, str_of(kind));
    buf_ch(b, '}');
}

void openapi_custom(struct buf *b, bool v2, const struct kind *k, const struct kind_version *kv) {
    yyjson_val *root = yyjson_doc_get_root(kv->schema->custom->doc);
    struct place p = place_of_written(root, true);
    struct place_facts f;
    struct buf own;
    place_facts(&p, &f);
    buf_init(&own, 0);
    write_own(&own, k, kv, str_of(k->kind));
    buf_json(b, str_of(kv->schema->name));
    buf_ch(b, ':');
    if (f.preserves && v2) { /* with any member kubectl would take it for closed */
        buf_c(b, "{\"type\":\"object\",");
        buf_str(b, buf_view(&own));
        buf_ch(b, '}');
    } else {
        openapi_schema(b, v2, &p, buf_view(&own));
    }
    b->failed = b->failed ? b->failed : buf_ok(&own);
    buf_release(&own);
    buf_ch(b, ',');
    openapi_list(b, v2, k, kv);
}
