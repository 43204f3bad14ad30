/*
 * crd_validate: what is wrong with an object by its structural schema. See crd_schema.h.
 *
 * Each value is checked by every rule of its node, then what is below it. An alternative that does not hold may be what
 * the author did not mean, so of several the one that came furthest is told: passes are counted as a kube-apiserver's
 * validator counts them. A value that is as it was stored is not looked at at all (ratcheting).
 */
#include "api/schema/crd_validate.h"

#include <math.h>

#include "api/schema/check.h"
#include "api/schema/crd_check.h"
#include "base/limits.h"
#include "base/map.h"
#include "wire/text/regex.h"

static size_t visit(struct crd_visit *v, const struct crd_node *n, yyjson_mut_val *x,
                    yyjson_val *old, const struct path *at);

/* "%v" of Go: the shortest text that reads back as the same number. */
static void write_number(struct buf *b, double d) {
    char text[40];
    if (d == floor(d) && fabs(d) < 1e15) {
        buf_i64(b, (int64_t)d);
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        (void)snprintf(text, sizeof(text), "%.*g", digits, d);
        if (strtod(text, NULL) == d) {
            break;
        }
    }
    buf_c(b, text);
}

static struct str number_text(struct crd_visit *v, double d) {
    struct buf b;
    buf_init(&b, 0);
    write_number(&b, d);
    struct str s = arena_str(v->c->arena, buf_view(&b));
    buf_release(&b);
    return s;
}

static struct str where_text(struct crd_visit *v, const struct path *at) {
    return path_text(at, v->c->arena);
}

static bool full(struct crd_visit *v) {
    return v->c->n >= LIMIT_CRD_CAUSES;
}

static const char *wanted_name(const struct crd_node *n) {
    static const char *const names[] = {
        [CRD_ANY] = "",
        [CRD_OBJECT] = "object",
        [CRD_ARRAY] = "array",
        [CRD_STRING] = "string",
        [CRD_INTEGER] = "integer",
        [CRD_NUMBER] = "number",
        [CRD_BOOLEAN] = "boolean",
    };
    return n->flags & CRD_INT_OR_STRING ? "integer,string" : names[n->type];
}

static bool is_whole(yyjson_mut_val *x) {
    return yyjson_mut_is_int(x) ||
           (yyjson_mut_is_real(x) && floor(yyjson_mut_get_real(x)) == yyjson_mut_get_real(x));
}

static bool type_fits(const struct crd_node *n, yyjson_mut_val *x) {
    if (n->flags & CRD_INT_OR_STRING) {
        return yyjson_mut_is_str(x) || is_whole(x);
    }
    switch ((enum crd_type)n->type) {
    case CRD_ANY:
        return true;
    case CRD_OBJECT:
        return yyjson_mut_is_obj(x);
    case CRD_ARRAY:
        return yyjson_mut_is_arr(x);
    case CRD_STRING:
        return yyjson_mut_is_str(x);
    case CRD_INTEGER:
        return is_whole(x);
    case CRD_NUMBER:
        return yyjson_mut_is_num(x);
    case CRD_BOOLEAN:
        return yyjson_mut_is_bool(x);
    }
    return true;
}

static void check_type(struct crd_visit *v, const struct crd_node *n, yyjson_mut_val *x,
                       const struct path *at) {
    if (yyjson_mut_is_null(x) && (n->flags & CRD_NULLABLE)) {
        return;
    }
    if (type_fits(n, x)) {
        return;
    }
    const char *is = check_type_name(x);
    struct str want = str_of(wanted_name(n)),
               format = n->rules ? n->rules->format : (struct str){0};
    bool numeric = n->type == CRD_INTEGER || n->type == CRD_NUMBER;
    if (format.n > 0 && numeric && !yyjson_mut_is_str(x) && !yyjson_mut_is_arr(x) &&
        !yyjson_mut_is_null(x)) {
        is = yyjson_mut_is_int(x) ? "int64" : yyjson_mut_is_num(x) ? "float64" : "";
        want = format;
    }
    cause_wrong_type(v->c, at, want, is);
}

/* Errors that name no field. */
static void whole(struct crd_visit *v, struct str text) {
    causes_add(v->c, CAUSE_INVALID, STR("<nil>"), "Invalid value: \"\": %.*s", STR_ARG(text));
}

static size_t add_all(struct crd_visit *v, const struct causes *from) {
    for (size_t i = 0; i < from->n && !full(v); i++) {
        causes_add(v->c, from->v[i].type, from->v[i].field, "%.*s", STR_ARG(from->v[i].text));
    }
    return 0;
}

