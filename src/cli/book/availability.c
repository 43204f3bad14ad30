/*
 * availability: `berth availability`: what is free when, a row for each kind of GPU and slice, a character for each
 * step of time: how many are free all through it, '+' for ten and more.
 */
#include "cli/book/book_private.h"
#include "cli/kit/table.h"
#include "wire/text/time.h"

enum { STEPS_MIN = 4, STEPS_MAX = 96, NAME_COLUMNS = 46, MARK = 6 };

struct availability_span {
    int64_t from, to, step; /* seconds */
};

static const int64_t steps[] = {15 * 60,  30 * 60,  3600,      2 * 3600,
                                3 * 3600, 6 * 3600, 12 * 3600, 86400};

static int usage(struct book *b) {
    struct err e = b->c->err;
    return cli_usage(b->c, "%s", e.text);
}

/* The finest step with which it all fits into a line. */
static int64_t step_for(const struct cli *c, int64_t length) {
    int64_t room = c->columns > NAME_COLUMNS + STEPS_MIN ? c->columns - NAME_COLUMNS : 48;
    size_t i = 0;
    room = room > STEPS_MAX ? STEPS_MAX : room;
    while (i + 1 < sizeof steps / sizeof *steps && length / steps[i] > room) {
        i++;
    }
    return steps[i];
}

static int span_of(struct book *b, struct availability_span *ret) {
    const struct cli_args *a = &b->c->args;
    const char *from = cli_value(a, "from"), *to = cli_value(a, "to"), *date = cli_value(a, "date");
    const char *length = cli_value(a, "for"), *step = cli_value(a, "step");
    struct when start = {.utc = b->now.utc}, end;
    struct when_ask ask = {.option = "from", .day = date, .past = true};
    int64_t seconds = 86400;
    int r = from   ? when_parse(&b->now, &ask, from, &start, &b->c->err)
            : date ? when_day(&b->now, "date", date, &start.utc, &b->c->err)
                   : 0;
    if (r == 0 && length) {
        r = when_length("for", length, &seconds, &b->c->err);
    }
    end.utc = start.utc + seconds;
    if (r == 0 && to && length == NULL) {
        struct when_ask until = {.option = "to", .after = &start, .past = true};
        r = when_parse(&b->now, &until, to, &end, &b->c->err);
    }
    *ret = (struct availability_span){start.utc, end.utc, step_for(b->c, end.utc - start.utc)};
    if (r == 0 && step) {
        r = when_length("step", step, &ret->step, &b->c->err);
    }
    if (r == 0 && (ret->to <= ret->from || (ret->to - ret->from) / ret->step > 1000)) {
        r = err_set(&b->c->err, ERR_BAD_REQUEST, "from %.*s on, in at most 1000 steps",
                    STR_ARG(when_text(&b->now, ret->from, &b->c->arena)));
    }
    if (r != 0) {
        return usage(b);
    }
    /* Steps begin where clocks do. */
    int64_t local = zone_local(b->now.zone, ret->from);
    ret->from -= local % (ret->step < 3600 ? ret->step : ret->step < 86400 ? 3600 : 86400);
    ret->to += (ret->step - (ret->to - ret->from) % ret->step) % ret->step;
    return CLI_OK;
}

/* ---- what is asked for ---- */

static bool wanted(struct book *b, yyjson_val *v) {
    const struct cli_args *a = &b->c->args;
    struct str resource = json_str_at(v, "resource"), flavor = json_str_at(v, "flavor");
    const char *name;
    bool any = cli_value(a, "slice") == NULL && !cli_flag(a, "gpu"),
         of = cli_value(a, "flavor") == NULL;
    any = any || (cli_flag(a, "gpu") && str_is(resource, "nvidia.com/gpu"));
    for (size_t i = 0; (name = cli_nth(a, "slice", i)); i++) {
        any = any || str_eq(resource, book_slice(&b->c->arena, str_of(name)));
    }
    for (size_t i = 0; (name = cli_nth(a, "flavor", i)); i++) {
        of = of || str_is(flavor, name);
    }
    return any && of && json_i64_at(v, "total", 1) > 0;
}

