/* fit: see fit.h. */
#include "core/model/fit.h"

#include <math.h>
#include <stdio.h>

#include "core/model/kv.h"
#include "core/model/overhead.h"

#define GIB 1073741824.0

enum { CONTEXT_MAX = 100000000, SEQUENCES_MAX = 1000000, PARALLEL_MAX = 1024 };

const char *fit_word(enum fit_verdict v) {
    return v == FIT_YES ? "fits" : v == FIT_TIGHT ? "tight" : "no";
}

struct fit_ask fit_defaults(enum fit_runtime runtime) {
    bool llama = runtime == FIT_LLAMA;
    return (struct fit_ask){.runtime = runtime,
                            .utilization = llama ? FIT_PPM : 900000,
                            .tensor = 1,
                            .pipeline = 1,
                            .batched = llama ? 512 : 8192,
                            .max_sequences = 256,
                            .overhead = -1};
}

static int within(const char *field, int64_t n, int64_t least, int64_t most, struct err *err) {
    return n >= least && n <= most
               ? 0
               : err_set(err, ERR_INVALID, "%s: expected %lld to %lld, not %lld", field,
                         (long long)least, (long long)most, (long long)n);
}

/* T divides the attention heads, and the heads of the cache, or is a multiple of those. */
static int check_tensor(const struct facts *f, int64_t tensor, struct err *err) {
    if (tensor > 1 && f->heads > 0 && f->heads % tensor != 0) {
        return err_set(err, ERR_INVALID, "tensor: %lld does not divide the %lld attention heads",
                       (long long)tensor, (long long)f->heads);
    }
    for (size_t i = 0; i < f->n_groups && tensor > 1; i++) {
        int64_t heads = f->groups[i].kv_heads;
        if (heads > 0 && !f->groups[i].latent && heads % tensor != 0 && tensor % heads != 0) {
            return err_set(
                err, ERR_INVALID,
                "tensor: %lld and %lld heads of keys and values do not divide each other",
                (long long)tensor, (long long)heads);
        }
    }
    return 0;
}

int fit_check(const struct facts *f, const struct fit_ask *ask, struct err *err) {
    int code = within("utilization", ask->utilization, 1, FIT_PPM, err);

    code = code != 0 ? code : within("context", ask->context, 0, CONTEXT_MAX, err);
    code = code != 0 ? code : within("sequences", ask->sequences, 0, SEQUENCES_MAX, err);
    code = code != 0 ? code : within("tensor", ask->tensor, 1, PARALLEL_MAX, err);
    code = code != 0 ? code : within("pipeline", ask->pipeline, 1, PARALLEL_MAX, err);
    code = code != 0 ? code : within("batched", ask->batched, 1, CONTEXT_MAX, err);
    code = code != 0 ? code : within("max_sequences", ask->max_sequences, 1, SEQUENCES_MAX, err);
    code = code != 0 ? code : check_tensor(f, ask->tensor, err);
    if (code == 0 && f->weights <= 0) {
        code = err_set(
            err, ERR_INVALID,
            "the bytes of its weights are not known: neither files tell them, nor sizes that "
            "config.json has");
    }
    if (code == 0 && ask->context == 0 && f->context <= 0) {
        code = err_set(err, ERR_INVALID, "context: the model does not say how long it may be");
    }
    return code;
}

/* ---- one device ---- */

static struct kv_how layout(const struct fit_ask *ask) {
    bool llama = ask->runtime == FIT_LLAMA;
    return (struct kv_how){.bits = ask->kv_bits,
                           .tensor = ask->tensor,
                           .pipeline = ask->pipeline,
                           .block = llama ? 256 : 16,
                           .slack = llama ? 0 : 1,
                           .batched = ask->batched};
}

static int64_t may_use(const struct fit_ask *ask, int64_t memory) {
    int64_t whole = memory / FIT_PPM * ask->utilization;
    int64_t rest = memory % FIT_PPM * ask->utilization;
    return whole + rest / FIT_PPM + (rest % FIT_PPM != 0);
}

static int64_t overhead_of(const struct facts *f, const struct fit_ask *ask) {
    struct overhead_how how = {.tensor = ask->tensor,
                               .pipeline = ask->pipeline,
                               .batched = ask->batched,
                               .sequences = ask->max_sequences,
                               .llama = ask->runtime == FIT_LLAMA};
    return ask->overhead >= 0 ? ask->overhead : overhead_guess(f, &how);
}

/* The largest stage has the most layers, of weights as well. */
static int64_t weights_of(const struct facts *f, const struct fit_ask *ask) {
    int64_t layers = f->layers > 0 ? f->layers : 1;
    int64_t stage = layers / ask->pipeline + (layers % ask->pipeline != 0);
    double share = ask->pipeline > 1 ? (double)stage / (double)layers : 1;
    return (int64_t)ceil((double)f->weights * share / (double)ask->tensor);
}

