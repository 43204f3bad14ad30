/*
 * codec_validate: every violated rule of an object.
 *
 * The tables first (types, presence, ranges, values, formats, immutability), then metadata, then the kind's own hook.
 * Custom kinds word some rules as a CustomResourceDefinition's schema does.
 */
#include "api/schema/codec.h"

#include "api/schema/check.h"
#include "api/schema/crd_schema.h"
#include "wire/text/quantity.h"
#include "wire/text/time.h"

struct validate {
    struct causes *c;
    bool custom;
    bool types_only; /* what a typed decoder would refuse, and nothing else */
};

static void validate_object(struct validate *v, const struct schema *s, yyjson_mut_val *obj,
                            yyjson_val *old, const struct path *at);

static void wrong(struct validate *v, const struct path *at, const char *want,
                  yyjson_mut_val *got) {
    cause_wrong_type(v->c, at, str_of(want), check_type_name(got));
}

/* Does not decode upstream where the kind is built in: as a wrong type. */
static void out_of_range(struct validate *v, const struct field *f, yyjson_mut_val *x,
                         const struct path *at) {
    const char *type = f->type == FIELD_INT32 ? "int32" : "int64";
    if (v->custom) {
        cause_invalid_json(v->c, at, x, "number is out of range for %s", type);
    } else {
        cause_type(v->c, at, "Invalid value: number is out of range for %s", type);
    }
}

static void check_number(struct validate *v, const struct field *f, yyjson_mut_val *x,
                         const struct path *at) {
    if (!yyjson_mut_is_int(x)) {
        wrong(v, at, "integer", x);
        return;
    }
    bool huge = yyjson_mut_is_uint(x) && yyjson_mut_get_uint(x) > INT64_MAX;
    int64_t n = yyjson_mut_get_sint(x);
    if (huge || (f->type == FIELD_INT32 && (n < INT32_MIN || n > INT32_MAX))) {
        out_of_range(v, f, x, at);
        return;
    }
    if (v->types_only || (f->min == 0 && f->max == 0) || (n >= f->min && n <= f->max)) {
        return;
    }
    if (n == 0 && (f->flags & FIELD_F_NO_ZERO) != 0 && !v->custom) {
        cause_required(v->c, at, NULL);
        return;
    }
    bool open = f->max == INT32_MAX || f->max == INT64_MAX;
    if (v->custom) {
        bool low = n < f->min;
        char bound[24];
        (void)snprintf(bound, sizeof(bound), "%lld", (long long)(low ? f->min : f->max));
        cause_bound(v->c, at, x, low ? "greater than or equal to" : "less than or equal to",
                    str_of(bound));
    } else if (open) {
        cause_invalid_json(v->c, at, x,
                           f->min == 1 ? "must be greater than 0"
                                       : "must be greater than or equal to %lld",
                           (long long)f->min);
    } else {
        cause_invalid_json(v->c, at, x, "must be between %lld and %lld, inclusive",
                           (long long)f->min, (long long)f->max);
    }
}

static void check_text(struct validate *v, const struct field *f, yyjson_mut_val *x,
                       const struct path *at) {
    if (!yyjson_mut_is_str(x)) {
        wrong(v, at, "string", x);
        return;
    }
    struct str s = json_mstr(x);
    if (s.n == 0 || v->types_only) {
        return; /* presence is another rule */
    }
    if (f->values != NULL) {
        size_t i = 0;
        while (f->values[i] != NULL && !str_is(s, f->values[i])) {
            i++;
        }
        if (f->values[i] == NULL) {
            cause_unsupported(v->c, at, s, f->values);
        }
    }
    if (f->max > 0 && s.n > (uint64_t)f->max && f->shape == FIELD_ONE) {
        cause_too_long(v->c, at, f->max);
    }
    const char *fault = f->format ? format_fault(f->format, s) : NULL;
    if (fault != NULL) {
        cause_invalid(v->c, at, s, "%s", fault);
    }
}

/* Standard base64 with padding. */
static bool is_base64(struct str s) {
    if (s.n % 4 != 0) {
        return false;
    }
    size_t pad = s.n && s.p[s.n - 1] == '=' ? (s.p[s.n - 2] == '=' ? 2 : 1) : 0;
    for (size_t i = 0; i < s.n - pad; i++) {
        char ch = s.p[i];
        if (!((ch >= 'A' && ch <= 'Z') || (ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9') ||
              ch == '+' || ch == '/')) {
            return false;
        }
    }
    return true;
}

static void bad_quantity(struct validate *v, struct str s, const struct path *at) {
    static const char rule[] = "quantities must match the regular expression "
                               "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    if (v->custom) {
        cause_invalid(v->c, at, s, "%s", rule);
    } else {
        cause_type(v->c, at, "%s", rule);
    }
}

