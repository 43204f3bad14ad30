/* bookings: `berth bookings`: a table of bookings: owner, resources, time. */
#include <stdlib.h>

#include "base/map.h"
#include "cli/book/book_private.h"
#include "cli/kit/table.h"

struct row {
    yyjson_val *v;
    int64_t start, end;
    bool over;
};

/* What goes on first, then what is to come, by start; what is over last. */
static int by_start(const void *a, const void *b) {
    const struct row *x = a, *y = b;
    if (x->over != y->over) {
        return x->over ? 1 : -1;
    }
    if (x->start != y->start) {
        return x->start < y->start ? -1 : 1;
    }
    int by =
        str_cmp(json_str_at(x->v, "metadata.namespace"), json_str_at(y->v, "metadata.namespace"));
    return by ? by
              : str_cmp(json_str_at(x->v, "metadata.name"), json_str_at(y->v, "metadata.name"));
}

static bool wanted(const struct cli *c, const struct row *r) {
    if (r->over && !cli_flag(&c->args, "all")) {
        return false;
    }
    for (size_t i = 0; i < c->args.n_args; i++) {
        if (str_is(json_str_at(r->v, "metadata.name"), c->args.args[i])) {
            return true;
        }
    }
    return c->args.n_args == 0;
}

static size_t rows_of(struct book *b, yyjson_val *list, struct row **ret) {
    yyjson_val *items = json_get(list, STR("items")), *v;
    struct row *rows = ARENA_ARRAY(&b->c->arena, struct row, yyjson_arr_size(items) + 1);
    size_t i, max, n = 0;
    yyjson_arr_foreach(items, i, max, v) {
        if (rows == NULL) {
            break;
        }
        rows[n] = (struct row){.v = v, .over = book_phase_over(json_str_at(v, "status.phase"))};
        (void)book_times(v, &rows[n].start, &rows[n].end);
        n += wanted(b->c, &rows[n]);
    }
    if (n > 1) {
        qsort(rows, n, sizeof *rows, by_start);
    }
    *ret = rows;
    return rows ? n : 0;
}

static enum table_style style_of(struct str phase) {
    static const struct {
        const char *phase;
        enum table_style style;
    } styles[] = {
        {"Confirmed", STYLE_PLAIN}, {"Active", STYLE_GOOD},          {"Preparing", STYLE_GOOD},
        {"Ending", STYLE_WAIT},     {"PendingApproval", STYLE_WAIT}, {"Waitlisted", STYLE_WAIT},
        {"Offered", STYLE_WAIT},    {"Degraded", STYLE_BAD},         {"Rejected", STYLE_BAD}};
    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++) {
        if (str_is(phase, styles[i].phase)) {
            return styles[i].style;
        }
    }
    return STYLE_DIM;
}

/* "in 2h", "3h left" */
static struct str distance(struct book *b, const struct row *r) {
    struct arena *a = &b->c->arena;
    bool runs = r->start <= b->now.utc && b->now.utc < r->end;
    if (r->over || b->now.utc >= r->end) {
        return STR("over");
    }
    return runs ? arena_f(a, "%.*s left", STR_ARG(when_length_text(r->end - b->now.utc, a)))
                : when_distance(&b->now, r->start, a);
}

static struct str where_of(struct book *b, yyjson_val *plan) {
    struct buf out;
    yyjson_val *p;
    size_t i, n;
    buf_init(&out, 4096);
    yyjson_arr_foreach(plan, i, n, p) {
        struct str node = json_str_at(p, "node"), flavor = json_str_at(p, "flavor");
        if (i == 3 && n > 4) {
            buf_f(&out, ", %zu more", n - 3);
            break;
        }
        buf_c(&out, i ? ", " : "");
        if (node.n) {
            buf_f(&out, "%.*s/%lld", STR_ARG(node), (long long)json_i64_at(p, "gpuIndex", 0));
            if (json_str_at(p, "profile").n) {
                buf_f(&out, ":%lld", (long long)json_i64_at(p, "start", 0));
            }
        } else {
            buf_str(&out, flavor);
        }
    }
    struct str s = arena_str(&b->c->arena, buf_view(&out));
    buf_release(&out);
    return s;
}

static struct str owner_of(yyjson_val *v) {
    struct str name = json_str_at(v, "spec.beneficiary.name");
    yyjson_val *notes = json_path(v, "metadata.annotations");
    return name.n ? name : json_str(json_get(notes, STR("berth.dev/requested-by")));
}

static void add_row(struct book *b, struct table *t, const struct row *r, bool projects) {
    struct cli *c = b->c;
    struct str phase = json_str_at(r->v, "status.phase");
    size_t col = 0;
    table_row(t);
    if (projects) {
        table_set(t, col++, STYLE_PLAIN, json_str_at(r->v, "metadata.namespace"));
    }
    table_set(t, col++, STYLE_PLAIN, json_str_at(r->v, "metadata.name"));
    table_set(t, col++, STYLE_PLAIN, when_span(&b->now, r->start, r->end, &c->arena));
    table_set(t, col++, STYLE_PLAIN, distance(b, r));
    table_set(t, col++, STYLE_PLAIN, book_lines_text(c, json_path(r->v, "spec.lines")));
    table_set(t, col++, style_of(phase), phase.n ? phase : STR("undecided"));
    table_set(t, col++, STYLE_PLAIN, owner_of(r->v));
    if (c->format == FORMAT_WIDE) {
        struct str hours = json_str_at(r->v, "status.cost.committed");
        table_set(t, col++, STYLE_PLAIN, json_str_at(r->v, "spec.class"));
        table_set(t, col++, STYLE_PLAIN, hours);
        table_set(t, col++, STYLE_PLAIN, where_of(b, json_path(r->v, "status.plan")));
        table_set(t, col++, STYLE_PLAIN, json_str_at(r->v, "status.objects.localQueue"));
        table_set(t, col++, STYLE_PLAIN, json_str_at(r->v, "status.message"));
    }
    table_set(t, col, STYLE_PLAIN, json_str_at(r->v, "spec.purpose"));
}

