/* fit_report: see fit_report.h. */
#include "cli/model/fit_report.h"

#define GIB 1073741824.0

static struct str why(const struct fit_report *r, const struct fit_row *row, struct arena *a) {
    struct buf b;
    buf_init(&b, 4096);
    buf_c(&b, row->answer.reason);
    for (size_t i = 0; i < row->answer.n_fixes; i++) {
        buf_c(&b, i == 0 ? "; " : row->answer.both ? " and " : ", or ");
        buf_str(&b, fit_flag(&row->answer, r->ask->runtime, i, a));
    }
    struct str text = arena_str(a, buf_view(&b));
    buf_release(&b);
    return text;
}

static struct str size_text(struct arena *a, int64_t bytes) {
    return arena_f(a, "%.1f GiB", (double)bytes / GIB);
}

static void add_row(const struct fit_report *r, const struct fit_row *row, struct table *t,
                    struct arena *a) {
    const struct fit_answer *f = &row->answer;
    enum table_style style = f->verdict == FIT_YES     ? STYLE_GOOD
                             : f->verdict == FIT_TIGHT ? STYLE_WAIT
                                                       : STYLE_BAD;
    bool no = f->verdict == FIT_NO;

    table_row(t);
    table_set(t, 0, STYLE_PLAIN, row->gpu);
    table_set(t, 1, STYLE_PLAIN, row->slice.n > 0 ? row->slice : STR("whole"));
    table_set(t, 2, STYLE_PLAIN, size_text(a, row->device.memory));
    table_set(t, 3, style, str_of(fit_word(f->verdict)));
    table_set(t, 4, STYLE_PLAIN, no ? STR("-") : arena_f(a, "%lld", (long long)f->tokens));
    table_set(t, 5, STYLE_PLAIN, no ? STR("-") : arena_f(a, "%lld", (long long)f->at_once));
    table_set(t, 6, STYLE_PLAIN,
              f->longest > 0 ? arena_f(a, "%lld", (long long)f->longest) : STR("-"));
    table_set(t, 7, STYLE_PLAIN,
              f->speed_one > 0 ? arena_f(a, "%lld/s", (long long)(f->speed_one / 1000)) : STR("-"));
    table_set(t, 8, STYLE_PLAIN, why(r, row, a));
}

static void head(const struct fit_report *r, struct buf *out) {
    const struct facts *f = &r->model->facts;

    buf_f(out, "%.*s: %lld layers", STR_ARG(f->type.n > 0 ? f->type : STR("model")),
          (long long)f->layers);
    if (f->parameters > 0) {
        buf_f(out, ", %.2f billion parameters", (double)f->parameters / 1e9);
    }
    if (f->experts > 0) {
        buf_f(out, " (%.2f used by a token)", (double)f->parameters_used / 1e9);
    }
    buf_f(out, ", %.2f GiB of weights%s%s%.*s\n", (double)f->weights / GIB,
          f->weights_exact ? "" : " by its sizes", f->quant.n > 0 ? " in " : "", STR_ARG(f->quant));
    buf_f(out, "%s, %lld tokens of context, %lld bytes of cache a token%s\n\n",
          r->ask->runtime == FIT_LLAMA ? "llama.cpp" : "vLLM",
          (long long)(r->n > 0 ? r->rows[0].answer.context : 0),
          (long long)(r->n > 0 ? r->rows[0].answer.token : 0),
          r->ask->tensor > 1 ? " and GPU" : "");
}

void fit_report_table(const struct fit_report *r, struct arena *a, bool colour, int width,
                      struct buf *out) {
    static const char *const headers[] = {"GPU",     "SLICE",   "MEMORY", "FITS", "TOKENS",
                                          "AT ONCE", "LONGEST", "SPEED",  "WHY"};
    struct table t;

    head(r, out);
    table_init(&t, a, headers, sizeof(headers) / sizeof(*headers));
    for (size_t i = 0; i < r->n; i++) {
        add_row(r, &r->rows[i], &t, a);
    }
    table_write(&t, colour, width, out);
}

/* ---- JSON ---- */

static void member(struct buf *out, const char *name, int64_t n) {
    buf_f(out, ",\"%s\":%lld", name, (long long)n);
}

static void json_row(const struct fit_report *r, const struct fit_row *row, struct arena *a,
                     struct buf *out) {
    const struct fit_answer *f = &row->answer;

    buf_c(out, "{\"gpu\":");
    buf_json(out, row->gpu);
    if (row->slice.n > 0) {
        buf_c(out, ",\"slice\":");
        buf_json(out, row->slice);
    }
    member(out, "memoryBytes", row->device.memory);
    buf_f(out, ",\"verdict\":\"%s\"", fit_word(f->verdict));
    member(out, "weightsBytes", f->weights);
    member(out, "overheadBytes", f->overhead);
    member(out, "cacheBytes", f->budget > 0 ? f->budget : 0);
    member(out, "cacheBytesPerToken", f->token);
    member(out, "tokens", f->tokens);
    member(out, "sequences", f->at_once);
    member(out, "longestContext", f->longest);
    if (f->speed_one > 0) {
        member(out, "tokensPerSecondBound", f->speed_one / 1000);
        member(out, "tokensPerSecondBoundAll", f->speed_all / 1000);
    }
    if (f->reason[0] != 0) {
        buf_c(out, ",\"reason\":");
        buf_json(out, str_of(f->reason));
    }
    for (size_t i = 0; i < f->n_fixes; i++) {
        buf_c(out, i == 0 ? (f->both ? ",\"needsAll\":[" : ",\"needsOneOf\":[") : ",");
        buf_json(out, fit_flag(&row->answer, r->ask->runtime, i, a));
    }
    buf_c(out, f->n_fixes > 0 ? "]}" : "}");
}

void fit_report_json(const struct fit_report *r, struct buf *out) {
    const struct facts *f = &r->model->facts;
    struct arena a;

    arena_init(&a, 4 << 20);
    buf_c(out, "{\"kind\":\"ModelFit\",\"model\":{\"type\":");
    buf_json(out, f->type);
    member(out, "layers", f->layers);
    member(out, "parameters", f->parameters);
    member(out, "parametersUsed", f->parameters_used);
    member(out, "weightsBytes", f->weights);
    buf_f(out, ",\"weightsExact\":%s", f->weights_exact ? "true" : "false");
    member(out, "longestContext", f->context);
    buf_c(out, ",\"quantization\":");
    buf_json(out, f->quant);
    buf_f(out, "},\"runtime\":\"%s\",\"catalog\":%s",
          r->ask->runtime == FIT_LLAMA ? "llama.cpp" : "vllm", r->catalog ? "true" : "false");
    member(out, "context", r->n > 0 ? r->rows[0].answer.context : 0);
    buf_c(out, ",\"items\":[");
    for (size_t i = 0; i < r->n; i++) {
        buf_c(out, i > 0 ? "," : "");
        json_row(r, &r->rows[i], &a, out);
    }
    buf_c(out, "]}");
    arena_release(&a);
}