static void check_special(struct validate *v, const struct field *f, yyjson_mut_val *x,
                          const struct path *at) {
    struct quantity q;
    int64_t ns;
    if (f->type == FIELD_INT_OR_STRING) {
        if (!yyjson_mut_is_str(x) && !yyjson_mut_is_int(x)) {
            wrong(v, at, "integer or string", x);
        }
        return;
    }
    if (v->types_only && f->type == FIELD_QUANTITY && yyjson_mut_is_num(x)) {
        return; /* it is respelled */
    }
    if (!yyjson_mut_is_str(x)) {
        wrong(v, at, "string", x);
        return;
    }
    struct str s = json_mstr(x);
    if (f->type == FIELD_QUANTITY && quantity_parse(s, &q, NULL) < 0) {
        bad_quantity(v, s, at);
    } else if (f->type == FIELD_TIME && time_parse(s, &ns, NULL) < 0) {
        cause_type(v->c, at, "Invalid value: \"%.*s\": cannot be parsed as a time", STR_ARG(s));
    } else if (f->type == FIELD_MICROTIME && time_parse_micro(s, &ns, NULL) < 0) {
        cause_type(v->c, at,
                   "Invalid value: \"%.*s\": cannot be parsed as "
                   "\"2006-01-02T15:04:05.000000Z07:00\"",
                   STR_ARG(s));
    } else if (f->type == FIELD_DURATION && duration_parse(s, &ns, NULL) < 0) {
        cause_type(v->c, at, "Invalid value: \"%.*s\": invalid duration", STR_ARG(s));
    } else if (f->type == FIELD_BYTES && !is_base64(s)) {
        cause_type(v->c, at, "Invalid value: illegal base64 data");
    }
}

static void validate_one(struct validate *v, const struct field *f, yyjson_mut_val *x,
                         yyjson_val *old, const struct path *at) {
    switch ((enum field_type)f->type) {
    case FIELD_STRING:
        check_text(v, f, x, at);
        break;
    case FIELD_BOOL:
        if (!yyjson_mut_is_bool(x)) {
            wrong(v, at, "boolean", x);
        }
        break;
    case FIELD_INT32:
    case FIELD_INT64:
        check_number(v, f, x, at);
        break;
    case FIELD_DOUBLE:
        if (!yyjson_mut_is_num(x)) {
            wrong(v, at, "number", x);
        }
        break;
    case FIELD_OBJECT:
        if (yyjson_mut_is_obj(x)) {
            validate_object(v, f->of, x, old, at);
        } else {
            wrong(v, at, "object", x);
        }
        break;
    case FIELD_ANY:
        break;
    default:
        check_special(v, f, x, at);
        break;
    }
}

static void check_count(struct validate *v, const struct field *f, yyjson_mut_val *x, size_t n,
                        const struct path *at) {
    if (f->max > 0 && n > (uint64_t)f->max) {
        cause_too_many(v->c, at, (int64_t)n, f->max);
    } else if (f->max > 0 && n < (uint64_t)f->min) {
        cause_too_few(v->c, at, x, 0, f->min, "items");
    }
}

static void validate_field(struct validate *v, const struct field *f, yyjson_mut_val *x,
                           yyjson_val *old, const struct path *at) {
    if (f->shape == FIELD_ONE) {
        validate_one(v, f, x, old, at);
    } else if (f->shape == FIELD_LIST) {
        if (!yyjson_mut_is_arr(x)) {
            wrong(v, at, "array", x);
            return;
        }
        check_count(v, f, x, yyjson_mut_arr_size(x), at);
        EACH(x, i, e) {
            struct path here = path_index(at, i);
            validate_one(v, f, e, NULL, &here);
        }
    } else {
        if (!yyjson_mut_is_obj(x)) {
            wrong(v, at, "object", x);
            return;
        }
        check_count(v, f, x, yyjson_mut_obj_size(x), at);
        yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(x);
        yyjson_mut_val *k;
        while ((k = yyjson_mut_obj_iter_next(&it)) != NULL) {
            struct path here = path_key(at, json_mstr(k));
            validate_one(v, f, yyjson_mut_obj_iter_get_val(k), NULL, &here);
        }
    }
}

static bool is_blank(yyjson_mut_val *x) {
    return x == NULL || (yyjson_mut_is_str(x) && yyjson_mut_get_len(x) == 0) ||
           (yyjson_mut_is_arr(x) && yyjson_mut_arr_size(x) == 0);
}

/* A number that is missing is 0 to upstream's types: only its bounds may speak against it. */
static void missing(struct validate *v, const struct field *f, const struct path *at) {
    bool number = f->type == FIELD_INT32 || f->type == FIELD_INT64;
    if (v->custom || !number || f->shape != FIELD_ONE || (f->flags & FIELD_F_NO_ZERO) != 0) {
        cause_required(v->c, at, NULL);
    } else if (f->min > 0) {
        causes_add(v->c, CAUSE_INVALID, path_text(at, v->c->arena),
                   "Invalid value: 0: must be between %lld and %lld, inclusive", (long long)f->min,
                   (long long)f->max);
    }
}

