/* load_file: a table for each kind of object in the file, and one reader for all of them. See load_file.h. */
#include "sim/load_file.h"

#include <stddef.h>

#include "base/limits.h"
#include "wire/json/json.h"
#include "wire/yaml.h"

enum { CLASS_NAME_MAX = 20, WORKLOAD_NAME_MAX = 40, PATH_MAX_BYTES = 256 };

enum type {
    TYPE_NAME,     /* lower-case DNS label of at most `max` bytes */
    TYPE_RESOURCE, /* a resource's name, with or without a prefix */
    TYPE_COUNT,    /* integer of `min` to `max` */
    TYPE_AMOUNT,   /* struct quantity, not negative; `also` (bool) is set when it is there */
    TYPE_RECLAIM,
    TYPE_WITHIN,
    TYPE_CONSTRAINT,
    TYPE_TEXT,
    TYPE_LIST,   /* of `of`, into a pointer and, at `also`, a size_t */
    TYPE_OBJECT, /* the members of `of`, into the same struct */
    TYPE_ANY,    /* only noted: `also` (bool) is set when it is there */
};

struct load_field {
    const char *name;
    enum type type;
    size_t to, also;
    bool required;
    int64_t min, max;
    const struct load_shape *of;
};

struct load_shape {
    const struct load_field *fields;
    size_t n, size;
};

#define SHAPE(x, type)                                                                             \
    static const struct load_shape x = {x##_fields, sizeof x##_fields / sizeof *x##_fields,        \
                                        sizeof(type)}
#define NONE SIZE_MAX

#define AT(m) offsetof(struct load_class, m)
static const struct load_field class_fields[] = {
    {"className", TYPE_NAME, AT(name), NONE, true, .max = WORKLOAD_NAME_MAX},
    {"runtimeMs", TYPE_COUNT, AT(runtime_ms), NONE, true, .max = LIMIT_SIM_MS},
    {"priority", TYPE_COUNT, AT(priority), NONE, .min = INT32_MIN, .max = INT32_MAX},
    {"request", TYPE_AMOUNT, AT(request), NONE, true},
    {"podCount", TYPE_COUNT, AT(pods), NONE, .min = 1, .max = LIMIT_SIM_PODS},
    {"tasConstraint", TYPE_CONSTRAINT, AT(constraint), NONE},
    {"tasLevel", TYPE_TEXT, AT(level), NONE},
    {"sliceSize", TYPE_COUNT, AT(slice), NONE, .min = 0, .max = LIMIT_SIM_PODS},
};
SHAPE(class, struct load_class);
#undef AT

#define AT(m) offsetof(struct load_set, m)
static const struct load_field set_fields[] = {
    {"count", TYPE_COUNT, AT(count), NONE, true, .min = 1, .max = LIMIT_SIM_WORKLOADS},
    {"creationIntervalMs", TYPE_COUNT, AT(interval_ms), NONE, true, .max = LIMIT_SIM_MS},
    {"workloads", TYPE_LIST, AT(classes), AT(n_classes), true, .of = &class},
};
SHAPE(set, struct load_set);
#undef AT

#define AT(m) offsetof(struct load_queues, m)
static const struct load_field queues_fields[] = {
    {"className", TYPE_NAME, AT(name), NONE, true, .max = CLASS_NAME_MAX},
    {"count", TYPE_COUNT, AT(count), NONE, true, .min = 1, .max = LIMIT_SIM_QUEUES},
    {"nominalQuota", TYPE_AMOUNT, AT(nominal), NONE, true},
    {"borrowingLimit", TYPE_AMOUNT, AT(borrowing), AT(limited)},
    {"reclaimWithinCohort", TYPE_RECLAIM, AT(reclaim), NONE},
    {"withinClusterQueue", TYPE_WITHIN, AT(within), NONE},
    {"workloadsSets", TYPE_LIST, AT(sets), AT(n_sets), true, .of = &set},
};
SHAPE(queues, struct load_queues);
#undef AT

#define AT(m) offsetof(struct load_cohorts, m)
static const struct load_field cohorts_fields[] = {
    {"className", TYPE_NAME, AT(name), NONE, true, .max = CLASS_NAME_MAX},
    {"count", TYPE_COUNT, AT(count), NONE, true, .min = 1, .max = LIMIT_SIM_QUEUES},
    {"queuesSets", TYPE_LIST, AT(queues), AT(n_queues), true, .of = &queues},
};
SHAPE(cohorts, struct load_cohorts);
#undef AT

#define AT(m) offsetof(struct load_file, m)
static const struct load_field flavor_fields[] = {
    {"name", TYPE_NAME, AT(flavor), NONE, true, .max = LIMIT_LABEL},
    {"nodeLabel", TYPE_ANY, NONE, AT(topology)},
    {"topologyName", TYPE_ANY, NONE, AT(topology)},
};
SHAPE(flavor, struct load_file);

