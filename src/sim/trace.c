/* trace: see trace.h. */
#include "sim/trace.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "wire/text/quantity.h"
#include "wire/text/time.h"

enum column { COL_SUBMIT, COL_DURATION, COL_GPUS, COL_QUEUE, COL_PRIORITY, COL_CLASS, COL_NONE };
enum { COLUMNS = COL_NONE, FIELDS_MAX = 32 };

static const struct form {
    const char *names[COLUMNS]; /* NULL: there is none */
    bool required[COLUMNS];
    const char *ignored;
} forms[] = {
    [TRACE_PLAIN] = {{"submit_s", "duration_s", "gpus", "queue", "priority", "class"},
                     {true, true, true, true}},
    [TRACE_PHILLY] = {{"timestamp", "duration", "num_gpus", "cluster"},
                      {true, true, true, true},
                      "gpu_time"},
};

struct trace_reader {
    struct arena *arena;
    enum trace_form form;
    size_t line, n_fields;
    enum column fields[FIELDS_MAX];
    struct trace out;
    size_t cap;
    struct err *err;
};

static int fail(struct trace_reader *r, const char *column, const char *what) {
    return err_set(r->err, ERR_INVALID, "line %zu: %s: expected %s", r->line, column, what);
}

static int header(struct trace_reader *r, struct str line) {
    const struct form *f = &forms[r->form];
    bool have[COLUMNS + 1] = {0};
    struct str name;
    while (str_next(&line, ',', &name)) {
        size_t c = 0;
        name = str_trim(name);
        while (c < COLUMNS && !(f->names[c] && str_is(name, f->names[c]))) {
            c++;
        }
        if ((c == COL_NONE && !(f->ignored && str_is(name, f->ignored))) ||
            (have[c] && c < COL_NONE) || r->n_fields == FIELDS_MAX) {
            return err_set(r->err, ERR_INVALID, "line 1: column \"%.*s\" is %s", STR_ARG(name),
                           c < COL_NONE && have[c] ? "there twice" : "not known");
        }
        have[c] = true;
        r->fields[r->n_fields++] = (enum column)c;
    }
    for (size_t c = 0; c < COLUMNS; c++) {
        if (f->required[c] && !have[c]) {
            return err_set(r->err, ERR_INVALID, "line 1: column \"%s\" is missing", f->names[c]);
        }
    }
    return 0;
}

/* Seconds with a fraction, in nanoseconds. */
static bool read_seconds(struct str s, int64_t *ret) {
    struct quantity q;
    if (s.n == 0 || s.n > 30 || s.p[s.n - 1] < '0' || s.p[s.n - 1] > '9' ||
        quantity_parse(s, &q, NULL) != 0 || quantity_sign(q) < 0 ||
        q.whole > LIMIT_SIM_ARRIVALS_MS / 1000) {
        return false;
    }
    *ret = q.whole * NS_PER_SEC + q.nano;
    return true;
}

static bool read_moment(struct str s, int64_t *ret) {
    char text[32];
    if (s.n != 19 || s.p[10] != ' ' || !str_copy(s, text, sizeof text)) {
        return false;
    }
    text[10] = 'T';
    text[19] = 'Z';
    return time_parse(str_from(text, 20), ret, NULL) == 0;
}

static int read_queue(struct trace_reader *r, struct str s, struct trace_job *j) {
    struct str ns, name;
    bool both = str_cut(s, '/', &ns, &name);
    j->ns = both ? ns : STR("default");
    j->queue = both ? name : s;
    if (j->queue.n == 0 || j->ns.n == 0 || j->queue.n > LIMIT_LABEL || j->ns.n > LIMIT_LABEL) {
        return fail(r, "queue", "a name, or namespace/name");
    }
    for (size_t i = 0; i < s.n; i++) {
        if (!((s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= '0' && s.p[i] <= '9') ||
              memchr("-/.", s.p[i], 3))) {
            return fail(r, "queue", "lower-case letters, digits and '-'");
        }
    }
    return 0;
}