static void print_table(struct book *b, const struct row *rows, size_t n, bool projects) {
    static const char *const narrow[] = {"PROJECT", "NAME",  "WHEN", "",
                                         "WHAT",    "PHASE", "FOR",  "PURPOSE"};
    static const char *const full[] = {"PROJECT", "NAME",    "WHEN",   "",          "WHAT",
                                       "PHASE",   "FOR",     "CLASS",  "GPU HOURS", "WHERE",
                                       "QUEUE",   "MESSAGE", "PURPOSE"};
    bool wide = b->c->format == FORMAT_WIDE;
    size_t columns = wide ? 13 : 8, skip = projects ? 0 : 1;
    struct table t;
    struct buf out;
    table_init(&t, &b->c->arena, (wide ? full : narrow) + skip, columns - skip);
    for (size_t i = 0; i < n; i++) {
        add_row(b, &t, &rows[i], projects);
    }
    buf_init(&out, 0);
    table_write(&t, b->c->colour, wide ? 0 : b->c->columns, &out);
    cli_out(&out);
    buf_release(&out);
}

static int print_list(struct book *b, const struct row *rows, size_t n) {
    struct buf text;
    buf_init(&text, 0);
    buf_c(&text, "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[");
    for (size_t i = 0; i < n; i++) {
        yyjson_mut_doc *d = json_mut_copy(&b->c->arena, rows[i].v);
        yyjson_mut_val *root = d ? yyjson_mut_doc_get_root(d) : NULL;
        json_mset_str(d, root, "apiVersion", STR(BOOK_API));
        json_mset_str(d, root, "kind", STR("Reservation"));
        buf_c(&text, i ? "," : "");
        json_write_mut(&text, root);
    }
    buf_c(&text, "]}");
    return cli_print_text(b->c, &text);
}

/* Names that were given must be there. */
static int check_names(struct book *b, const struct row *rows, size_t n) {
    for (size_t i = 0; i < b->c->args.n_args; i++) {
        bool found = false;
        for (size_t k = 0; k < n; k++) {
            found = found || str_is(json_str_at(rows[k].v, "metadata.name"), b->c->args.args[i]);
        }
        if (!found) {
            err_set(&b->c->err, ERR_NOT_FOUND, "there is no booking \"%s\"%s", b->c->args.args[i],
                    cli_flag(&b->c->args, "all") ? "" : ", or it is over (--all)");
            return cli_fail(b->c, NULL);
        }
    }
    return CLI_OK;
}

static void tell_nothing(struct cli *c, bool projects) {
    if (projects) {
        fprintf(stderr, "nothing is booked\n");
    } else {
        fprintf(stderr, "nothing is booked in project \"%.*s\"; -A shows all projects\n",
                STR_ARG(c->project));
    }
}

static int show(struct book *b) {
    struct cli *c = b->c;
    bool projects = cli_flag(&c->args, "all-projects");
    yyjson_val *list = NULL;
    struct row *rows;
    struct str ns = projects ? (struct str){0} : c->project;
    if (cli_get(c, cli_path(c, BOOK_API, "reservations", ns, (struct str){0}, NULL), &list) != 0) {
        return cli_fail(c, NULL);
    }
    size_t n = rows_of(b, list, &rows);
    if (n == 0 && !projects && cli_no_project(c)) {
        return cli_fail(c, NULL);
    }
    int code = check_names(b, rows, n);
    if (code != CLI_OK) {
        return code;
    }
    if (c->format != FORMAT_TABLE && c->format != FORMAT_WIDE) {
        return print_list(b, rows, n);
    }
    if (n == 0) {
        tell_nothing(c, projects);
        return CLI_OK;
    }
    print_table(b, rows, n, projects);
    return CLI_OK;
}

static int run(struct cli *c) {
    struct book b;
    int code = book_begin(c, &b);
    code = code ? code : cli_connect(c);
    code = code ? code : show(&b);
    book_end(&b);
    return code;
}

static const struct cli_option options[] = {
    {"all-projects", 'A', NULL, "those of every project", NULL, false},
    {"all", 'a', NULL, "also what is over", NULL, false},
    {"zone", 0, "ZONE", "time zone, as Europe/Warsaw; else that of this clock", NULL, false},
};

const struct cli_verb cli_bookings = {
    .name = "bookings",
    .arguments = "[NAME...]",
    .summary = "what is booked, when, and for whom",
    .about = "Lists bookings, what goes on first, in the times of your clock.",
    .examples =
        "  berth bookings\n  berth bookings -A -o wide\n"
        "  berth bookings --all --zone America/New_York\n  berth bookings book-x7k2p -o yaml\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .max_args = CLI_ARGS_MAX,
    .run = run,
};