static const struct load_field file_fields[] = {
    {"cohorts", TYPE_LIST, AT(cohorts), AT(n_cohorts), true, .of = &cohorts},
    {"resourceFlavor", TYPE_OBJECT, 0, NONE, .of = &flavor},
    {"resource", TYPE_RESOURCE, AT(resource), NONE},
    {"topology", TYPE_ANY, NONE, AT(topology)},
};
SHAPE(file, struct load_file);
#undef AT

struct load_reader {
    struct arena *arena;
    char path[PATH_MAX_BYTES];
    size_t n;
    struct err *err;
};

static int read_object(struct load_reader *r, const struct load_shape *s, yyjson_mut_val *v,
                       void *to);

static size_t path_push(struct load_reader *r, const char *name, ptrdiff_t index) {
    size_t was = r->n;
    int k = index >= 0
                ? snprintf(r->path + r->n, sizeof r->path - r->n, "[%td]", index)
                : snprintf(r->path + r->n, sizeof r->path - r->n, "%s%s", was ? "." : "", name);
    r->n = k < 0 || (size_t)k >= sizeof r->path - r->n ? sizeof r->path - 1 : r->n + (size_t)k;
    return was;
}

static void path_pop(struct load_reader *r, size_t was) {
    r->n = was;
    r->path[was] = 0;
}

static int expected(struct load_reader *r, const char *what) {
    return err_set(r->err, ERR_INVALID, "%s: expected %s", r->n ? r->path : "the file", what);
}

/* ---- single values ---- */

static bool is_label(struct str s, int64_t max) {
    for (size_t i = 0; i < s.n; i++) {
        bool inner = s.p[i] == '-' && i > 0 && i + 1 < s.n;
        if (!inner && !(s.p[i] >= 'a' && s.p[i] <= 'z') && !(s.p[i] >= '0' && s.p[i] <= '9')) {
            return false;
        }
    }
    return s.n > 0 && (int64_t)s.n <= max;
}

static bool is_resource(struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && memchr("-._/", c, 4) == NULL) {
            return false;
        }
    }
    return s.n > 0 && s.n <= LIMIT_NAME;
}

static int read_count(struct load_reader *r, const struct load_field *f, yyjson_mut_val *v,
                      int64_t *to) {
    char text[80];
    int64_t n = yyjson_mut_is_uint(v) && yyjson_mut_get_uint(v) > INT64_MAX
                    ? INT64_MAX
                    : yyjson_mut_get_sint(v);
    if (!yyjson_mut_is_int(v) || n < f->min || n > f->max) {
        snprintf(text, sizeof text, "an integer from %lld to %lld", (long long)f->min,
                 (long long)f->max);
        return expected(r, text);
    }
    *to = n;
    return 0;
}

static int read_amount(struct load_reader *r, yyjson_mut_val *v, struct quantity *to) {
    struct quantity q = {0};
    bool fine = false;
    if (yyjson_mut_is_int(v)) {
        uint64_t n = yyjson_mut_get_uint(v);
        fine = yyjson_mut_is_uint(v) && n <= INT64_MAX;
        q = quantity_of(fine ? (int64_t)n : 0, QUANTITY_DECIMAL);
    } else if (yyjson_mut_is_real(v)) {
        double d = yyjson_mut_get_real(v);
        fine = d >= 0 && d <= 1e12;
        q = quantity_of_milli(fine ? (int64_t)(d * 1000 + 0.5) : 0, QUANTITY_DECIMAL);
    } else if (yyjson_mut_is_str(v)) {
        fine = quantity_parse(json_mstr(v), &q, NULL) == 0 && quantity_sign(q) >= 0;
    }
    if (!fine) {
        return expected(r, "a quantity that is not negative, such as 20 or \"500m\"");
    }
    *to = q;
    return 0;
}

static int read_text(struct load_reader *r, const struct load_field *f, yyjson_mut_val *v,
                     struct str *to) {
    static const char *const words[][4] = {
        [TYPE_RECLAIM] = {"Never", "LowerPriority", "Any"},
        [TYPE_WITHIN] = {"Never", "LowerPriority", "LowerOrNewerEqualPriority"},
        [TYPE_CONSTRAINT] = {"required", "preferred", "balanced"},
    };
    struct str s = json_mstr(v);
    bool fine = yyjson_mut_is_str(v) && s.n <= LIMIT_NAME;
    char text[120];
    if (f->type == TYPE_NAME) {
        fine = is_label(s, f->max);
        snprintf(text, sizeof text,
                 "a lower-case name of letters, digits and '-', at most %d characters",
                 (int)f->max);
    } else if (f->type == TYPE_RESOURCE) {
        fine = is_resource(s);
        snprintf(text, sizeof text, "the name of a resource, such as cpu or nvidia.com/gpu");
    } else if (f->type != TYPE_TEXT) {
        const char *const *w = words[f->type];
        fine = str_is(s, w[0]) || str_is(s, w[1]) || str_is(s, w[2]);
        snprintf(text, sizeof text, "one of %s, %s, %s", w[0], w[1], w[2]);
    } else {
        snprintf(text, sizeof text, "a text of at most %d bytes", LIMIT_NAME);
    }
    if (!fine) {
        return expected(r, text);
    }
    *to = s;
    return 0;
}

