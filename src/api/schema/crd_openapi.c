/*
 * crd_openapi: the OpenAPI component of a custom kind's version: the schema as it was written, with what every object
 * has beside it. See crd_schema.h.
 */
#include "api/schema/crd_schema.h"

#define META "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

static void write_member(struct buf *b, bool *first, const char *name, const char *json) {
    buf_c(b, *first ? "" : ",");
    *first = false;
    buf_json(b, str_of(name));
    buf_ch(b, ':');
    buf_c(b, json);
}

static void write_properties(struct buf *b, yyjson_val *props) {
    bool first = true;
    buf_ch(b, '{');
    write_member(b, &first, "apiVersion",
                 "{\"type\":\"string\",\"description\":\"Version of the API that this is written "
                 "for.\"}");
    write_member(b, &first, "kind",
                 "{\"type\":\"string\",\"description\":\"Kind of the object.\"}");
    write_member(b, &first, "metadata",
                 "{\"allOf\":[{\"$ref\":\"" META "\"}],\"description\":\"Name, labels and the "
                 "other things that every object has.\"}");
    yyjson_obj_iter it = yyjson_obj_iter_with(props);
    yyjson_val *k;
    while (props != NULL && (k = yyjson_obj_iter_next(&it)) != NULL) {
        struct str name = json_str(k);
        if (str_is(name, "apiVersion") || str_is(name, "kind") || str_is(name, "metadata")) {
            continue;
        }
        buf_ch(b, ',');
        buf_json(b, name);
        buf_ch(b, ':');
        json_write(b, yyjson_obj_iter_get_val(k));
    }
    buf_ch(b, '}');
}

void crd_openapi(const struct crd_schema *s, const char *group, const char *kind,
                 const char *version, struct buf *b) {
    yyjson_val *root = yyjson_doc_get_root(s->doc);
    bool first = true;
    buf_ch(b, '{');
    write_member(b, &first, "type", "\"object\"");
    buf_c(b, ",\"properties\":");
    write_properties(b, json_get(root, STR("properties")));
    yyjson_obj_iter it = yyjson_obj_iter_with(root);
    yyjson_val *k;
    while ((k = yyjson_obj_iter_next(&it)) != NULL) {
        struct str name = json_str(k);
        if (!str_is(name, "type") && !str_is(name, "properties")) {
            buf_ch(b, ',');
            buf_json(b, name);
            buf_ch(b, ':');
            json_write(b, yyjson_obj_iter_get_val(k));
        }
    }
    buf_c(b, ",\"x-kubernetes-group-version-kind\":[{\"group\":");
    buf_json(b, str_of(group));
    buf_c(b, ",\"kind\":");
    buf_json(b, str_of(kind));
    buf_c(b, ",\"version\":");
    buf_json(b, str_of(version));
    buf_c(b, "}]}");
}
