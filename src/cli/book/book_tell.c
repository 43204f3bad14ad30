/* book_tell: prints the outcome of a booking: on standard output what it is, on standard error why it is not. */
#include "cli/book/book_private.h"

#include "wire/text/time.h"

#define MIG_PREFIX "nvidia.com/mig-"

struct str book_resource_text(struct arena *a, struct str resource) {
    if (str_is(resource, "nvidia.com/gpu")) {
        return STR("GPU");
    }
    if (!str_starts(resource, STR(MIG_PREFIX))) {
        return resource;
    }
    struct str profile = str_skip(resource, sizeof MIG_PREFIX - 1);
    return str_ends(profile, STR(".me"))
               ? arena_f(a, "%.*s+me", STR_ARG(str_head(profile, profile.n - 3)))
               : profile;
}

struct str book_lines_text(struct cli *c, yyjson_val *lines) {
    struct buf b;
    yyjson_val *l;
    size_t i, n;
    buf_init(&b, 8192);
    yyjson_arr_foreach(lines, i, n, l) {
        struct str flavor = json_str_at(l, "flavor");
        buf_f(&b, "%s%lld x %.*s", i ? ", " : "", (long long)json_i64_at(l, "count", 1),
              STR_ARG(book_resource_text(&c->arena, json_str_at(l, "resource"))));
        if (flavor.n) {
            buf_f(&b, " (%.*s)", STR_ARG(flavor));
        }
    }
    struct str s = arena_str(&c->arena, buf_view(&b));
    buf_release(&b);
    return s;
}

static bool time_at(yyjson_val *v, const char *path, int64_t *ret) {
    int64_t ns;
    if (time_parse(json_str_at(v, path), &ns, NULL) != 0) {
        return false;
    }
    *ret = ns / 1000000000;
    return true;
}

bool book_times(yyjson_val *booking, int64_t *ret_start, int64_t *ret_end) {
    return (time_at(booking, "status.start", ret_start) ||
            time_at(booking, "spec.start", ret_start)) &&
           (time_at(booking, "status.end", ret_end) || time_at(booking, "spec.end", ret_end));
}

bool book_phase_bad(struct str phase) {
    return str_is(phase, "Rejected") || str_is(phase, "Expired") || str_is(phase, "Cancelled");
}

bool book_phase_over(struct str phase) {
    return book_phase_bad(phase) || str_is(phase, "Ended") || str_is(phase, "Released");
}

bool book_decided(yyjson_val *booking) {
    return json_str_at(booking, "status.phase").n > 0;
}

/* Whatever a server says does not steer the terminal. */
static struct str clean(struct cli *c, struct str text) {
    struct str copy = arena_str(&c->arena, text);
    if (copy.p) {
        cli_clean((char *)(uintptr_t)copy.p);
    }
    return copy;
}

/* ---- refusals ---- */

static void quoted(struct buf *out, struct str s) {
    bool plain = s.n > 0;
    for (size_t i = 0; i < s.n; i++) {
        char ch = s.p[i];
        plain = plain && ((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
                          (ch >= '0' && ch <= '9') || strchr("-_.:/+", ch));
    }
    if (plain) {
        buf_str(out, s);
        return;
    }
    buf_ch(out, '\'');
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\'') {
            buf_c(out, "'\\''");
        } else {
            buf_ch(out, s.p[i]);
        }
    }
    buf_ch(out, '\'');
}

/* The words of the command that stay the same: not what, and not when. */
static void rest_write(const struct cli_args *a, struct buf *out) {
    static const char *const changed[] = {"slice",  "gpu",    "gpus",   "memory",  "count",
                                          "from",   "to",     "for",    "date",    "dry-run",
                                          "flavor", "output", "repeat", "waitlist"};
    for (size_t i = 0; i < a->n_values; i++) {
        const struct cli_value *v = &a->values[i];
        bool skip = false;
        for (size_t k = 0; k < sizeof changed / sizeof *changed; k++) {
            skip = skip || strcmp(v->option->name, changed[k]) == 0;
        }
        if (!skip) {
            buf_f(out, " --%s", v->option->name);
            if (v->text) {
                buf_ch(out, ' ');
                quoted(out, str_of(v->text));
            }
        }
    }
}

static void lines_write(struct book *b, yyjson_val *lines, struct buf *out) {
    yyjson_val *l;
    size_t i, n;
    yyjson_arr_foreach(lines, i, n, l) {
        struct str resource = json_str_at(l, "resource"), flavor = json_str_at(l, "flavor");
        struct str text = clean(b->c, book_resource_text(&b->c->arena, resource));
        long long count = json_i64_at(l, "count", 1);
        if (str_is(resource, "nvidia.com/gpu")) {
            buf_f(out, " --gpu %lld", count);
        } else if (count > 1) {
            buf_f(out, " --slice %lldx%.*s", count, STR_ARG(text));
        } else {
            buf_f(out, " --slice %.*s", STR_ARG(text));
        }
        if (flavor.n && i == 0) {
            buf_c(out, " --flavor ");
            quoted(out, clean(b->c, flavor));
        }
    }
}

