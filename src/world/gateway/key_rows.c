/* key_rows: see key_rows.h. */
#include "world/gateway/key_rows.h"

#include <stdlib.h>

#include "api/serving/view_key.h"
#include "base/mem.h"
#include "wire/json/json.h"
#include "wire/text/time.h"

enum { TREE_BYTES_MAX = 8 << 20, WEIGHT_MAX = 10000 };

uint64_t key_number(struct str text) {
    uint64_t h = 14695981039346656037ULL; /* FNV-1a */
    for (size_t i = 0; i < text.n; i++) {
        h = (h ^ (unsigned char)text.p[i]) * 1099511628211ULL;
    }
    return h ? h : 1;
}

/* ---- projects ---- */

static int64_t number(yyjson_val *notes, const char *key, int64_t least, int64_t most,
                      int64_t otherwise, struct str ns, struct log *log) {
    struct str text = json_str(json_get(notes, str_of(key)));
    int64_t n;
    if (text.n == 0) {
        return otherwise;
    }
    if (!str_to_i64(text, &n) || n < least || n > most) {
        if (log != NULL) {
            log_warn(log, "namespace %.*s: annotation %s: expected a number from %lld to %lld",
                     STR_ARG(ns), key, (long long)least, (long long)most);
        }
        return otherwise;
    }
    return n;
}

struct key_project key_project_of(const struct mirror *m, struct str ns, struct log *log) {
    struct key_project p = {.weight = 1};
    const struct object *o = mirror_get(m, kind_by_name(STR(""), STR("Namespace")), STR(""), ns);
    yyjson_doc *d;
    struct arena a;
    arena_init(&a, TREE_BYTES_MAX);
    if (o != NULL && object_tree(o, &a, &d, NULL) == 0) {
        yyjson_val *notes = json_path(yyjson_doc_get_root(d), "metadata.annotations");
        const int64_t most = MODEL_KEY_LIMIT_MAX;
        p.limits.requests = number(notes, MODEL_PROJECT_REQUESTS, 0, most, 0, ns, log);
        p.limits.tokens = number(notes, MODEL_PROJECT_TOKENS, 0, most, 0, ns, log);
        p.limits.streams = number(notes, MODEL_PROJECT_STREAMS, 0, most, 0, ns, log);
        p.weight = (int32_t)number(notes, MODEL_PROJECT_WEIGHT, 1, WEIGHT_MAX, 1, ns, log);
        p.priority_max = (int32_t)number(notes, MODEL_PROJECT_PRIORITY, -MODEL_KEY_PRIORITY_MAX,
                                         MODEL_KEY_PRIORITY_MAX, 0, ns, log);
    }
    arena_release(&a);
    return p;
}

/* ---- keys ---- */

struct rows {
    const struct object **v;
    size_t n;
};

static bool on_key(void *ctx, const struct object *o) {
    struct rows *r = ctx;
    r->v[r->n++] = o;
    return true;
}

static int by_age(const void *a, const void *b) {
    const struct object *x = *(const struct object *const *)a,
                        *y = *(const struct object *const *)b;
    if (x->created_ns != y->created_ns) {
        return x->created_ns < y->created_ns ? -1 : 1;
    }
    return str_cmp(x->uid, y->uid);
}

static bool read_digest(struct str hex, unsigned char out[KEY_DIGEST]) {
    static const char digits[] = "0123456789abcdef";
    if (hex.n != MODEL_KEY_SHA256) {
        return false;
    }
    for (size_t i = 0; i < hex.n; i++) {
        const char *at = hex.p[i] ? strchr(digits, hex.p[i]) : NULL;
        if (at == NULL) {
            return false;
        }
        unsigned v = (unsigned)(at - digits);
        out[i / 2] = (unsigned char)(i % 2 ? out[i / 2] | v : v << 4);
    }
    return true;
}

static int64_t expires_s(const struct object *o, yyjson_val *spec) {
    int64_t ns;
    if (time_parse(json_str_at(spec, "expiresAt"), &ns, NULL) != 0) {
        ns = o->created_ns + MODEL_KEY_DAYS * INT64_C(86400) * NS_PER_SEC;
    }
    return ns > 0 ? ns / NS_PER_SEC : 1;
}

