/*
 * kueue_config: from text to a document, and over it with the table of members (kueue_config_fields.c).
 *
 * Paths of errors are written as a user would look for them: resources.transformations[2].strategy.
 */
#include "control/admit/kueue_config_private.h"

#include <stdarg.h>
#include <stdio.h>

#include "api/schema/check.h"
#include "base/limits.h"
#include "wire/text/time.h"
#include "wire/yaml.h"

enum { PATH_BYTES = 256, TEXT_BYTES = 400, SHOWN = 64 };

int config_fault(struct config_reader *r, const char *path, const char *fmt, ...) {
    char text[TEXT_BYTES];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return err_set(r->err, ERR_INVALID, "%s: %s", path, text);
}

void config_warn(struct config_reader *r, const char *fmt, ...) {
    char text[TEXT_BYTES];
    va_list ap;
    struct kueue_config *c = r->c;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (c->n_warnings == c->cap_warnings &&
        ARENA_GROW(&c->arena, c->warnings, c->cap_warnings) != 0) {
        return; /* the arena remembers */
    }
    c->warnings[c->n_warnings++] = arena_str(&c->arena, str_of(text));
}

/* ---- one value ---- */

static int text_fits(struct config_reader *r, const struct config_field *f, struct str v,
                     const char *path) {
    if (f->values != NULL) {
        char all[TEXT_BYTES] = "";
        size_t n = 0;
        for (size_t i = 0; f->values[i] != NULL; i++) {
            if (str_is(v, f->values[i])) {
                return 0;
            }
            int add = snprintf(all + n, sizeof(all) - n, "%s%s", i > 0 ? ", " : "", f->values[i]);
            n += add > 0 && (size_t)add < sizeof(all) - n ? (size_t)add : 0;
        }
        return config_fault(r, path, "\"%.*s\" is not one of %s", STR_ARG(str_head(v, SHOWN)), all);
    }
    const char *fault = NULL;
    if (f->format != NULL && str_is(str_of(f->format), "dns1035-label")) {
        fault = format_fault("dns1123-label", v);
        fault =
            fault != NULL || (v.p[0] >= 'a' && v.p[0] <= 'z') ? fault : "must start with a letter";
    } else if (f->format != NULL) {
        fault = format_fault(f->format, v);
    }
    return fault == NULL
               ? 0
               : config_fault(r, path, "\"%.*s\": %s", STR_ARG(str_head(v, SHOWN)), fault);
}

static int duration_fits(struct config_reader *r, const struct config_field *f, yyjson_val *v,
                         const char *path) {
    int64_t ns;
    struct err why = {0};
    if (!yyjson_is_str(v)) {
        return config_fault(r, path, "expected a duration such as \"5m\"");
    }
    if (duration_parse(json_str(v), &ns, &why) != 0) {
        return config_fault(r, path, "expected a duration such as \"5m\": %.200s", why.text);
    }
    if (f->not_negative && ns < 0) {
        return config_fault(r, path, "must be greater than or equal to 0");
    }
    return f->positive && ns <= 0 ? config_fault(r, path, "must be greater than 0") : 0;
}

static int number_fits(struct config_reader *r, const struct config_field *f, yyjson_val *v,
                       enum config_type type, const char *path) {
    bool bounded = f->min != 0 || f->max != 0;
    if (type == CONFIG_INT) {
        bool is_int = yyjson_is_int(v);
        uint64_t u = yyjson_is_uint(v) ? yyjson_get_uint(v) : 0;
        int64_t i = !is_int ? 0 : u > INT64_MAX ? INT64_MAX : yyjson_get_sint(v);
        if (!is_int) {
            return config_fault(r, path, "expected an integer");
        }
        return bounded && (i < f->min || i > f->max)
                   ? config_fault(r, path, "expected %lld to %lld, not %lld", (long long)f->min,
                                  (long long)f->max, (long long)i)
                   : 0;
    }
    if (!yyjson_is_num(v)) {
        return config_fault(r, path, "expected a number");
    }
    return yyjson_get_num(v) < (double)f->min
               ? config_fault(r, path, "must be greater than or equal to %lld", (long long)f->min)
               : 0;
}

