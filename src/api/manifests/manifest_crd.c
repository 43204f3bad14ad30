/*
 * manifest_crd: CustomResourceDefinitions from the field tables.
 *
 * Each kind that is stored gets one, its schema written out in full (a definition has no references). Two things are
 * not as in the tables. A pod template is any object: a cluster's pods have fields that our tables need not know, and a
 * schema that prunes them would make a Workload differ from its job for ever. And rules that a table cannot say are
 * the admission webhook's; what a schema can say of a field (sizes, values, formats, immutability) is here as well.
 */
#include "api/kinds/kinds.h"
#include "api/manifests/manifest.h"
#include "api/tables/view_meta.h"
#include "api/webhooks.h"
#include "base/arena.h"
#include "wire/yaml.h"

#define LABEL "[a-z0-9]([-a-z0-9]*[a-z0-9])?"

enum { TREE_MAX = 64 << 20, TEXT_MAX = 16 << 20 };

/* keys: "a,b", members that are there in any case, since a list is told apart by them; NULL: none. */
static void write_schema(struct buf *b, const struct schema *s, const char *keys);

static void write_text(struct buf *b, const char *name, const char *value) {
    buf_f(b, "\"%s\":", name);
    buf_json(b, str_of(value));
}

/* ---- one value ---- */

static const char *const plain_types[] = {
    [FIELD_STRING] = "\"type\":\"string\"",
    [FIELD_BOOL] = "\"type\":\"boolean\"",
    [FIELD_INT32] = "\"type\":\"integer\",\"format\":\"int32\"",
    [FIELD_INT64] = "\"type\":\"integer\",\"format\":\"int64\"",
    [FIELD_DOUBLE] = "\"type\":\"number\",\"format\":\"double\"",
    [FIELD_BYTES] = "\"type\":\"string\",\"format\":\"byte\"",
    [FIELD_QUANTITY] =
        "\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}],\"x-kubernetes-int-or-string\":"
        "true,"
        "\"pattern\":\"^(\\\\+|-)?(([0-9]+(\\\\.[0-9]*)?)|(\\\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|"
        "([eE](\\\\+|-)?(([0-9]+(\\\\.[0-9]*)?)|(\\\\.[0-9]+))))?$\"",
    [FIELD_TIME] = "\"type\":\"string\",\"format\":\"date-time\"",
    [FIELD_MICROTIME] = "\"type\":\"string\",\"format\":\"date-time\"",
    [FIELD_DURATION] = "\"type\":\"string\"",
    [FIELD_INT_OR_STRING] = "\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}],\"x-"
                            "kubernetes-int-or-string\":true",
    [FIELD_ANY] = "\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true",
};

static void write_value(struct buf *b, const struct field *f) {
    if (f->type == FIELD_OBJECT) {
        write_schema(b, f->of, f->list_keys);
    } else {
        buf_c(b, plain_types[f->type]);
    }
}

static bool is_text(const struct field *f) {
    return f->shape == FIELD_ONE && f->type == FIELD_STRING;
}

/* Sizes of what the field is: a list, a map, a text, a number. */
static void write_range(struct buf *b, const struct field *f) {
    bool number = f->type == FIELD_INT32 || f->type == FIELD_INT64;
    const char *least = f->shape == FIELD_LIST  ? "minItems"
                        : f->shape == FIELD_MAP ? "minProperties"
                        : number                ? "minimum"
                                                : "minLength";
    const char *most = f->shape == FIELD_LIST  ? "maxItems"
                       : f->shape == FIELD_MAP ? "maxProperties"
                       : number                ? "maximum"
                                               : "maxLength";
    if (f->min == 0 && f->max == 0) {
        bool not_empty = (f->flags & FIELD_F_REQUIRED) && !(f->flags & FIELD_F_KEEP_EMPTY);
        buf_c(b, not_empty && is_text(f) && f->values == NULL ? ",\"minLength\":1" : "");
        return;
    }
    if (f->shape != FIELD_ONE || number || f->type == FIELD_STRING) {
        if (f->min != 0 || number) {
            buf_f(b, ",\"%s\":%lld", least, (long long)f->min);
        }
        buf_f(b, ",\"%s\":%lld", most, (long long)f->max);
    }
}