/* "'Mon 14:00'" is for people; a command gets what cannot be misread. */
static void moment_write(struct book *b, int64_t utc, struct buf *out) {
    char text[ZONE_TEXT_MAX];
    struct str s = zone_local_text(zone_local(b->now.zone, utc), text);
    buf_f(out, "%.*s", STR_ARG(str_head(s, s.n - 3)));
}

static void alternative_write(struct book *b, yyjson_val *v, yyjson_val *spec, struct buf *out) {
    yyjson_val *lines = json_get(v, STR("lines"));
    struct str text = clean(b->c, json_str_at(v, "text"));
    int64_t start, end;
    bool timed = time_at(v, "start", &start) && time_at(v, "end", &end);
    lines = yyjson_arr_size(lines) ? lines : json_path(spec, "lines");
    buf_f(out, "  %.*s", STR_ARG(json_str_at(v, "kind")));
    if (timed) {
        buf_f(out, ": %.*s, %.*s", STR_ARG(book_lines_text(b->c, lines)),
              STR_ARG(when_span(&b->now, start, end, &b->c->arena)));
    } else if (text.n) {
        buf_f(out, ": %.*s", STR_ARG(text));
    }
    buf_ch(out, '\n');
    if (timed && !str_is(json_str_at(v, "kind"), "Queue")) {
        buf_c(out, "    berth book");
        lines_write(b, lines, out);
        buf_c(out, " --from ");
        moment_write(b, start, out);
        buf_c(out, " --to ");
        moment_write(b, end, out);
        rest_write(&b->c->args, out);
        buf_ch(out, '\n');
    }
}

/* What there is at all, when nothing like it would fit. */
static void sizes_write(struct book *b, struct buf *out) {
    struct err before = b->c->err;
    yyjson_val *list = NULL, *v;
    struct buf said;
    size_t i, n;
    buf_init(&said, 4096);
    if (book_sizes(b, b->now.utc, &list) == 0) {
        yyjson_arr_foreach(json_get(list, STR("items")), i, n, v) {
            struct str text = book_resource_text(&b->c->arena, json_str_at(v, "resource"));
            struct str item = arena_f(&b->c->arena, " %.*s,", STR_ARG(clean(b->c, text)));
            if (json_i64_at(v, "total", 0) > 0 && !str_contains(buf_view(&said), item)) {
                buf_str(&said, item);
            }
        }
    }
    if (said.n) {
        buf_f(out, "There are%.*s\n", STR_ARG(str_head(buf_view(&said), said.n - 1)));
    }
    buf_release(&said);
    b->c->err = before;
}

void book_tell_refused(struct book *b, yyjson_val *status, yyjson_val *spec) {
    yyjson_val *list, *v;
    struct buf out;
    size_t i, n;
    buf_init(&out, 0);
    list = json_get(status, STR("refusals"));
    yyjson_arr_foreach(list, i, n, v) {
        struct str scope = json_str_at(v, "scope"), text = json_str_at(v, "text");
        if (str_is(json_str_at(v, "limit"), "capacity") &&
            str_contains(str_of(b->c->err.text), text)) {
            continue; /* it was said */
        }
        buf_f(&out, "  limit %.*s%s%.*s%s: %.*s\n", STR_ARG(json_str_at(v, "limit")),
              scope.n ? " (" : "", STR_ARG(scope), scope.n ? ")" : "", STR_ARG(clean(b->c, text)));
    }
    list = json_get(status, STR("conflicts"));
    yyjson_arr_foreach(list, i, n, v) {
        int64_t start, end;
        struct str text = clean(b->c, json_str_at(v, "text"));
        bool timed = time_at(v, "start", &start) && time_at(v, "end", &end);
        buf_f(&out, "  taken %.*s%s%.*s\n",
              STR_ARG(timed ? when_span(&b->now, start, end, &b->c->arena) : STR("")),
              text.n ? ": " : "", STR_ARG(text));
    }
    list = json_get(status, STR("alternatives"));
    yyjson_arr_foreach(list, i, n, v) {
        buf_c(&out, i ? "" : "What would fit:\n");
        alternative_write(b, v, spec, &out);
    }
    if (n == 0) {
        sizes_write(b, &out);
    }
    if (!cli_flag(&b->c->args, "waitlist") &&
        yyjson_arr_size(json_get(status, STR("refusals"))) == 0) {
        buf_c(&out, "Or wait for a place: the same with --waitlist\n");
    }
    fwrite(out.p, 1, out.n, stderr);
    buf_release(&out);
}

/* ---- what it is ---- */

static void places_write(struct book *b, yyjson_val *plan, struct buf *out) {
    yyjson_val *p;
    size_t i, n, said = 0;
    yyjson_arr_foreach(plan, i, n, p) {
        struct str node = json_str_at(p, "node"), flavor = json_str_at(p, "flavor");
        struct str profile = json_str_at(p, "profile");
        if (node.n && said < 4) {
            buf_f(out, "%s%.*s GPU %lld", said++ ? ", " : "  on ", STR_ARG(clean(b->c, node)),
                  (long long)json_i64_at(p, "gpuIndex", 0));
            if (profile.n) {
                buf_f(out, " slice %lld", (long long)json_i64_at(p, "start", 0));
            }
        } else if (!node.n && flavor.n && said == 0) {
            buf_f(out, "  of %.*s", STR_ARG(clean(b->c, flavor)));
            said = 4;
        }
    }
    if (n > 4 && said == 4 && json_str_at(yyjson_arr_get_first(plan), "node").n) {
        buf_f(out, " and %zu more", n - 4);
    }
    buf_c(out, said ? "\n" : "");
}