static int quantity_fits(struct config_reader *r, yyjson_val *v, const char *path) {
    struct quantity q;
    if (yyjson_is_num(v)) {
        return 0;
    }
    return yyjson_is_str(v) && quantity_parse(json_str(v), &q, NULL) == 0
               ? 0
               : config_fault(r, path, "expected a quantity such as \"2\" or \"1.5Gi\"");
}

static int object_fits(struct config_reader *r, const struct config_field *fields, yyjson_val *v,
                       const char *path);

static int selector_fits(struct config_reader *r, yyjson_val *v, const char *path) {
    struct selector s;
    struct err why = {0};
    if (!yyjson_is_obj(v)) {
        return config_fault(r, path, "expected a label selector");
    }
    CONFIG_MEMBERS(v, k) {
        if (!str_is(json_str(k), "matchLabels") && !str_is(json_str(k), "matchExpressions")) {
            return config_fault(r, path, "unknown field \"%.*s\"",
                                STR_ARG(str_head(json_str(k), SHOWN)));
        }
    }
    int code = selector_from_json(&r->c->arena, v, &s, &why);
    return code == ERR_NOMEM ? err_set(r->err, ERR_NOMEM, "out of memory")
           : code != 0       ? config_fault(r, path, "%.300s", why.text)
                             : 0;
}

static int value_fits(struct config_reader *r, const struct config_field *f, enum config_type type,
                      yyjson_val *v, const char *path);

/* Items of a list, values of a map: they are bounded by min and max as numbers when they are numbers. */
static int items_fit(struct config_reader *r, const struct config_field *f, yyjson_val *v,
                     const char *path) {
    char below[PATH_BYTES];
    size_t n = yyjson_get_len(v);
    bool counts = f->item != CONFIG_INT && f->item != CONFIG_NUMBER;
    if (counts && ((f->max > 0 && n > (size_t)f->max) || n < (size_t)f->min)) {
        return config_fault(r, path, "expected %lld to %lld items, not %zu", (long long)f->min,
                            (long long)f->max, n);
    }
    CONFIG_EACH(v, i, e) {
        (void)snprintf(below, sizeof(below), "%s[%zu]", path, i);
        int code = value_fits(r, f, f->item, e, below);
        if (code != 0) {
            return code;
        }
    }
    if (!yyjson_is_obj(v)) {
        return 0;
    }
    CONFIG_MEMBERS(v, k) {
        (void)snprintf(below, sizeof(below), "%s[%.*s]", path,
                       STR_ARG(str_head(json_str(k), SHOWN)));
        int code = value_fits(r, f, f->item, yyjson_obj_iter_get_val(k), below);
        if (code != 0) {
            return code;
        }
    }
    return 0;
}

static int value_fits(struct config_reader *r, const struct config_field *f, enum config_type type,
                      yyjson_val *v, const char *path) {
    switch (type) {
    case CONFIG_BOOL:
        return yyjson_is_bool(v) ? 0 : config_fault(r, path, "expected true or false");
    case CONFIG_INT:
    case CONFIG_NUMBER:
        return number_fits(r, f, v, type, path);
    case CONFIG_TEXT:
        return yyjson_is_str(v) ? text_fits(r, f, json_str(v), path)
                                : config_fault(r, path, "expected a string");
    case CONFIG_DURATION:
        return duration_fits(r, f, v, path);
    case CONFIG_QUANTITY:
        return quantity_fits(r, v, path);
    case CONFIG_OBJECT:
        return object_fits(r, f->of, v, path);
    case CONFIG_LIST:
        return yyjson_is_arr(v) ? items_fit(r, f, v, path)
                                : config_fault(r, path, "expected a list");
    case CONFIG_MAP:
        return yyjson_is_obj(v) ? items_fit(r, f, v, path)
                                : config_fault(r, path, "expected a map");
    case CONFIG_SELECTOR:
        return selector_fits(r, v, path);
    case CONFIG_ANY:
        break;
    }
    return 0;
}

/* ---- members ---- */

static const struct config_field *field_of(const struct config_reader *r,
                                           const struct config_field *fields, struct str name) {
    for (const struct config_field *f = fields; f->name != NULL; f++) {
        if (str_is(name, f->name) && (!f->old || r->old)) {
            return f;
        }
    }
    return NULL;
}

