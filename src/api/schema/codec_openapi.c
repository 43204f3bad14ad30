/*
 * codec_openapi: one OpenAPI v3 document for a group-version, written from the tables.
 *
 * kubectl reads three things of it: that a kind has a PATCH operation with a fieldValidation parameter (and which patch
 * types), the schemas with their merge keys (apply computes three-way patches from them), and the texts (explain). So
 * there is one path per kind with one operation, and every schema that those kinds reach.
 */
#include "api/schema/cells.h"
#include "api/schema/codec.h"
#include "api/schema/crd_schema.h"
#include "base/map.h"

/* The two scalars that readers know by name. */
#define QUANTITY "io.k8s.apimachinery.pkg.api.resource.Quantity"
#define INT_OR_STRING "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
static const char scalars[] =
    "\"" QUANTITY "\":{\"description\":\"An amount: 100m, 2, 1.5Gi, 1e3.\","
    "\"oneOf\":[{\"type\":\"string\"},{\"type\":\"number\"}]},"
    "\"" INT_OR_STRING "\":{\"description\":\"A number, or a name or percentage.\","
    "\"format\":\"int-or-string\",\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}]}";

/* The schemas reached so far, in order of discovery; the map iterates in that order. */
static int reach(struct map *seen, const struct schema *s) {
    if (map_get(seen, str_of(s->name)) != NULL) {
        return 0;
    }
    int r = map_put(seen, str_of(s->name), (void *)(uintptr_t)s, NULL);
    for (size_t i = 0; r == 0 && i < s->n; i++) {
        if (s->fields[i].of != NULL) {
            r = reach(seen, s->fields[i].of);
        }
    }
    return r;
}

static void write_pair(struct buf *b, const char *name, struct str value) {
    buf_json(b, str_of(name));
    buf_ch(b, ':');
    buf_json(b, value);
}

static void write_ref(struct buf *b, const struct schema *s) {
    buf_c(b, "\"$ref\":\"#/components/schemas/");
    buf_c(b, s->name);
    buf_ch(b, '"');
}

/* The members of a type, without braces. */
static void write_type(struct buf *b, const struct field *f) {
    switch ((enum field_type)f->type) {
    case FIELD_STRING:
        buf_c(b, "\"type\":\"string\"");
        break;
    case FIELD_BOOL:
        buf_c(b, "\"type\":\"boolean\"");
        break;
    case FIELD_INT32:
        buf_c(b, "\"type\":\"integer\",\"format\":\"int32\"");
        break;
    case FIELD_INT64:
        buf_c(b, "\"type\":\"integer\",\"format\":\"int64\"");
        break;
    case FIELD_DOUBLE:
        buf_c(b, "\"type\":\"number\",\"format\":\"double\"");
        break;
    case FIELD_BYTES:
        buf_c(b, "\"type\":\"string\",\"format\":\"byte\"");
        break;
    case FIELD_QUANTITY:
        buf_c(b, "\"$ref\":\"#/components/schemas/" QUANTITY "\"");
        break;
    case FIELD_TIME:
    case FIELD_MICROTIME:
        buf_c(b, "\"type\":\"string\",\"format\":\"date-time\"");
        break;
    case FIELD_DURATION:
        buf_c(b, "\"type\":\"string\"");
        break;
    case FIELD_INT_OR_STRING:
        buf_c(b, "\"$ref\":\"#/components/schemas/" INT_OR_STRING "\"");
        break;
    case FIELD_OBJECT:
        write_ref(b, f->of);
        break;
    case FIELD_ANY:
        buf_c(b, "\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true");
        break;
    }
}