/* Each alternative on its own. *ret_held gets how many hold, *ret_best the causes of the one that came furthest. */
static size_t try_each(struct crd_visit *v, const struct crd_node *const *list, size_t n,
                       yyjson_mut_val *x, yyjson_val *old, const struct path *at, bool first,
                       size_t *ret_held, struct causes *ret_best) {
    size_t best = 0, held_passes = 0, held = 0;
    bool any = false;
    for (size_t i = 0; i < n && !(first && held > 0); i++) {
        struct causes own = {.arena = v->c->arena};
        struct crd_visit sub = *v;
        sub.c = &own;
        size_t passes = visit(&sub, list[i], x, old, at);
        v->steps = sub.steps;
        v->matching = sub.matching;
        if (own.n == 0) {
            held_passes = held++ == 0 ? passes : held_passes;
        } else if (!any || passes > best) {
            any = true;
            best = passes;
            *ret_best = own;
        }
    }
    *ret_held = held;
    return held > 0 ? held_passes : best;
}

static size_t check_junctors(struct crd_visit *v, const struct crd_rules *r, yyjson_mut_val *x,
                             yyjson_val *old, const struct path *at) {
    size_t passes = 0, held = 0;
    struct causes best = {0};
    if (r->n_any_of > 0) {
        passes += try_each(v, r->any_of, r->n_any_of, x, old, at, true, &held, &best);
        if (held == 0) {
            whole(v, arena_f(v->c->arena, "\"%.*s\" must validate at least one schema (anyOf)",
                             STR_ARG(where_text(v, at))));
            add_all(v, &best);
        }
    }
    if (r->n_one_of > 0) {
        passes += try_each(v, r->one_of, r->n_one_of, x, old, at, false, &held, &best);
        if (held != 1) {
            struct str how = held == 0 ? STR("Found none valid")
                                       : arena_f(v->c->arena, "Found %zu valid alternatives", held);
            whole(v, arena_f(v->c->arena,
                             "\"%.*s\" must validate one and only one schema (oneOf). %.*s",
                             STR_ARG(where_text(v, at)), STR_ARG(how)));
            held == 0 ? add_all(v, &best) : 0;
        }
    }
    held = 0;
    for (size_t i = 0; i < r->n_all_of; i++) {
        size_t before = v->c->n;
        passes += visit(v, r->all_of[i], x, old, at);
        held += v->c->n == before;
    }
    if (held < r->n_all_of) {
        whole(v, arena_f(v->c->arena, "\"%.*s\" must validate all the schemas (allOf)%s",
                         STR_ARG(where_text(v, at)), held == 0 ? ". None validated" : ""));
    }
    if (r->negated != NULL) {
        (void)try_each(v, &r->negated, 1, x, old, at, false, &held, &best);
        if (held > 0) {
            whole(v, arena_f(v->c->arena, "\"%.*s\" must not validate the schema (not)",
                             STR_ARG(where_text(v, at))));
        }
    }
    return passes + 1;
}

static size_t characters(struct str s) {
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        n += ((unsigned char)s.p[i] & 0xC0) != 0x80;
    }
    return n;
}

static void check_pattern(struct crd_visit *v, const struct crd_rules *r, struct str s,
                          const struct path *at) {
    int m = regex_matches(r->regex, s, &v->matching);
    if (m == ERR_TOO_LARGE) {
        v->steps = LIMIT_CRD_STEPS + 1; /* the object is refused as one that takes too long */
    } else if (m != 1) {
        cause_invalid(v->c, at, s, "%.*s in body should match '%.*s'", STR_ARG(where_text(v, at)),
                      STR_ARG(r->pattern));
    }
}

static void check_text(struct crd_visit *v, const struct crd_rules *r, yyjson_mut_val *x,
                       const struct path *at) {
    struct str s = json_mstr(x);
    int64_t n = r->min_length >= 0 || r->max_length >= 0 ? (int64_t)characters(s) : 0;
    if (r->max_length >= 0 && n > r->max_length) {
        cause_too_long(v->c, at, r->max_length);
    } else if (r->min_length >= 0 && n < r->min_length) {
        cause_invalid(v->c, at, s, "%.*s in body should be at least %lld chars long",
                      STR_ARG(where_text(v, at)), (long long)r->min_length);
    } else if (r->regex != NULL) {
        check_pattern(v, r, s, at);
    }
    if (r->format.n > 0 && !crd_format(r->format, s)) {
        struct str where = where_text(v, at);
        struct buf b;
        buf_init(&b, 0);
        buf_json(&b, s);
        struct str quoted = arena_str(v->c->arena, buf_view(&b));
        buf_release(&b);
        cause_type(v->c, at, "Invalid value: %.*s: %.*s in body must be of type %.*s: %.*s",
                   STR_ARG(quoted), STR_ARG(where), STR_ARG(r->format), STR_ARG(quoted));
    }
}