/* ---- lists and objects ---- */

static int read_list(struct load_reader *r, const struct load_field *f, yyjson_mut_val *v,
                     char *to) {
    size_t i, n;
    yyjson_mut_val *item;
    if (!yyjson_mut_is_arr(v) || yyjson_mut_arr_size(v) == 0 ||
        yyjson_mut_arr_size(v) > LIMIT_SIM_LIST) {
        char text[64];
        snprintf(text, sizeof text, "a list of 1 to %d items", LIMIT_SIM_LIST);
        return expected(r, text);
    }
    char *items = arena_array(r->arena, yyjson_mut_arr_size(v), f->of->size);
    if (items == NULL) {
        return err_set(r->err, ERR_NOMEM, "%s: out of memory", r->path);
    }
    yyjson_mut_arr_foreach(v, i, n, item) {
        size_t was = path_push(r, "", (ptrdiff_t)i);
        int e = read_object(r, f->of, item, items + i * f->of->size);
        if (e) {
            return e;
        }
        path_pop(r, was);
    }
    memcpy(to + f->to, &items, sizeof items);
    memcpy(to + f->also, &n, sizeof n);
    return 0;
}

static int read_field(struct load_reader *r, const struct load_field *f, yyjson_mut_val *v,
                      char *to) {
    switch (f->type) {
    case TYPE_COUNT:
        return read_count(r, f, v, (int64_t *)(void *)(to + f->to));
    case TYPE_LIST:
        return read_list(r, f, v, to);
    case TYPE_OBJECT:
        return read_object(r, f->of, v, to);
    case TYPE_ANY:
        *(bool *)(to + f->also) = true;
        return 0;
    case TYPE_AMOUNT:
        if (f->also != NONE) {
            *(bool *)(to + f->also) = true;
        }
        return read_amount(r, v, (struct quantity *)(void *)(to + f->to));
    default:
        return read_text(r, f, v, (struct str *)(void *)(to + f->to));
    }
}

static int unknown(struct load_reader *r, const struct load_shape *s) {
    char text[400];
    size_t n = 0;
    for (size_t i = 0; i < s->n && n < sizeof text; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i ? ", " : "", s->fields[i].name);
    }
    return err_set(r->err, ERR_INVALID, "%s: is not known here; expected one of %s", r->path, text);
}

static int read_object(struct load_reader *r, const struct load_shape *s, yyjson_mut_val *v,
                       void *to) {
    yyjson_mut_obj_iter x;
    yyjson_mut_val *key;
    size_t was;
    int e;
    if (!yyjson_mut_is_obj(v)) {
        return expected(r, "an object");
    }
    yyjson_mut_obj_iter_init(v, &x);
    while ((key = yyjson_mut_obj_iter_next(&x))) {
        size_t i = 0;
        while (i < s->n && !str_is(json_mstr(key), s->fields[i].name)) {
            i++;
        }
        char name[64];
        snprintf(name, sizeof name, "%.*s", STR_ARG(json_mstr(key)));
        was = path_push(r, name, -1);
        e = i == s->n ? unknown(r, s)
                      : read_field(r, &s->fields[i], yyjson_mut_obj_iter_get_val(key), to);
        if (e) {
            return e;
        }
        path_pop(r, was);
    }
    for (size_t i = 0; i < s->n; i++) {
        if (s->fields[i].required && json_mget(v, str_of(s->fields[i].name)) == NULL) {
            path_push(r, s->fields[i].name, -1);
            return err_set(r->err, ERR_INVALID, "%s: is missing", r->path);
        }
    }
    return 0;
}

/* ---- the whole ---- */

static int64_t times(int64_t a, int64_t b) {
    int64_t r;
    return __builtin_mul_overflow(a, b, &r) ? INT64_MAX : r;
}

static int64_t plus(int64_t a, int64_t b) {
    int64_t r;
    return __builtin_add_overflow(a, b, &r) ? INT64_MAX : r;
}