static int field(struct trace_reader *r, enum column c, struct str s, struct trace_job *j) {
    const char *name = c < COL_NONE ? forms[r->form].names[c] : "";
    switch (c) {
    case COL_SUBMIT:
        if (r->form == TRACE_PHILLY) {
            return read_moment(s, &j->submit_ns) ? 0
                                                 : fail(r, name, "a time like 2017-10-09 07:01:55");
        }
        return read_seconds(s, &j->submit_ns) ? 0 : fail(r, name, "seconds, not negative");
    case COL_DURATION:
        return read_seconds(s, &j->duration_ns) ? 0 : fail(r, name, "seconds, not negative");
    case COL_GPUS:
        return str_to_i64(s, &j->gpus) && j->gpus >= 0 && j->gpus <= LIMIT_SIM_PODS
                   ? 0
                   : fail(r, name, "a number of GPUs");
    case COL_PRIORITY:
        return str_to_i64(s, &j->priority) && j->priority >= INT32_MIN && j->priority <= INT32_MAX
                   ? 0
                   : fail(r, name, "a 32-bit integer");
    case COL_QUEUE:
        return read_queue(r, s, j);
    case COL_CLASS:
        j->class = s;
        return s.n <= LIMIT_LABEL ? 0 : fail(r, name, "at most 63 characters");
    default:
        return 0;
    }
}

static int push(struct trace_reader *r, const struct trace_job *j) {
    if (r->form == TRACE_PHILLY && (j->gpus == 0 || j->duration_ns == 0)) {
        r->out.left_out++;
        return 0;
    }
    if (r->out.n == LIMIT_SIM_WORKLOADS) {
        return err_set(r->err, ERR_TOO_LARGE, "line %zu: more than %d jobs", r->line,
                       LIMIT_SIM_WORKLOADS);
    }
    if (r->out.n == r->cap && ARENA_GROW(r->arena, r->out.v, r->cap) != 0) {
        return err_set(r->err, ERR_NOMEM, "out of memory");
    }
    r->out.v[r->out.n++] = *j;
    return 0;
}

static int row(struct trace_reader *r, struct str line) {
    struct trace_job j = {.line = r->line};
    struct str s;
    size_t n = 0;
    for (bool more = true; more;) { /* str_next would not tell of an empty last one */
        more = str_cut(line, ',', &s, &line);
        int e = n < r->n_fields ? field(r, r->fields[n], str_trim(s), &j) : 0;
        if (e) {
            return e;
        }
        n++;
    }
    if (n != r->n_fields) {
        return err_set(r->err, ERR_INVALID, "line %zu: expected %zu columns", r->line, r->n_fields);
    }
    return push(r, &j);
}

static int earlier_first(const void *a, const void *b) {
    const struct trace_job *x = a, *y = b;
    if (x->submit_ns != y->submit_ns) {
        return x->submit_ns < y->submit_ns ? -1 : 1;
    }
    return (x->line > y->line) - (x->line < y->line);
}

int trace_read(struct arena *a, enum trace_form form, struct str text, struct trace *ret,
               struct err *err) {
    struct trace_reader r = {.arena = a, .form = form, .err = err};
    struct str line;
    while (str_next(&text, '\n', &line)) {
        r.line++;
        line = str_trim(line);
        if (line.n == 0) {
            continue;
        }
        int e = r.n_fields ? row(&r, line) : header(&r, line);
        if (e) {
            return e;
        }
    }
    if (!r.n_fields) {
        return err_set(err, ERR_INVALID, "the trace is empty");
    }
    if (r.out.n) {
        qsort(r.out.v, r.out.n, sizeof *r.out.v, earlier_first);
    }
    for (size_t i = r.out.n; form == TRACE_PHILLY && i-- > 0;) {
        int64_t *at = &r.out.v[i].submit_ns;
        if (__builtin_sub_overflow(*at, r.out.v[0].submit_ns, at) ||
            *at > LIMIT_SIM_ARRIVALS_MS * NS_PER_MS) {
            return err_set(err, ERR_INVALID,
                           "line %zu: timestamp: expected at most 31 years after the first",
                           r.out.v[i].line);
        }
    }
    *ret = r.out;
    return 0;
}