static void next_write(struct book *b, yyjson_val *booking, struct buf *out) {
    struct str phase = json_str_at(booking, "status.phase"),
               name = json_str_at(booking, "metadata.name");
    struct str message = clean(b->c, json_str_at(booking, "status.message"));
    int64_t until;
    if (str_is(phase, "PendingApproval")) {
        buf_c(out, "  the place is kept until somebody approves it");
        if (time_at(booking, "status.deadline", &until)) {
            buf_f(out, ", at the latest %.*s", STR_ARG(when_text(&b->now, until, &b->c->arena)));
        }
        buf_ch(out, '\n');
    } else if (str_is(phase, "Waitlisted")) {
        int64_t position = json_i64_at(booking, "status.waitlist.position", 0);
        buf_c(out, "  it does not fit now and waits for a place");
        if (position > 0) {
            buf_f(out, ": number %lld in line", (long long)position);
        }
        buf_ch(out, '\n');
    } else if (str_is(phase, "Offered")) {
        buf_f(out, "  a place is free: berth book claim %.*s -n %.*s\n", STR_ARG(name),
              STR_ARG(json_str_at(booking, "metadata.namespace")));
    } else if (message.n) {
        buf_f(out, "  %.*s\n", STR_ARG(message));
    }
}

/* How to run something in it. */
static void use_write(struct book *b, yyjson_val *booking, struct buf *out) {
    struct str phase = json_str_at(booking, "status.phase");
    struct str queue = json_str_at(booking, "status.objects.localQueue");
    yyjson_val *line = yyjson_arr_get_first(json_path(booking, "spec.lines"));
    struct str resource = json_str_at(line, "resource");
    if (!str_is(phase, "Confirmed") && !str_is(phase, "Preparing") && !str_is(phase, "Active")) {
        return;
    }
    if (!queue.n) {
        queue = arena_f(&b->c->arena, "rsv-%.*s", STR_ARG(json_str_at(booking, "metadata.name")));
    }
    struct str text = clean(b->c, book_resource_text(&b->c->arena, resource));
    buf_f(out, "  to use it: berth submit -n %.*s --queue %.*s ",
          STR_ARG(json_str_at(booking, "metadata.namespace")), STR_ARG(queue));
    if (str_is(text, "GPU")) {
        buf_f(out, "--gpus %lld -- COMMAND\n", (long long)json_i64_at(line, "count", 1));
    } else {
        buf_f(out, "--slice %.*s -- COMMAND\n", STR_ARG(text));
    }
}

int book_tell(struct book *b, yyjson_val *booking) {
    struct str phase = json_str_at(booking, "status.phase"),
               name = json_str_at(booking, "metadata.name");
    struct str purpose = clean(b->c, json_str_at(booking, "spec.purpose"));
    struct str hours = json_str_at(booking, "status.cost.committed");
    int64_t start, end;
    struct buf out;
    if (book_phase_bad(phase)) {
        struct str why = clean(b->c, json_str_at(booking, "status.message"));
        fprintf(stderr, "berth book: reservation/%.*s %.*s: %.*s\n", STR_ARG(name), STR_ARG(phase),
                STR_ARG(why));
        err_set(&b->c->err, ERR_CONFLICT, "%.*s", STR_ARG(why));
        book_tell_refused(b, json_get(booking, STR("status")), json_get(booking, STR("spec")));
        return CLI_FAILED;
    }
    if (cli_print(b->c, booking)) {
        return CLI_OK;
    }
    buf_init(&out, 0);
    buf_f(&out, "reservation/%.*s %.*s\n", STR_ARG(name), STR_ARG(phase.n ? phase : STR("made")));
    if (book_times(booking, &start, &end)) {
        buf_f(&out, "  %.*s, %.*s\n", STR_ARG(when_span(&b->now, start, end, &b->c->arena)),
              STR_ARG(b->zone));
    }
    buf_f(&out, "  %.*s in project %.*s%s%.*s\n",
          STR_ARG(clean(b->c, book_lines_text(b->c, json_path(booking, "spec.lines")))),
          STR_ARG(json_str_at(booking, "metadata.namespace")), purpose.n ? ": " : "",
          STR_ARG(purpose));
    places_write(b, json_path(booking, "status.plan"), &out);
    hours = hours.n ? hours : json_str_at(booking, "status.cost.quoted");
    if (hours.n) {
        buf_f(&out, "  %.*s GPU hours\n", STR_ARG(hours));
    }
    next_write(b, booking, &out);
    use_write(b, booking, &out);
    cli_out(&out);
    buf_release(&out);
    return CLI_OK;
}