static void write_merge(struct buf *b, const struct field *f) {
    if (f->flags & (FIELD_F_MERGE | FIELD_F_RETAIN_KEYS)) {
        const char *how = (f->flags & FIELD_F_MERGE) && (f->flags & FIELD_F_RETAIN_KEYS)
                              ? "merge,retainKeys"
                          : f->flags & FIELD_F_MERGE ? "merge"
                                                     : "retainKeys";
        buf_ch(b, ',');
        write_pair(b, "x-kubernetes-patch-strategy", str_of(how));
    }
    if (f->merge_key != NULL) {
        buf_ch(b, ',');
        write_pair(b, "x-kubernetes-patch-merge-key", str_of(f->merge_key));
    }
    if (f->list_keys != NULL) {
        struct str keys = str_of(f->list_keys), key;
        buf_c(b, ",\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":[");
        for (int i = 0; str_next(&keys, ',', &key); i++) {
            buf_c(b, i ? "," : "");
            buf_json(b, key);
        }
        buf_ch(b, ']');
    } else if (f->flags & FIELD_F_SET) {
        buf_c(b, ",\"x-kubernetes-list-type\":\"set\"");
    } else if (f->flags & FIELD_F_ATOMIC) {
        buf_c(b, f->shape == FIELD_LIST ? ",\"x-kubernetes-list-type\":\"atomic\""
                                        : ",\"x-kubernetes-map-type\":\"atomic\"");
    }
}

static void write_field(struct buf *b, const struct field *f) {
    buf_json(b, str_of(f->json));
    buf_c(b, ":{");
    if (f->doc != NULL) {
        write_pair(b, "description", str_of(f->doc));
        buf_ch(b, ',');
    }
    if (f->shape == FIELD_LIST) {
        buf_c(b, "\"type\":\"array\",\"items\":{");
        write_type(b, f);
        buf_ch(b, '}');
    } else if (f->shape == FIELD_MAP) {
        buf_c(b, "\"type\":\"object\",\"additionalProperties\":{");
        write_type(b, f);
        buf_ch(b, '}');
    } else if (f->type == FIELD_OBJECT || f->type == FIELD_QUANTITY ||
               f->type == FIELD_INT_OR_STRING) {
        /* A bare $ref may have no siblings. */
        buf_c(b, "\"allOf\":[{");
        write_type(b, f);
        buf_c(b, "}]");
    } else {
        write_type(b, f);
    }
    if (f->values != NULL) {
        buf_c(b, ",\"enum\":[");
        for (size_t i = 0; f->values[i] != NULL; i++) {
            buf_c(b, i ? "," : "");
            buf_json(b, str_of(f->values[i]));
        }
        buf_ch(b, ']');
    }
    if (f->def != NULL) {
        buf_c(b, ",\"default\":");
        buf_c(b, f->def);
    }
    write_merge(b, f);
    buf_ch(b, '}');
}

static void write_gvk(struct buf *b, const struct kind *k, const char *version) {
    buf_ch(b, '{');
    write_pair(b, "group", str_of(k->group));
    buf_ch(b, ',');
    write_pair(b, "kind", str_of(k->kind));
    buf_ch(b, ',');
    write_pair(b, "version", str_of(version));
    buf_ch(b, '}');
}

static void write_schema(struct buf *b, const struct schema *s, const struct kind *k,
                         const char *version) {
    buf_json(b, str_of(s->name));
    buf_c(b, ":{\"type\":\"object\"");
    if (s->doc != NULL) {
        buf_ch(b, ',');
        write_pair(b, "description", str_of(s->doc));
    }
    buf_c(b, ",\"properties\":{");
    for (size_t i = 0; i < s->n; i++) {
        buf_c(b, i ? "," : "");
        write_field(b, &s->fields[i]);
    }
    buf_ch(b, '}');
    for (size_t i = 0, n = 0; i <= s->n; i++) {
        bool required = i < s->n && (s->fields[i].flags & FIELD_F_REQUIRED);
        if (required) {
            buf_c(b, n++ ? "," : ",\"required\":[");
            buf_json(b, str_of(s->fields[i].json));
        } else if (i == s->n && n > 0) {
            buf_ch(b, ']');
        }
    }
    if (s->atomic) {
        buf_c(b, ",\"x-kubernetes-map-type\":\"atomic\"");
    }
    if (k != NULL) {
        buf_c(b, ",\"x-kubernetes-group-version-kind\":[");
        write_gvk(b, k, version);
        buf_ch(b, ']');
    }
    buf_ch(b, '}');
}

static void write_path(struct buf *b, const struct kind *k, const char *version) {
    static const char *const types[] = {
        "application/json-patch+json", "application/merge-patch+json",
        "application/apply-patch+yaml",
        "application/strategic-merge-patch+json", /* last: custom kinds have none */
    };
    size_t n = COUNT(types) - (k->flags & KIND_CUSTOM ? 1 : 0);
    buf_ch(b, '"');
    buf_f(b, k->group[0] ? "/apis/%s/%s" : "/api%s/%s", k->group, version);
    buf_c(b, k->flags & KIND_NAMESPACED ? "/namespaces/{namespace}" : "");
    buf_f(b, "/%s/{name}\":{\"patch\":{", k->plural);
    buf_f(b, "\"operationId\":\"patch%s%s\",", version, k->kind);
    buf_c(b, "\"x-kubernetes-action\":\"patch\",\"x-kubernetes-group-version-kind\":");
    write_gvk(b, k, version);
    buf_c(b, ",\"parameters\":[{\"name\":\"fieldValidation\",\"in\":\"query\",\"schema\":"
             "{\"type\":\"string\"}},{\"name\":\"dryRun\",\"in\":\"query\",\"schema\":"
             "{\"type\":\"string\"}},{\"name\":\"fieldManager\",\"in\":\"query\",\"schema\":"
             "{\"type\":\"string\"}},{\"name\":\"force\",\"in\":\"query\",\"schema\":"
             "{\"type\":\"boolean\"}}],\"requestBody\":{\"content\":{");
    for (size_t i = 0; i < n; i++) {
        buf_f(b, "%s\"%s\":{\"schema\":{\"type\":\"object\"}}", i ? "," : "", types[i]);
    }
    buf_c(b, "}},\"responses\":{\"200\":{\"description\":\"OK\"}}}}");
}

static bool in_document(const struct kind *k, struct str group, struct str version,
                        const struct kind_version **ret) {
    *ret = str_is(group, k->group) ? kind_version(k, version) : NULL;
    return *ret != NULL;
}

static void write_schemas(struct buf *out, struct map *seen, struct str group, struct str version) {
    const struct map_entry *e;
    size_t n;
    const struct kind *const *kinds = kinds_all(&n);
    buf_c(out, scalars);
    for (size_t pos = 0; (e = map_next(seen, &pos)) != NULL;) {
        const struct schema *s = e->value;
        const struct kind *of = NULL;
        const struct kind_version *kv = NULL;
        for (size_t i = 0; i < n && of == NULL; i++) {
            if (in_document(kinds[i], group, version, &kv) && kv->schema == s) {
                of = kinds[i];
            }
        }
        buf_ch(out, ',');
        if (s->custom != NULL && of != NULL) {
            buf_json(out, str_of(s->name));
            buf_ch(out, ':');
            crd_openapi(s->custom, of->group, of->kind, kv->version, out);
            continue;
        }
        write_schema(out, s, of, of ? kv->version : NULL);
    }
}

int codec_openapi_v3(struct str group, struct str version, struct buf *out, struct err *err) {
    struct map seen;
    const struct kind_version *kv;
    size_t n, written = 0;
    const struct kind *const *kinds = kinds_all(&n);
    int r = 0;
    map_init(&seen);
    size_t start = out->n;
    buf_c(out, "{\"openapi\":\"3.0.0\",\"info\":{\"title\":\"Kubernetes\",\"version\":"
               "\"v1.35.0\"},\"paths\":{");
    for (size_t i = 0; r == 0 && i < n; i++) {
        if (in_document(kinds[i], group, version, &kv)) {
            buf_c(out, written++ ? "," : "");
            write_path(out, kinds[i], kv->version);
            r = reach(&seen, kv->schema);
        }
    }
    if (r == 0 && written == 0) {
        out->n = start;
        r = err_set(err, ERR_NOT_FOUND, "no group version %.*s/%.*s", STR_ARG(group),
                    STR_ARG(version));
    } else if (r == 0) {
        buf_c(out, "},\"components\":{\"schemas\":{");
        write_schemas(out, &seen, group, version);
        buf_c(out, "}}}");
        r = buf_ok(out);
    }
    map_release(&seen);
    return r;
}