/* What must be there, and what may not change, also when it is absent now. A CustomResourceDefinition asks for presence
 * only; whether it may be empty is its length's matter. */
static void check_presence(struct validate *v, const struct schema *s, yyjson_mut_val *obj,
                           yyjson_val *old, const struct path *at) {
    for (size_t i = 0; i < s->n; i++) {
        const struct field *f = &s->fields[i];
        if (!(f->flags & (FIELD_F_REQUIRED | FIELD_F_IMMUTABLE))) {
            continue;
        }
        struct path here = path_field(at, f);
        yyjson_mut_val *x = json_mget(obj, here.name);
        if ((f->flags & FIELD_F_REQUIRED) && (v->custom ? x == NULL : is_blank(x))) {
            missing(v, f, &here);
        }
        if (old != NULL && (f->flags & FIELD_F_IMMUTABLE)) {
            yyjson_val *was = json_get(old, here.name);
            if (!v->custom || (x != NULL && was != NULL)) {
                check_immutable(v->c, &here, x, was);
            }
        }
    }
}

static void validate_object(struct validate *v, const struct schema *s, yyjson_mut_val *obj,
                            yyjson_val *old, const struct path *at) {
    size_t hint = 0;
    check_presence(v, s, obj, old, at);
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(obj);
    yyjson_mut_val *k;
    while ((k = yyjson_mut_obj_iter_next(&it)) != NULL) {
        const struct field *f = schema_find(s, json_mstr(k), &hint);
        if (f != NULL) {
            struct path here = path_field(at, f);
            validate_field(v, f, yyjson_mut_obj_iter_get_val(k),
                           f->shape == FIELD_ONE ? json_get(old, here.name) : NULL, &here);
        }
    }
}

bool codec_fits(const struct field *f, yyjson_mut_val *x, const struct path *at,
                struct causes *causes) {
    struct validate v = {.c = causes, .types_only = true};
    size_t before = causes->n;
    if (f->type != FIELD_OBJECT) {
        validate_one(&v, f, x, NULL, at);
    } else if (!yyjson_mut_is_obj(x)) {
        wrong(&v, at, "object", x);
    }
    return causes->n == before;
}

int codec_validate_in(const struct kind *k, const struct kind_version *kv, yyjson_mut_val *obj,
                      yyjson_val *old, struct causes *causes) {
    struct validate v = {.c = causes, .custom = k->flags & KIND_CUSTOM};
    validate_object(&v, kv->schema, obj, old, NULL);
    if (!(k->flags & KIND_VIRTUAL)) {
        check_meta(k, obj, old, causes);
    }
    if (kv->schema->custom != NULL) {
        crd_validate(kv->schema->custom, obj, old, causes);
    }
    if (k->check != NULL && causes->n == 0) {
        /* The hooks may rely on the types; the rules of a broken object would only repeat. */
        k->check(obj, old, causes);
    }
    return arena_ok(causes->arena);
}

int codec_validate(const struct kind *k, yyjson_mut_val *obj, yyjson_val *old,
                   struct causes *causes) {
    return codec_validate_in(k, kind_storage(k), obj, old, causes);
}

int codec_validate_status(const struct kind *k, yyjson_mut_val *obj, yyjson_val *old,
                          struct causes *causes) {
    return codec_validate_status_in(k, kind_storage(k), obj, old, causes);
}

int codec_validate_status_in(const struct kind *k, const struct kind_version *kv,
                             yyjson_mut_val *obj, yyjson_val *old, struct causes *causes) {
    struct validate v = {.c = causes, .custom = k->flags & KIND_CUSTOM};
    const struct schema *s = kv->schema;
    size_t hint = 0;
    yyjson_mut_val *status = json_mget(obj, STR("status"));
    const struct field *f = status != NULL ? schema_find(s, STR("status"), &hint) : NULL;
    if (f != NULL) {
        struct path here = path_field(NULL, f);
        validate_field(&v, f, status, f->shape == FIELD_ONE ? json_get(old, here.name) : NULL,
                       &here);
    }
    if (k->flags & KIND_STATUS_NOTES) {
        struct path meta = path_member(NULL, "metadata"), at = path_member(&meta, "annotations");
        check_annotations(causes, &at, json_mpath(obj, "metadata.annotations"));
    }
    if (s->custom != NULL) { /* with old to compare with, what did not change costs little */
        crd_validate(s->custom, obj, old, causes);
    }
    if (k->check != NULL && causes->n == 0) {
        causes->status_alone = old != NULL;
        k->check(obj, old, causes);
    }
    return arena_ok(causes->arena);
}