/* The API holds them to this; what was written past it is not believed, as limits beyond it stop the gateway. */
static int64_t within(yyjson_val *spec, const char *path, int64_t least, int64_t most) {
    int64_t n = json_i64_at(spec, path, 0);
    return n < least ? least : n > most ? most : n;
}

static int add_key(const struct object *o, yyjson_val *spec, const struct key_project *p,
                   struct arena *a, struct key_set *set, struct err *err) {
    unsigned char digest[KEY_DIGEST];
    yyjson_val *list = json_get(spec, STR("models")), *v;
    struct str *models = ARENA_ARRAY(a, struct str, yyjson_arr_size(list) + 1);
    const int64_t most = MODEL_KEY_LIMIT_MAX, high = MODEL_KEY_PRIORITY_MAX;
    int64_t priority = within(spec, "priority", -high, high);
    size_t i, n, n_models = 0;
    if (models == NULL) {
        return err_set(err, ERR_NOMEM, "no memory for a key");
    }
    yyjson_arr_foreach(list, i, n, v) {
        models[n_models++] = json_str(v);
    }
    if (!read_digest(json_str_at(spec, "sha256"), digest)) {
        return err_set(err, ERR_INVALID, "spec.sha256: expected 64 lower-case hexadecimal digits");
    }
    const struct gateway_key k = {
        .number = key_number(o->uid),
        .name = o->name,
        .subject = json_str_at(spec, "user"),
        .project = o->ns,
        .models = models,
        .n_models = n_models,
        .limits = {.requests = within(spec, "limits.requestsPerMinute", 0, most),
                   .tokens = within(spec, "limits.tokensPerMinute", 0, most),
                   .streams = within(spec, "limits.streams", 0, most)},
        .project_limits = p->limits,
        .weight = p->weight,
        .priority = (int32_t)(priority > p->priority_max ? p->priority_max : priority),
        .expires_s = expires_s(o, spec),
    };
    bool gone = json_bool_at(spec, "revoked", false) || o->deleting_ns != 0;
    return key_set_add(set, digest, gone ? NULL : &k, err);
}

/* Keys lie next to each other by age, not by project: the last project is kept, which most neighbours share. */
static int add_all(const struct mirror *m, const struct rows *r, struct log *log,
                   struct key_set *set, struct err *err) {
    struct key_project project = {0};
    struct str of = {0};
    struct arena a;
    arena_init(&a, TREE_BYTES_MAX);
    int code = 0;
    for (size_t i = 0; i < r->n && code == 0; i++) {
        const struct object *o = r->v[i];
        struct err why = {0};
        yyjson_doc *d;
        arena_reset(&a);
        if (object_tree(o, &a, &d, &why) != 0) {
            log_warn(log, "modelkey %.*s/%.*s: %s", STR_ARG(o->ns), STR_ARG(o->name), why.text);
            continue;
        }
        yyjson_val *spec = json_get(yyjson_doc_get_root(d), STR("spec"));
        if (!str_eq(of, o->ns)) {
            project = key_project_of(m, o->ns, log);
            of = o->ns;
        }
        code = add_key(o, spec, &project, &a, set, &why);
        if (code == ERR_NOMEM) {
            *err = why;
        } else if (code != 0) {
            log_warn(log, "modelkey %.*s/%.*s is not used: %s", STR_ARG(o->ns), STR_ARG(o->name),
                     why.text);
            code = 0;
        }
    }
    arena_release(&a);
    return code;
}

int key_rows_make(const struct mirror *m, struct log *log, struct key_set **ret, struct err *err) {
    const struct kind *k = kind_by_name(STR("berth.dev"), STR("ModelKey"));
    struct key_set *set = key_set_new();
    struct rows r = {.v = mem_array(mirror_count(m, k) + 1, sizeof(*r.v))};
    int code = set && r.v ? 0 : err_set(err, ERR_NOMEM, "no memory for keys");
    if (code == 0) {
        mirror_scan(m, k, STR(""), on_key, &r);
        if (r.n > 1) {
            qsort(r.v, r.n, sizeof *r.v, by_age);
        }
        code = add_all(m, &r, log, set, err);
    }
    mem_free(r.v);
    if (code != 0) {
        key_set_free(set);
        return code;
    }
    *ret = set;
    return 0;
}