static bool is_multiple(yyjson_mut_val *x, double of) {
    if (of <= 0) {
        return true;
    }
    if (yyjson_mut_is_sint(x) && of == floor(of) && of < 9e15) {
        return yyjson_mut_get_sint(x) % (int64_t)of == 0;
    }
    double times = yyjson_mut_get_num(x) / of;
    return fabs(times - round(times)) < 1e-9 || times == floor(times);
}

static void check_bounds(struct crd_visit *v, const struct crd_rules *r, yyjson_mut_val *x,
                         const struct path *at) {
    double d = yyjson_mut_get_num(x);
    bool times = !r->has_multiple || is_multiple(x, r->multiple);
    bool high = r->has_max && (r->open_max ? d >= r->max : d > r->max);
    bool low = r->has_min && (r->open_min ? d <= r->min : d < r->min);
    if (!times) {
        cause_bound(v->c, at, x, "a multiple of", number_text(v, r->multiple));
    }
    if (high) {
        cause_bound(v->c, at, x, r->open_max ? "less than" : "less than or equal to",
                    number_text(v, r->max));
    }
    if (low) {
        cause_bound(v->c, at, x, r->open_min ? "greater than" : "greater than or equal to",
                    number_text(v, r->min));
    }
}

static void check_number(struct crd_visit *v, const struct crd_node *n, yyjson_mut_val *x,
                         const struct path *at) {
    const struct crd_rules *r = n->rules;
    double d = yyjson_mut_get_num(x);
    bool fits = true;
    struct str format = r != NULL ? r->format : (struct str){0};
    if (n->type == CRD_INTEGER) {
        fits = is_whole(x) && d >= -9.3e18 && d <= 9.3e18 &&
               (!str_is(format, "int32") || (d >= INT32_MIN && d <= INT32_MAX));
    } else if (n->type == CRD_NUMBER && str_is(format, "float")) {
        fits = fabs(d) <= 3.4028234663852886e38;
    }
    if (!fits && format.n == 0) {
        whole(v, arena_f(v->c->arena, "Checked value must be of type %s (default format) in %.*s",
                         wanted_name(n), STR_ARG(where_text(v, at))));
    } else if (!fits) {
        whole(v, arena_f(v->c->arena, "Checked value must be of type %s with format %.*s in %.*s",
                         wanted_name(n), STR_ARG(format), STR_ARG(where_text(v, at))));
    }
    if (r != NULL) {
        check_bounds(v, r, x, at);
    }
}

static void check_counts(struct crd_visit *v, const struct path *at, int64_t n, int64_t min,
                         int64_t max, const char *what) {
    if (min >= 0 && n < min) {
        cause_too_few(v->c, at, NULL, n, min, what);
    }
    if (max >= 0 && n > max) {
        cause_too_many(v->c, at, n, max);
    }
}

static void check_values(struct crd_visit *v, yyjson_val *values, yyjson_mut_val *x,
                         const struct path *at) {
    size_t i, n;
    yyjson_val *e;
    v->steps += yyjson_arr_size(values) / 8;
    yyjson_arr_foreach(values, i, n, e) {
        if (same_value(x, e)) {
            return;
        }
    }
    if (full(v)) {
        return;
    }
    struct buf b;
    buf_init(&b, 0);
    buf_c(&b, "Unsupported value: ");
    json_write_mut(&b, x);
    buf_c(&b, ": supported values: ");
    yyjson_arr_foreach(values, i, n, e) {
        buf_c(&b, i ? ", " : "");
        if (yyjson_is_str(e)) {
            buf_json(&b, json_str(e));
        } else {
            buf_ch(&b, '"');
            json_write(&b, e);
            buf_ch(&b, '"');
        }
    }
    causes_add(v->c, CAUSE_NOT_SUPPORTED, where_text(v, at), "%.*s", STR_ARG(buf_view(&b)));
    buf_release(&b);
}