static void measure(const struct facts *f, const struct fit_ask *ask, const struct fit_device *d,
                    struct fit_answer *r) {
    struct kv_how how = layout(ask);
    int64_t most = f->context > r->context ? f->context : r->context;

    r->may_use = may_use(ask, d->memory);
    r->weights = weights_of(f, ask);
    r->overhead = overhead_of(f, ask);
    r->budget = r->may_use - r->weights - r->overhead;
    r->token = kv_token(f, &how);
    int64_t one = kv_sequence(f, &how, r->context), budget = r->budget > 0 ? r->budget : 0;
    r->tokens = kv_tokens(f, &how, budget, r->context);
    /* Of equal sequences: those that tokens have room for; where windows and states count, those that fit. */
    r->at_once = one > 0 ? budget / one : 0;
    r->longest = kv_longest(f, &how, budget, most);
}

static void speed(const struct facts *f, const struct fit_ask *ask, const struct fit_device *d,
                  struct fit_answer *r) {
    struct kv_how how = layout(ask);
    double cache = (double)kv_sequence(f, &how, r->context), all = (double)r->weights, rate;
    double share = f->parameters > 0 ? (double)f->parameters_used / (double)f->parameters : 1;
    int64_t n = ask->sequences > 0 && ask->sequences < r->at_once ? ask->sequences : r->at_once;

    if (d->bandwidth <= 0 || r->verdict == FIT_NO || r->at_once < 1) {
        return;
    }
    rate = (double)d->bandwidth / (double)ask->pipeline;
    /* The more sequences there are, the fewer experts are idle: each misses one with 1 - used/experts. */
    double idle = f->experts > 0
                      ? pow(1 - (double)f->experts_used / (double)f->experts, (double)n) /
                            (1 - (double)f->experts_used / (double)f->experts + 1e-12)
                      : 0;
    double read = all * (1 - (1 - share) * (idle < 1 ? idle : 1));
    r->speed_one = (int64_t)(1000 * rate / (all * share + cache));
    r->speed_all = (int64_t)(1000 * rate * (double)n / (read + cache * (double)n));
}

/* ---- the verdict, and why ---- */

static void say_no(struct fit_answer *r, const struct fit_ask *ask, const struct facts *f) {
    struct kv_how how = layout(ask);
    double one = (double)kv_sequence(f, &how, r->context) / GIB;

    if (r->budget <= 0) {
        snprintf(r->reason, sizeof(r->reason),
                 "weights of %.2f GiB and overhead of %.2f GiB leave nothing of %.2f GiB",
                 (double)r->weights / GIB, (double)r->overhead / GIB, (double)r->may_use / GIB);
    } else if (r->longest > 0) {
        snprintf(
            r->reason, sizeof(r->reason),
            "a sequence of %lld tokens needs %.2f GiB of cache, %.2f GiB are left: at most %lld "
            "tokens",
            (long long)r->context, one, (double)r->budget / GIB, (long long)r->longest);
    } else {
        snprintf(r->reason, sizeof(r->reason), "the %.2f GiB that are left hold no block of cache",
                 (double)r->budget / GIB);
    }
}

static void judge(const struct facts *f, const struct fit_ask *ask, const struct fit_device *d,
                  struct fit_answer *r) {
    struct kv_how how = layout(ask);
    int64_t left = r->budget - kv_sequence(f, &how, r->context);

    r->verdict = FIT_NO;
    if (ask->tensor * ask->pipeline > 1 && d->slice) {
        snprintf(r->reason, sizeof(r->reason),
                 "a slice works alone: tensor and pipeline parallelism need whole GPUs");
    } else if (d->together > 0 && ask->tensor * ask->pipeline > d->together) {
        snprintf(r->reason, sizeof(r->reason), "%lld GPUs are asked for, a machine has %lld",
                 (long long)(ask->tensor * ask->pipeline), (long long)d->together);
    } else if (ask->least_memory > d->memory * ask->tensor * ask->pipeline) {
        snprintf(r->reason, sizeof(r->reason), "the catalog says that it needs %.1f GiB",
                 (double)ask->least_memory / GIB);
    } else if (left < 0 || r->at_once < 1) {
        say_no(r, ask, f);
    } else if (ask->sequences > r->at_once) {
        r->verdict = FIT_TIGHT;
        snprintf(r->reason, sizeof(r->reason),
                 "%lld of the %lld sequences run at once, others wait", (long long)r->at_once,
                 (long long)ask->sequences);
    } else if (r->at_once < 2) {
        r->verdict = FIT_TIGHT;
        snprintf(r->reason, sizeof(r->reason), "one sequence of that length at a time");
    } else if (left < d->memory / 20) {
        r->verdict = FIT_TIGHT;
        snprintf(r->reason, sizeof(r->reason), "%.2f GiB are left beside one sequence",
                 (double)left / GIB);
    } else {
        r->verdict = FIT_YES;
    }
}

