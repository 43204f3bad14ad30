/* runtime_choice: see runtime_choice.h. */
#include "core/serve/runtime_choice.h"

static int protocol_rank(struct str p) {
    return str_is(p, "v1")        ? 1
           : str_is(p, "v2")      ? 2
           : str_is(p, "grpc-v1") ? 3
           : str_is(p, "grpc-v2") ? 4
                                  : 5;
}

/* The simplest that it speaks. */
static int simplest(const struct serving_runtime *r) {
    int best = 5;
    for (size_t i = 0; i < r->n_protocols; i++) {
        int rank = protocol_rank(r->protocols[i]);
        best = rank < best ? rank : best;
    }
    return best;
}

static bool speaks(const struct serving_runtime *r, struct str protocol) {
    for (size_t i = 0; i < r->n_protocols; i++) {
        if (str_eq(r->protocols[i], protocol)) {
            return true;
        }
    }
    return r->n_protocols == 0 || protocol.n == 0;
}

static bool supports(const struct serving_runtime *r, const struct runtime_wish *w,
                     bool automatic) {
    for (size_t i = 0; i < r->n_formats; i++) {
        const struct runtime_format *f = &r->formats[i];
        if (str_eq(f->name, w->format) && (w->version.n == 0 || str_eq(f->version, w->version)) &&
            (f->auto_select || !automatic)) {
            return true;
        }
    }
    return false;
}

/* Of the first format of that name, as KServe reads it. */
static int32_t priority_of(const struct serving_runtime *r, struct str format) {
    for (size_t i = 0; i < r->n_formats; i++) {
        if (str_eq(r->formats[i].name, format)) {
            return r->formats[i].priority;
        }
    }
    return 0;
}

static bool before(const struct serving_runtime *a, const struct serving_runtime *b,
                   struct str format) {
    int32_t pa = priority_of(a, format), pb = priority_of(b, format);
    if (a->cluster != b->cluster) {
        return b->cluster;
    }
    if (pa != pb) {
        return pa > pb; /* 0, none, is below all */
    }
    if (simplest(a) != simplest(b)) {
        return simplest(a) < simplest(b);
    }
    if (a->created_ns != b->created_ns) {
        return a->created_ns > b->created_ns;
    }
    return str_cmp(a->name, b->name) < 0;
}

static int choose_named(const struct serving_runtime *v, size_t n, const struct runtime_wish *w,
                        size_t *ret, struct err *err) {
    const struct serving_runtime *r = NULL;

    for (size_t i = 0; i < n; i++) {
        bool nearer = r == NULL || (r->cluster && !v[i].cluster);
        r = str_eq(v[i].name, w->runtime) && nearer ? &v[i] : r;
    }
    if (r == NULL) {
        return err_set(
            err, ERR_NOT_FOUND,
            "there is no ServingRuntime in this namespace and no ClusterServingRuntime \"%.*s\"",
            STR_ARG(w->runtime));
    }
    if (r->disabled) {
        return err_set(err, ERR_FORBIDDEN, "runtime \"%.*s\" is disabled", STR_ARG(w->runtime));
    }
    if (!speaks(r, w->protocol)) {
        return err_set(err, ERR_UNSUPPORTED, "runtime \"%.*s\" does not speak protocol \"%.*s\"",
                       STR_ARG(w->runtime), STR_ARG(w->protocol));
    }
    if (!supports(r, w, false)) {
        return err_set(err, ERR_UNSUPPORTED,
                       "runtime \"%.*s\" does not support format \"%.*s\"%s%.*s",
                       STR_ARG(w->runtime), STR_ARG(w->format), w->version.n > 0 ? " version " : "",
                       STR_ARG(w->version));
    }
    *ret = (size_t)(r - v);
    return 0;
}

/* Why none was chosen: what is the nearest that there is. */
static int none(const struct serving_runtime *v, size_t n, const struct runtime_wish *w,
                struct str protocol, struct err *err) {
    const char *but = "none that is not disabled supports it";

    for (size_t i = 0; i < n; i++) {
        const struct serving_runtime *r = &v[i];
        if (!r->disabled && supports(r, w, true) && !speaks(r, protocol)) {
            return err_set(
                err, ERR_UNSUPPORTED,
                "format \"%.*s\": \"%.*s\" supports it, but does not speak protocol \"%.*s\"",
                STR_ARG(w->format), STR_ARG(r->name), STR_ARG(protocol));
        }
        if (!r->disabled && supports(r, w, false)) {
            but = "those that support it do so only when they are named (autoSelect is not set)";
        }
    }
    return err_set(err, ERR_UNSUPPORTED, "no runtime for format \"%.*s\"%s%.*s: %s",
                   STR_ARG(w->format), w->version.n > 0 ? " version " : "", STR_ARG(w->version),
                   but);
}

int runtime_choice(const struct serving_runtime *v, size_t n, const struct runtime_wish *w,
                   size_t *ret, struct err *err) {
    struct str protocol = w->protocol.n > 0 ? w->protocol : STR("v1");
    const struct serving_runtime *best = NULL;

    if (w->format.n == 0) {
        return err_set(err, ERR_INVALID,
                       "spec.predictor.model.modelFormat.name: expected a format");
    }
    if (w->runtime.n > 0) {
        return choose_named(v, n, w, ret, err);
    }
    for (size_t i = 0; i < n; i++) {
        const struct serving_runtime *r = &v[i];
        if (!r->disabled && !r->multi_model && supports(r, w, true) && speaks(r, protocol) &&
            (best == NULL || before(r, best, w->format))) {
            best = r;
        }
    }
    if (best == NULL) {
        return none(v, n, w, protocol, err);
    }
    *ret = (size_t)(best - v);
    return 0;
}

const char *runtime_choice_reason(int code) {
    return code == ERR_NOT_FOUND     ? "RuntimeNotRecognized"
           : code == ERR_FORBIDDEN   ? "RuntimeDisabled"
           : code == ERR_UNSUPPORTED ? "NoSupportingRuntime"
           : code == ERR_INVALID     ? "InvalidPredictorSpec"
                                     : NULL;
}

int runtime_choice_check(const struct serving_runtime *r, struct err *err) {
    for (size_t i = 0; i < r->n_formats; i++) {
        const struct runtime_format *a = &r->formats[i];
        for (size_t k = 0; k < i; k++) {
            const struct runtime_format *b = &r->formats[k];
            if (str_eq(a->name, b->name) && a->priority != b->priority && a->priority > 0 &&
                b->priority > 0) {
                return err_set(
                    err, ERR_INVALID,
                    "spec.supportedModelFormats: format \"%.*s\" has two priorities, expected one",
                    STR_ARG(a->name));
            }
        }
    }
    return 0;
}