static int check_slices(struct book *b) {
    const char *name;
    for (size_t i = 0; (name = cli_nth(&b->c->args, "slice", i)); i++) {
        if (book_slice(&b->c->arena, str_of(name)).n == 0) {
            return cli_usage(b->c, "--slice: expected a MIG profile as 2g.35gb, not \"%s\"", name);
        }
    }
    return CLI_OK;
}

/* ---- the timeline ---- */

static char mark(int64_t free) {
    return free < 0 ? '?' : free > 9 ? '+' : (char)('0' + free);
}

static bool slot_times(yyjson_val *slot, int64_t *start, int64_t *end) {
    int64_t a, z;
    if (time_parse(json_str_at(slot, "start"), &a, NULL) != 0 ||
        time_parse(json_str_at(slot, "end"), &z, NULL) != 0) {
        return false;
    }
    *start = a / 1000000000;
    *end = z / 1000000000;
    return true;
}

/* The least that is free in [from, to); -1: nobody said. */
static int64_t least(yyjson_val *slots, int64_t from, int64_t to) {
    yyjson_val *s;
    int64_t start, end, free = -1;
    size_t i, n;
    yyjson_arr_foreach(slots, i, n, s) {
        if (slot_times(s, &start, &end) && start < to && end > from) {
            int64_t v = json_i64_at(s, "free", 0);
            free = free < 0 || v < free ? v : free;
        }
    }
    return free;
}

static struct str line_of(struct book *b, const struct availability_span *s, yyjson_val *slots) {
    struct buf out;
    buf_init(&out, 4096);
    for (int64_t at = s->from; at < s->to; at += s->step) {
        buf_ch(&out, mark(least(slots, at > b->now.utc ? at : b->now.utc, at + s->step)));
    }
    struct str line = arena_str(&b->c->arena, buf_view(&out));
    buf_release(&out);
    return line;
}

/* "14:00       18:00 ", a mark where one fits: hours, or days when steps are long. */
static struct str ruler(struct book *b, const struct availability_span *s) {
    struct buf out;
    int64_t next = 0, before = -1;
    buf_init(&out, 4096);
    for (int64_t at = s->from, i = 0; at < s->to; at += s->step, i++) {
        char text[ZONE_TEXT_MAX];
        int64_t clock = zone_local(b->now.zone, at), day = clock / 86400;
        struct str local = zone_local_text(clock, text);
        bool days = s->step >= 6 * 3600;
        struct str word = days ? str_head(str_skip(local, 5), 5) : str_head(str_skip(local, 11), 5);
        bool round = at == s->from || (days ? day != before : str_ends(word, STR(":00")));
        before = day;
        if (i >= next && round) {
            buf_str(&out, word);
            next = i + MARK;
        } else if (out.n <= (size_t)i) {
            buf_ch(&out, ' ');
        }
    }
    struct str line = arena_str(&b->c->arena, str_trim(buf_view(&out)));
    buf_release(&out);
    return line;
}

static enum table_style style_of(int64_t free, int64_t total) {
    return free <= 0 ? STYLE_BAD : free < total ? STYLE_WAIT : STYLE_GOOD;
}

static struct str memory_of(struct book *b, yyjson_val *v) {
    double gib = yyjson_get_num(json_get(v, STR("memoryGiB")));
    return gib > 0 ? arena_f(&b->c->arena, "%.4g GiB", gib) : (struct str){0};
}