static size_t check_rules(struct crd_visit *v, const struct crd_node *n, yyjson_mut_val *x,
                          yyjson_val *old, const struct path *at) {
    const struct crd_rules *r = n->rules;
    size_t passes = 1;
    if (yyjson_mut_is_str(x)) {
        check_text(v, r, x, at);
    } else if (yyjson_mut_is_arr(x)) {
        check_counts(v, at, (int64_t)yyjson_mut_arr_size(x), r->min_items, r->max_items, "items");
    } else if (yyjson_mut_is_obj(x)) {
        check_counts(v, at, (int64_t)yyjson_mut_obj_size(x), r->min_props, r->max_props,
                     "properties");
        v->steps += r->n_required * yyjson_mut_obj_size(x) / 32;
        for (size_t i = 0; i < r->n_required && v->steps <= LIMIT_CRD_STEPS; i++) {
            struct path here = {.up = at, .step = PATH_MEMBER, .name = r->required[i]};
            if (json_mget(x, r->required[i]) == NULL) {
                cause_required(v->c, &here, NULL);
            }
        }
    }
    if (r->values != NULL) {
        check_values(v, r->values, x, at);
    }
    if (r->n_any_of + r->n_one_of + r->n_all_of > 0 || r->negated != NULL) {
        passes += check_junctors(v, r, x, old, at);
    }
    return passes;
}

static bool same_keys(const struct crd_node *n, yyjson_mut_val *e, yyjson_val *o) {
    bool same = true;
    for (size_t k = 0; k < n->n_keys && same; k++) {
        yyjson_mut_val *a = json_mget(e, n->keys[k]);
        yyjson_val *b = json_get(o, n->keys[k]);
        same = a != NULL ? b != NULL && same_value(a, b) : b == NULL;
    }
    return same;
}

/* The stored element that an element is compared with: the one with the same keys, in a list that is a map. It mostly
 * stands at the same place, which is `usual`. */
static yyjson_val *old_element(struct crd_visit *v, const struct crd_node *n, yyjson_mut_val *e,
                               yyjson_val *old, yyjson_val *usual) {
    size_t i, count;
    yyjson_val *o;
    if (!(n->flags & CRD_LIST_MAP) || !yyjson_is_arr(old)) {
        return NULL;
    }
    if (usual != NULL && same_keys(n, e, usual)) {
        return usual;
    }
    v->steps += yyjson_arr_size(old) * (n->n_keys + 1) / 2;
    if (yyjson_arr_size(old) > LIMIT_NAMED_ITEMS || v->steps > LIMIT_CRD_STEPS) {
        return NULL;
    }
    yyjson_arr_foreach(old, i, count, o) {
        if (same_keys(n, e, o)) {
            return o;
        }
    }
    return NULL;
}

static size_t visit_below(struct crd_visit *v, const struct crd_node *n, yyjson_mut_val *x,
                          yyjson_val *old, const struct path *at) {
    size_t passes = 0;
    if (yyjson_mut_is_arr(x) && n->items != NULL) {
        yyjson_mut_arr_iter it = yyjson_mut_arr_iter_with(x);
        yyjson_arr_iter was = yyjson_arr_iter_with(old);
        yyjson_mut_val *e;
        for (size_t i = 0; !full(v) && (e = yyjson_mut_arr_iter_next(&it)) != NULL; i++) {
            struct path here = path_index(at, i);
            yyjson_val *usual = yyjson_arr_iter_next(&was);
            passes += visit(v, n->items, e, old_element(v, n, e, old, usual), &here);
        }
    } else if (yyjson_mut_is_obj(x)) {
        yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(x);
        yyjson_mut_val *k;
        while (!full(v) && (k = yyjson_mut_obj_iter_next(&it)) != NULL) {
            const struct crd_node *m = crd_member(n, json_mstr(k));
            struct path here = {.up = at, .step = PATH_MEMBER, .name = json_mstr(k)};
            if (m == NULL && (n->flags & CRD_NO_ADDITIONAL)) {
                cause_invalid(v->c, at, here.name, "%.*s in body is a forbidden property",
                              STR_ARG(where_text(v, &here)));
            }
            if (m != NULL) {
                passes +=
                    visit(v, m, yyjson_mut_obj_iter_get_val(k), json_get(old, here.name), &here);
            }
        }
    }
    return passes;
}

/* An object inside says what it is. */
static void check_embedded(struct crd_visit *v, yyjson_mut_val *x, const struct path *at) {
    static const char *const names[] = {"apiVersion", "kind"};
    for (size_t i = 0; i < 2; i++) {
        struct path here = path_member(at, names[i]);
        yyjson_mut_val *text = json_mget(x, here.name);
        if (text == NULL) {
            cause_required(v->c, &here, NULL);
        } else if (yyjson_mut_is_str(text) && yyjson_mut_get_len(text) == 0) {
            cause_invalid(v->c, &here, STR(""), "must not be empty");
        }
    }
}