static int object_fits(struct config_reader *r, const struct config_field *fields, yyjson_val *v,
                       const char *path) {
    char below[PATH_BYTES];
    const char *dot = path[0] != '\0' ? "." : "";
    if (!yyjson_is_obj(v)) {
        return config_fault(r, path[0] != '\0' ? path : "the document", "expected an object");
    }
    CONFIG_MEMBERS(v, k) {
        struct str name = json_str(k);
        yyjson_val *x = yyjson_obj_iter_get_val(k);
        const struct config_field *f = field_of(r, fields, name);
        (void)snprintf(below, sizeof(below), "%s%s%.*s", path, dot, STR_ARG(str_head(name, SHOWN)));
        if (f == NULL) {
            return config_fault(r, below, "unknown field");
        }
        int code = yyjson_is_null(x) ? 0 : value_fits(r, f, f->type, x, below);
        if (code != 0) {
            return code;
        }
        if (f->idle != NULL && !yyjson_is_null(x)) {
            config_warn(r, "%s has no effect: %s", below, f->idle);
        }
    }
    for (const struct config_field *f = fields; f->name != NULL; f++) {
        yyjson_val *x = json_get(v, str_of(f->name));
        if (f->needed && (x == NULL || yyjson_is_null(x))) {
            (void)snprintf(below, sizeof(below), "%s%s%s", path, dot, f->name);
            return config_fault(r, below, "required");
        }
    }
    return 0;
}

int config_walk(struct config_reader *r, yyjson_val *root) {
    return object_fits(r, kueue_config_fields, root, "");
}

/* ---- the document ---- */

static int version(struct config_reader *r, yyjson_val *root) {
    struct str v = json_str_at(root, "apiVersion"), kind = json_str_at(root, "kind");
    r->old = str_is(v, "config.kueue.x-k8s.io/v1beta1");
    if (!r->old && !str_is(v, "config.kueue.x-k8s.io/v1beta2")) {
        return config_fault(r, "apiVersion",
                            "\"%.*s\" is not one of config.kueue.x-k8s.io/v1beta2, "
                            "config.kueue.x-k8s.io/v1beta1",
                            STR_ARG(str_head(v, SHOWN)));
    }
    if (!str_is(kind, "Configuration")) {
        return config_fault(r, "kind", "\"%.*s\" is not Configuration",
                            STR_ARG(str_head(kind, SHOWN)));
    }
    return 0;
}

static int parse(struct config_reader *r, struct str text, yyjson_val **ret) {
    yyjson_mut_doc *mut;
    yyjson_doc *doc;
    struct buf b;
    if (text.n > KUEUE_CONFIG_BYTES) {
        return err_set(r->err, ERR_TOO_LARGE, "more than %d bytes", KUEUE_CONFIG_BYTES);
    }
    int code = yaml_parse_one(&r->c->arena, text, &mut, r->err);
    if (code != 0) {
        return code;
    }
    buf_init(&b, 16 * KUEUE_CONFIG_BYTES); /* aliases may make it grow */
    json_write_mut(&b, yyjson_mut_doc_get_root(mut));
    code = buf_ok(&b) != 0 ? err_set(r->err, ERR_TOO_LARGE, "too large with its aliases")
                           : json_parse(&r->c->arena, buf_view(&b), &doc, r->err);
    buf_release(&b);
    if (code == 0) {
        *ret = yyjson_doc_get_root(doc);
    }
    return code;
}

static int read_document(struct config_reader *r, struct str text) {
    yyjson_val *root = NULL;
    int (*const steps[])(struct config_reader *, yyjson_val *) = {
        version, config_walk, config_rules, config_gates, config_fill};
    int code = parse(r, text, &root);
    for (size_t i = 0; code == 0 && i < sizeof(steps) / sizeof(*steps); i++) {
        code = steps[i](r, root);
    }
    if (code == 0 && arena_ok(&r->c->arena) != 0) {
        code = err_set(r->err, ERR_NOMEM, "out of memory");
    }
    return code;
}

int kueue_config_read(struct str text, struct kueue_config *ret, struct err *err) {
    struct kueue_config c = {.settings = *queue_settings_defaults()};
    struct config_reader r = {.c = &c, .err = err};
    arena_init(&c.arena, 64 << 20);
    int code = read_document(&r, text);
    if (code != 0) {
        kueue_config_release(&c);
        return code;
    }
    *ret = c;
    return 0;
}

void kueue_config_release(struct kueue_config *c) {
    arena_release(&c->arena);
    *c = (struct kueue_config){0};
}