/* -o wide: what is taken, and by whom where that may be seen. */
static void busy_write(struct book *b, yyjson_val *v, struct buf *out) {
    yyjson_val *list = json_get(v, STR("busy")), *t;
    struct str what = book_resource_text(&b->c->arena, json_str_at(v, "resource"));
    int64_t start, end;
    size_t i, n;
    yyjson_arr_foreach(list, i, n, t) {
        struct str name = json_str_at(t, "name"), owner = json_str_at(t, "owner");
        struct str purpose = json_str_at(t, "purpose"), reason = json_str_at(t, "reason");
        if (!slot_times(t, &start, &end)) {
            continue;
        }
        buf_f(
            out, "  %.*s  %lld x %.*s  %.*s", STR_ARG(when_span(&b->now, start, end, &b->c->arena)),
            (long long)json_i64_at(t, "count", 1), STR_ARG(what), STR_ARG(json_str_at(t, "phase")));
        if (name.n) {
            buf_f(out, "  %.*s/%.*s", STR_ARG(json_str_at(t, "namespace")), STR_ARG(name));
        }
        buf_f(out, "%s%.*s", owner.n ? " of " : "", STR_ARG(owner));
        purpose = purpose.n ? purpose : reason;
        buf_f(out, "%s%.*s\n", purpose.n ? ": " : "", STR_ARG(purpose));
    }
}

static void busy_print(struct book *b, yyjson_val *items) {
    struct buf out;
    yyjson_val *v;
    size_t i, n;
    buf_init(&out, 0);
    yyjson_arr_foreach(items, i, n, v) {
        if (wanted(b, v)) {
            busy_write(b, v, &out);
        }
    }
    for (i = 0; i < out.n; i++) {
        out.p[i] = (unsigned char)out.p[i] < ' ' && out.p[i] != '\n' ? '?' : out.p[i];
    }
    if (out.n) {
        fputs("\ntaken:\n", stdout);
    }
    cli_out(&out);
    buf_release(&out);
}

static int nothing(struct cli *c) {
    err_set(&c->err, ERR_NOT_FOUND, "there is nothing like that to book");
    return cli_fail(c, NULL);
}

static int print_table(struct book *b, const struct availability_span *s, yyjson_val *items) {
    struct cli *c = b->c;
    struct str marks = ruler(b, s);
    const char *first = s->from > b->now.utc ? "FIRST" : "NOW";
    const char *headers[] = {"WHAT", "TYPE", "MEMORY", first, "OF", marks.p ? marks.p : ""};
    struct table t;
    struct buf out;
    yyjson_val *v;
    size_t i, n;
    table_init(&t, &c->arena, headers, sizeof headers / sizeof *headers);
    yyjson_arr_foreach(items, i, n, v) {
        if (!wanted(b, v)) {
            continue;
        }
        yyjson_val *slots = json_get(v, STR("slots"));
        int64_t total = json_i64_at(v, "total", 0),
                at = b->now.utc > s->from ? b->now.utc : s->from;
        int64_t now = least(slots, at, at + 1);
        table_row(&t);
        table_set(&t, 0, STYLE_PLAIN, book_resource_text(&c->arena, json_str_at(v, "resource")));
        table_set(&t, 1, STYLE_PLAIN, json_str_at(v, "flavor"));
        table_set(&t, 2, STYLE_PLAIN, memory_of(b, v));
        table_set(&t, 3, style_of(now, total),
                  arena_f(&c->arena, "%lld", (long long)(now < 0 ? 0 : now)));
        table_set(&t, 4, STYLE_PLAIN, arena_f(&c->arena, "%lld", (long long)total));
        table_set(&t, 5, STYLE_PLAIN, line_of(b, s, slots));
    }
    if (t.n_rows == 0) {
        return nothing(c);
    }
    buf_init(&out, 0);
    table_write(&t, c->colour, 0, &out);
    buf_f(&out, "free in steps of %.*s, %.*s, %.*s\n",
          STR_ARG(when_length_text(s->step, &c->arena)),
          STR_ARG(when_span(&b->now, s->from, s->to, &c->arena)), STR_ARG(b->zone));
    cli_out(&out);
    buf_release(&out);
    if (c->format == FORMAT_WIDE) {
        busy_print(b, items);
    }
    return CLI_OK;
}