static struct fit_answer answer(const struct facts *f, const struct fit_ask *ask,
                                const struct fit_device *d) {
    struct fit_answer r = {.context = ask->context > 0 ? ask->context : f->context};
    measure(f, ask, d, &r);
    judge(f, ask, d, &r);
    speed(f, ask, d, &r);
    return r;
}

/* ---- what would make it start ---- */

/* Weights of so many bits, where they have more. */
static bool lighter(const struct facts *f, int64_t millibits, struct facts *ret) {
    double had = f->parameters > 0 ? (double)f->weights * 8000 / (double)f->parameters : 0;
    *ret = *f;
    ret->weights = had > 0 ? (int64_t)((double)f->weights * (double)millibits / had) : f->weights;
    return had > (double)millibits * 1.2;
}

static bool starts(const struct facts *f, const struct fit_ask *ask, const struct fit_device *d) {
    return answer(f, ask, d).verdict != FIT_NO;
}

static void try_fix(struct fit_answer *r, enum fit_fix fix, bool helps) {
    if (helps && r->n_fixes < FIT_FIXES_MAX) {
        r->fixes[r->n_fixes++] = fix;
    }
}

static int64_t more_gpus(const struct facts *f, const struct fit_ask *ask,
                         const struct fit_device *d) {
    struct fit_ask with = *ask;

    for (int64_t t = 2;
         !d->slice && ask->tensor == 1 && t <= 16 && (d->together == 0 || t <= d->together);
         t *= 2) {
        with.tensor = t;
        if (check_tensor(f, t, NULL) == 0 && starts(f, &with, d)) {
            return t;
        }
    }
    return 0;
}

static void together(struct fit_answer *r, enum fit_fix one, enum fit_fix other) {
    try_fix(r, one, true);
    try_fix(r, other, true);
    r->both = true;
}

static void find_fixes(const struct facts *f, const struct fit_ask *ask, const struct fit_device *d,
                       struct fit_answer *r) {
    struct fit_ask with = *ask, cache = *ask;
    struct facts eight, four;

    with.context = r->fix_context = r->longest;
    try_fix(r, FIT_FIX_CONTEXT, r->longest >= FIT_CONTEXT_LEAST && starts(f, &with, d));
    cache.kv_bits = 8;
    bool smaller = (ask->kv_bits > 0 ? ask->kv_bits : f->kv_bits) > 8;
    bool to8 = lighter(f, 8000, &eight), to4 = lighter(f, 4500, &four);
    try_fix(r, FIT_FIX_CACHE, smaller && starts(f, &cache, d));
    try_fix(r, FIT_FIX_WEIGHTS8, to8 && starts(&eight, ask, d));
    try_fix(r, FIT_FIX_WEIGHTS4, to4 && starts(&four, ask, d));
    r->fix_tensor = more_gpus(f, ask, d);
    try_fix(r, FIT_FIX_TENSOR, r->fix_tensor > 0);
    if (r->n_fixes == 0 && smaller && to8 && starts(&eight, &cache, d)) {
        together(r, FIT_FIX_CACHE, FIT_FIX_WEIGHTS8);
    } else if (r->n_fixes == 0 && to8) {
        with.context = r->fix_context = answer(&eight, ask, d).longest;
        if (with.context >= FIT_CONTEXT_LEAST && starts(&eight, &with, d)) {
            together(r, FIT_FIX_WEIGHTS8, FIT_FIX_CONTEXT);
        }
    }
}

struct fit_answer fit_of(const struct facts *f, const struct fit_ask *ask,
                         const struct fit_device *d) {
    struct fit_answer r = answer(f, ask, d);
    bool possible = !(d->slice && ask->tensor * ask->pipeline > 1);
    if (r.verdict == FIT_NO && possible) {
        find_fixes(f, ask, d, &r);
    }
    return r;
}

struct str fit_flag(const struct fit_answer *answer, enum fit_runtime runtime, size_t i,
                    struct arena *a) {
    bool llama = runtime == FIT_LLAMA;
    switch (answer->fixes[i]) {
    case FIT_FIX_CONTEXT:
        return arena_f(a, "%s %lld", llama ? "--ctx-size" : "--max-model-len",
                       (long long)answer->fix_context);
    case FIT_FIX_CACHE:
        return llama ? STR("--cache-type-k q8_0 --cache-type-v q8_0") : STR("--kv-cache-dtype fp8");
    case FIT_FIX_WEIGHTS8:
        return llama ? STR("weights in Q8_0") : STR("--quantization fp8");
    case FIT_FIX_WEIGHTS4:
        return llama ? STR("weights in Q4_K_M") : STR("weights of 4 bits (AWQ, GPTQ, NVFP4)");
    default:
        return arena_f(a, llama ? "%lld GPUs" : "--tensor-parallel-size %lld",
                       (long long)answer->fix_tensor);
    }
}