static size_t visit(struct crd_visit *v, const struct crd_node *n, yyjson_mut_val *x,
                    yyjson_val *old, const struct path *at) {
    if (old != NULL && at != NULL && same_value(x, old)) {
        return 1; /* it was taken before */
    }
    if (++v->steps > LIMIT_CRD_STEPS) {
        return 0;
    }
    size_t passes = 1, before = v->c->n;
    if (!(at == NULL && n->type == CRD_ANY)) {
        check_type(v, n, x, at);
    }
    passes += v->c->n == before;
    if (yyjson_mut_is_null(x)) {
        if (n->rules != NULL && n->rules->values != NULL) {
            check_values(v, n->rules->values, x, at);
        }
        return passes;
    }
    if (yyjson_mut_is_num(x)) {
        check_number(v, n, x, at);
    }
    if (n->rules != NULL) {
        passes += check_rules(v, n, x, old, at);
    }
    if ((n->flags & CRD_EMBEDDED) && at != NULL && yyjson_mut_is_obj(x)) {
        check_embedded(v, x, at);
    }
    return passes + visit_below(v, n, x, old, at);
}

struct default_check {
    struct causes *c;
    bool unknown;
};

static void note_unknown(void *ctx, struct str path) {
    ((struct default_check *)ctx)->unknown = true;
}

/* A default is what a value may be: all of it named, and valid. */
static void check_default(const struct crd_node *n, struct causes *c, const struct path *at) {
    struct causes own = {.arena = c->arena};
    struct crd_visit v = {.c = &own, .matching = LIMIT_REGEX_STEPS};
    struct default_check d = {.c = c};
    struct crd_pruner p = {.unknown = note_unknown, .ctx = &d};
    struct path here = path_member(at, "default"), root = path_member(NULL, "");
    yyjson_mut_doc *doc = json_mut_copy(c->arena, n->def);
    if (doc == NULL) {
        return;
    }
    yyjson_mut_val *x = yyjson_mut_doc_get_root(doc);
    buf_init(&p.text, 0);
    crd_prune(&p, n, x, NULL, false);
    buf_release(&p.text);
    if (d.unknown) {
        struct buf b;
        buf_init(&b, 0);
        json_write(&b, n->def);
        causes_add(c, CAUSE_INVALID, path_text(&here, c->arena),
                   "Invalid value: %.*s: must not have unknown fields", STR_ARG(buf_view(&b)));
        buf_release(&b);
        return;
    }
    (void)crd_default(n, doc, x);
    (void)visit(&v, n, x, NULL, &root);
    for (size_t i = 0; i < own.n; i++) {
        enum cause_type type = own.v[i].type == CAUSE_TYPE ? CAUSE_INVALID : own.v[i].type;
        causes_add(c, type, path_text(&here, c->arena), "%.*s", STR_ARG(own.v[i].text));
    }
}

static void check_defaults(const struct crd_node *n, struct causes *c, const struct path *at) {
    if (!(n->flags & CRD_DEFAULTS) || c->n >= LIMIT_CRD_CAUSES) {
        return;
    }
    if (n->def != NULL) {
        check_default(n, c, at);
    }
    struct path props = path_member(at, "properties"), items = path_member(at, "items");
    struct path more = path_member(at, "additionalProperties");
    for (size_t i = 0; i < n->n_props; i++) {
        struct path here = path_key(&props, n->props[i].name);
        check_defaults(n->props[i].node, c, &here);
    }
    if (n->items != NULL) {
        check_defaults(n->items, c, &items);
    }
    if (n->additional != NULL) {
        check_defaults(n->additional, c, &more);
    }
}

void crd_check_defaults(yyjson_val *schema, const struct path *at, struct causes *c) {
    struct crd_schema *s;
    if (crd_schema_new(schema, &s, NULL) == 0) { /* else: told when it is admitted */
        check_defaults(s->root, c, at);
        crd_schema_free(s);
    }
}

void crd_validate(const struct crd_schema *s, yyjson_mut_val *obj, yyjson_val *old,
                  struct causes *causes) {
    struct crd_visit v = {.c = causes, .matching = LIMIT_REGEX_STEPS};
    (void)visit(&v, s->root, obj, old, NULL);
    if (v.steps > LIMIT_CRD_STEPS) { /* told here, where no alternative can swallow it */
        whole(&v, STR("the object takes too long to check"));
        return;
    }
    crd_validate_lists(&v, s->root, obj, old);
    crd_validate_cel(&v, s->root, obj, old);
}