static int finish_queues(struct load_queues *q, int64_t n_cohorts, struct load_file *l,
                         struct err *err) {
    int64_t each = 0;
    q->reclaim = str_empty(q->reclaim) ? STR("Never") : q->reclaim;
    q->within = str_empty(q->within) ? STR("Never") : q->within;
    for (size_t i = 0; i < q->n_sets; i++) {
        struct load_set *s = &q->sets[i];
        int64_t n = times(s->count, (int64_t)s->n_classes);
        if (times(n, s->interval_ms) > LIMIT_SIM_ARRIVALS_MS) {
            return err_set(err, ERR_INVALID,
                           "workloadsSets[%zu] of %.*s: its arrivals take more than %lld ms", i,
                           STR_ARG(q->name), (long long)LIMIT_SIM_ARRIVALS_MS);
        }
        each = plus(each, n);
        for (size_t k = 0; k < s->n_classes; k++) {
            struct load_class *c = &s->classes[k];
            c->pods = c->pods ? c->pods : 1;
            l->topology = l->topology || c->level.n || c->constraint.n;
        }
    }
    l->total_queues = plus(l->total_queues, times(n_cohorts, q->count));
    l->total_workloads = plus(l->total_workloads, times(each, times(n_cohorts, q->count)));
    return 0;
}

static int finish(struct load_file *l, struct err *err) {
    l->flavor = str_empty(l->flavor) ? STR("rf") : l->flavor;
    l->resource = str_empty(l->resource) ? STR("cpu") : l->resource;
    for (size_t i = 0; i < l->n_cohorts; i++) {
        for (size_t k = 0; k < i; k++) {
            if (str_eq(l->cohorts[k].name, l->cohorts[i].name)) {
                return err_set(err, ERR_INVALID, "cohorts[%zu].className: %.*s is used already", i,
                               STR_ARG(l->cohorts[i].name));
            }
        }
        for (size_t k = 0; k < l->cohorts[i].n_queues; k++) {
            int r = finish_queues(&l->cohorts[i].queues[k], l->cohorts[i].count, l, err);
            if (r) {
                return r;
            }
        }
    }
    if (l->total_queues > LIMIT_SIM_QUEUES) {
        return err_set(err, ERR_TOO_LARGE, "%lld queues are more than %d",
                       (long long)l->total_queues, LIMIT_SIM_QUEUES);
    }
    if (l->total_workloads > LIMIT_SIM_WORKLOADS) {
        return err_set(err, ERR_TOO_LARGE, "%lld workloads are more than %d",
                       (long long)l->total_workloads, LIMIT_SIM_WORKLOADS);
    }
    return 0;
}

int load_file_read(struct arena *a, struct str text, struct load_file *ret, struct err *err) {
    struct load_reader r = {.arena = a, .err = err};
    struct load_file l = {0};
    yyjson_mut_doc *d;
    int e = yaml_parse_one(a, text, &d, err);
    e = e ? e : read_object(&r, &file, yyjson_mut_doc_get_root(d), &l);
    e = e ? e : finish(&l, err);
    if (e == 0) {
        *ret = l;
    }
    return e;
}

/* ---- what it describes ---- */

int load_each_queue(const struct load_file *l, int (*each)(void *ctx, const struct load_place *p),
                    void *ctx) {
    int r = 0;
    struct load_place p = {0};
    for (size_t i = 0; i < l->n_cohorts; i++) {
        p.cohorts = &l->cohorts[i];
        for (p.cohort = 0; p.cohort < p.cohorts->count; p.cohort++) {
            for (p.set = 0; p.set < (int64_t)p.cohorts->n_queues; p.set++) {
                p.queues = &p.cohorts->queues[p.set];
                for (p.index = 0; p.index < p.queues->count; p.index++) {
                    r = each(ctx, &p);
                    if (r) {
                        return r;
                    }
                }
            }
        }
    }
    return 0;
}

void load_cohort_name(const struct load_place *p, struct buf *out) {
    buf_f(out, "%.*s-%lld", STR_ARG(p->cohorts->name), (long long)p->cohort);
}

void load_queue_name(const struct load_place *p, struct buf *out) {
    buf_f(out, "%.*s-%lld-%lld-", STR_ARG(p->queues->name), (long long)p->set, (long long)p->index);
    load_cohort_name(p, out);
}

const struct load_class *load_stream_next(struct load_stream *s, struct buf *name) {
    if (s->round >= s->set->count) {
        return NULL;
    }
    const struct load_class *c = &s->set->classes[s->at];
    buf_f(name, "%.*s-%zu-%lld-%lld", STR_ARG(c->name), s->set_index, (long long)s->round,
          (long long)s->at);
    s->due_ms += s->set->interval_ms;
    if (++s->at == (int64_t)s->set->n_classes) {
        s->at = 0;
        s->round++;
    }
    return c;
}