/* For -o json and yaml: those that are asked for. */
static int print_list(struct book *b, yyjson_val *list) {
    struct cli *c = b->c;
    struct buf text;
    yyjson_val *v;
    size_t i, n, written = 0;
    buf_init(&text, 0);
    buf_c(&text, "{\"apiVersion\":\"" BOOK_API "\",\"kind\":\"AvailabilityList\",\"items\":[");
    yyjson_arr_foreach(json_get(list, STR("items")), i, n, v) {
        if (wanted(b, v)) {
            buf_c(&text, written++ ? "," : "");
            json_write(&text, v);
        }
    }
    buf_c(&text, "]}");
    if (written == 0 && (cli_nth(&c->args, "slice", 0) || cli_nth(&c->args, "flavor", 0))) {
        buf_release(&text);
        return nothing(c);
    }
    return cli_print_text(c, &text);
}

static int show(struct book *b) {
    struct cli *c = b->c;
    struct availability_span s;
    yyjson_val *list = NULL;
    struct str none = {0};
    char step[TIME_TEXT_MAX];
    int code = check_slices(b);
    code = code ? code : span_of(b, &s);
    code = code ? code : cli_connect(c);
    if (code != CLI_OK) {
        return code;
    }
    struct str path = cli_path(c, BOOK_API, "availabilities", none, none, NULL);
    path = cli_path_with(c, path, "from", when_rfc(s.from, &c->arena));
    path = cli_path_with(c, path, "to", when_rfc(s.to, &c->arena));
    path = cli_path_with(c, path, "step", duration_text(s.step * 1000000000, step));
    if (cli_get(c, path, &list) != 0) {
        if (c->err.code == ERR_NOT_FOUND) {
            err_set(&c->err, ERR_NOT_FOUND,
                    "this server does not say what is free: `berth up` does, "
                    "and the dashboard of `berth operate`");
        }
        return cli_fail(c, NULL);
    }
    bool table = c->format == FORMAT_TABLE || c->format == FORMAT_WIDE;
    return table ? print_table(b, &s, json_get(list, STR("items"))) : print_list(b, list);
}

static int run(struct cli *c) {
    struct book b;
    int code = book_begin(c, &b);
    code = code ? code : show(&b);
    book_end(&b);
    return code;
}

static const struct cli_option options[] = {
    {"slice", 's', "PROFILE", "only this slice, as 2g.35gb", NULL, true},
    {"gpu", 'g', NULL, "only whole GPUs", NULL, false},
    {"flavor", 0, "NAME", "only this type of GPU", NULL, true},
    {"from", 'f', "TIME", "as 14:00, \"tomorrow 9:00\"; else now", NULL, false},
    {"to", 't', "TIME", "as 18:00, \"fri 18:00\"; else a day later", NULL, false},
    {"for", 0, "LENGTH", "instead of --to, as 12h or 7d", NULL, false},
    {"date", 'd', "DAY", "of --from, or that whole day: tomorrow, fri, 2026-11-24", NULL, false},
    {"step", 0, "LENGTH", "of time for each character; else what fits", NULL, false},
    {"zone", 0, "ZONE", "time zone, as Europe/Warsaw; else that of this clock", NULL, false},
};

const struct cli_verb cli_availability = {
    .name = "availability",
    .arguments = "",
    .summary = "what is free to book, and when",
    .about =
        "Shows what is free to book: for each kind of GPU and slice a line of time, in which each\n"
        "character says how many could be booked for all of that step ('+': ten or more). Sizes\n"
        "share the same cards: what is booked of one is gone from the others.",
    .examples = "  berth availability\n  berth availability --date tomorrow --slice 2g.35gb\n"
                "  berth availability --from 'mon 8:00' --for 5d --step 6h\n"
                "  berth availability -o json\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .run = run,
};