static void write_format(struct buf *b, const struct field *f) {
    static const struct {
        const char *name, *pattern;
        int max;
    } formats[] = {
        {"dns1123-label", "^" LABEL "$", 63},
        {"dns1123-subdomain", "^" LABEL "(\\\\." LABEL ")*$", 253},
    };
    for (size_t i = 0; i < COUNT(formats); i++) {
        if (is_text(f) && f->format != NULL && strcmp(f->format, formats[i].name) == 0) {
            buf_f(b, ",\"pattern\":\"%s\"", formats[i].pattern);
            if (f->max == 0) {
                buf_f(b, ",\"maxLength\":%d", formats[i].max);
            }
        }
    }
}

static void write_list_type(struct buf *b, const struct field *f) {
    if (f->shape == FIELD_LIST && f->list_keys != NULL) {
        struct str keys = str_of(f->list_keys), key;
        buf_c(b, ",\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":[");
        for (int i = 0; str_next(&keys, ',', &key); i++) {
            buf_c(b, i ? "," : "");
            buf_json(b, key);
        }
        buf_ch(b, ']');
    } else if (f->shape == FIELD_LIST && f->type != FIELD_ANY) {
        buf_c(b, f->flags & FIELD_F_SET ? ",\"x-kubernetes-list-type\":\"set\""
                                        : ",\"x-kubernetes-list-type\":\"atomic\"");
    } else if (f->shape == FIELD_MAP && (f->flags & FIELD_F_ATOMIC)) {
        buf_c(b, ",\"x-kubernetes-map-type\":\"atomic\"");
    }
}

/* ---- one field, one object ---- */

static void write_field(struct buf *b, const struct field *f) {
    buf_json(b, str_of(f->json));
    buf_c(b, ":{");
    if (f->doc != NULL) {
        write_text(b, "description", f->doc);
        buf_ch(b, ',');
    }
    if (f->shape == FIELD_ONE) {
        write_value(b, f);
    } else {
        buf_f(b, "\"type\":\"%s\",\"%s\":{", f->shape == FIELD_LIST ? "array" : "object",
              f->shape == FIELD_LIST ? "items" : "additionalProperties");
        write_value(b, f);
        buf_ch(b, '}');
    }
    if (f->values != NULL) {
        buf_c(b, ",\"enum\":[");
        for (size_t i = 0; f->values[i] != NULL; i++) {
            buf_c(b, i ? "," : "");
            buf_json(b, str_of(f->values[i]));
        }
        /* A default must be one of the values, and nothing is one here. */
        buf_c(b, f->def != NULL && strcmp(f->def, "\"\"") == 0 ? ",\"\"]" : "]");
    }
    if (f->def != NULL) {
        buf_f(b, ",\"default\":%s", f->def);
    }
    write_range(b, f);
    write_format(b, f);
    write_list_type(b, f);
    if ((f->flags & FIELD_F_IMMUTABLE) && is_text(f)) {
        buf_c(b, ",\"x-kubernetes-validations\":[{\"rule\":\"self == oldSelf\","
                 "\"message\":\"field is immutable\"}]");
    }
    buf_ch(b, '}');
}

static bool must_be(const struct field *f, const char *keys) {
    struct str rest = str_of(keys ? keys : ""), key;
    while (str_next(&rest, ',', &key)) {
        if (str_is(key, f->json)) {
            return true;
        }
    }
    return f->flags & FIELD_F_REQUIRED;
}

static void write_schema(struct buf *b, const struct schema *s, const char *keys) {
    static const char *const open[] = {"io.k8s.api.core.v1.PodTemplateSpec"};
    buf_c(b, "\"type\":\"object\"");
    for (size_t i = 0; i < COUNT(open); i++) {
        if (strcmp(s->name, open[i]) == 0) {
            buf_c(b, ",\"x-kubernetes-preserve-unknown-fields\":true");
            return;
        }
    }
    buf_c(b, ",\"properties\":{");
    for (size_t i = 0; i < s->n; i++) {
        buf_c(b, i ? "," : "");
        if (s->fields[i].of == &schema_meta) { /* the API server's own */
            buf_c(b, "\"metadata\":{\"type\":\"object\"}");
        } else {
            write_field(b, &s->fields[i]);
        }
    }
    buf_ch(b, '}');
    for (size_t i = 0, n = 0; i <= s->n; i++) {
        if (i < s->n && must_be(&s->fields[i], keys)) {
            buf_c(b, n++ ? "," : ",\"required\":[");
            buf_json(b, str_of(s->fields[i].json));
        } else if (i == s->n && n > 0) {
            buf_ch(b, ']');
        }
    }
}

/* ---- one definition ---- */

static void write_columns(struct buf *b, const struct kind *k) {
    int n = 0;
    buf_c(b, "\"additionalPrinterColumns\":[");
    for (size_t i = 1; i < k->n_columns;
         i++) { /* 0 is the name, which is there without being asked for */
        const struct column *c = &k->columns[i];
        if (c->path == NULL && c->json_path == NULL && c->condition == NULL) {
            continue;
        }
        buf_c(b, n++ ? ",{" : "{");
        write_text(b, "name", c->name);
        buf_f(b, ",\"type\":\"%s\",\"priority\":%d,", c->type, c->priority);
        write_text(b, "description", c->doc);
        if (c->condition != NULL) {
            buf_f(b, ",\"jsonPath\":\".status.conditions[?(@.type=='%s')].status\"}", c->condition);
        } else if (c->json_path != NULL) {
            buf_c(b, ",\"jsonPath\":");
            buf_json(b, str_of(c->json_path));
            buf_ch(b, '}');
        } else {
            buf_f(b, ",\"jsonPath\":\".%s\"}", c->path);
        }
    }
    buf_c(b, "],");
}

static void write_selectable(struct buf *b, const struct kind *k) {
    if (k->selectable == NULL) {
        return;
    }
    buf_c(b, "\"selectableFields\":[");
    for (size_t i = 0; k->selectable[i] != NULL; i++) {
        buf_f(b, "%s{\"jsonPath\":\".%s\"}", i ? "," : "", k->selectable[i]);
    }
    buf_c(b, "],");
}

static void write_version(struct buf *b, const struct kind *k, size_t i) {
    const struct kind_version *v = &k->versions[i];
    buf_f(b, "{\"name\":\"%s\",\"served\":true,\"storage\":%s,", v->version,
          i == k->storage ? "true" : "false");
    if (v->deprecated) {
        buf_c(b, "\"deprecated\":true,");
    }
    write_columns(b, k);
    if (i ==
        k->storage) { /* all versions with the same fields are more than an API server understands */
        write_selectable(b, k);
    }
    if (k->flags & KIND_STATUS) {
        buf_c(b, "\"subresources\":{\"status\":{}},");
    }
    buf_c(b, "\"schema\":{\"openAPIV3Schema\":{");
    if (v->schema->doc != NULL) {
        write_text(b, "description", v->schema->doc);
        buf_ch(b, ',');
    }
    write_schema(b, v->schema, NULL);
    buf_c(b, "}}}");
}

static void write_list(struct buf *b, const char *name, const char *const *v) {
    if (v == NULL) {
        return;
    }
    buf_f(b, ",\"%s\":[", name);
    for (size_t i = 0; v[i] != NULL; i++) {
        buf_c(b, i ? "," : "");
        buf_json(b, str_of(v[i]));
    }
    buf_ch(b, ']');
}

static void write_meta(struct buf *b, const struct kind *k, const struct manifest_options *o) {
    buf_f(b, "\"metadata\":{\"name\":\"%s.%s\"", k->plural, k->group);
    buf_c(b, ",\"labels\":{\"app.kubernetes.io/name\":\"berth\","
             "\"app.kubernetes.io/component\":\"definitions\"}");
    if (o->chart) {
        buf_c(b, ",\"annotations\":{\"helm.sh/resource-policy\":\"keep\"}");
    }
    buf_c(b, "},");
}

/* Versions that differ in their name alone need nobody to convert. */
static bool all_alike(const struct kind *k) {
    bool alike = true;
    for (size_t i = 1; i < k->n_versions; i++) {
        alike =
            alike && k->versions[i].schema == k->versions[0].schema && !k->versions[i].deprecated;
    }
    return alike;
}

static void write_definition(struct buf *b, const struct kind *k,
                             const struct manifest_options *o) {
    bool convert = o->webhooks && !all_alike(k);
    buf_c(b, "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",");
    write_meta(b, k, o);
    buf_f(b, "\"spec\":{\"group\":\"%s\",\"scope\":\"%s\",\"names\":{", k->group,
          k->flags & KIND_NAMESPACED ? "Namespaced" : "Cluster");
    buf_f(b, "\"kind\":\"%s\",\"listKind\":\"%sList\",\"plural\":\"%s\",\"singular\":\"%s\"",
          k->kind, k->kind, k->plural, k->singular);
    write_list(b, "shortNames", k->short_names);
    write_list(b, "categories", k->categories);
    buf_c(b, "},");
    if (convert) {
        buf_c(b, "\"conversion\":{\"strategy\":\"Webhook\",\"webhook\":{"
                 "\"conversionReviewVersions\":[\"v1\"],\"clientConfig\":{\"service\":{"
                 "\"name\":\"" WEBHOOK_SERVICE "\",\"path\":\"" WEBHOOK_CONVERT_PATH
                 "\",\"port\":443,\"namespace\":");
        buf_json(b, o->ns);
        buf_c(b, "}}}},");
    }
    buf_c(b, "\"versions\":[");
    for (size_t i = 0, n = 0; i < k->n_versions; i++) {
        if (i == k->storage || convert || all_alike(k)) {
            buf_c(b, n++ ? "," : "");
            write_version(b, k, i);
        }
    }
    buf_c(b, "]}}");
}

static bool is_stored(const struct kind *k) {
    return (k->flags & KIND_CUSTOM) && !(k->flags & (KIND_VIRTUAL | KIND_COMPUTED)) &&
           k->notice == NULL;
}

/* Of KServe, whose own definitions another's would replace: they are asked for by name. */
static bool is_served(const struct kind *k) {
    return is_stored(k) && strcmp(k->group, "serving.kserve.io") == 0;
}

bool manifest_defines(const struct kind *k) {
    return is_stored(k) && !is_served(k);
}

static int write_those(const struct manifest_options *o, bool (*of)(const struct kind *k),
                       struct buf *out, struct err *err) {
    size_t n;
    const struct kind *const *kinds = kinds_builtin(&n);
    struct arena a;
    struct buf text;
    int r = 0;
    arena_init(&a, TREE_MAX);
    buf_init(&text, TEXT_MAX);
    for (size_t i = 0; r == 0 && i < n; i++) {
        yyjson_doc *d;
        if (!of(kinds[i])) {
            continue;
        }
        buf_reset(&text);
        arena_reset(&a);
        write_definition(&text, kinds[i], o);
        r = buf_ok(&text);
        r = r ? r : json_parse(&a, buf_view(&text), &d, err);
        if (r == 0) {
            buf_c(out, "---\n");
            yaml_write(out, yyjson_doc_get_root(d));
            r = buf_ok(out);
        }
    }
    buf_release(&text);
    arena_release(&a);
    return r == ERR_NOMEM ? err_set(err, r, "out of memory") : r;
}

int manifest_crds(const struct manifest_options *o, struct buf *out, struct err *err) {
    return write_those(o, manifest_defines, out, err);
}

int manifest_serving(const struct manifest_options *o, struct buf *out, struct err *err) {
    int r = write_those(o, is_served, out, err);
    manifest_serving_role(o, out);
    return r ? r : buf_ok(out);
}
