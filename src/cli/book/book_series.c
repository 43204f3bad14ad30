/* book_series: `berth book --repeat` (a series of bookings) and `berth book feed` (the address of a calendar). */
#include "cli/book/book_private.h"

#include "base/limits.h"
#include "base/mem.h"
#include "wire/text/time.h"

enum { ASK_EVERY_MS = 200, WAIT_MS = 30000, SHOWN = 10 };

/* ---- series ---- */

static struct str rule_of(const char *text) {
    static const char *const short_forms[][2] = {
        {"daily", "FREQ=DAILY"},
        {"weekdays", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"},
        {"weekly", "FREQ=WEEKLY"},
        {"monthly", "FREQ=MONTHLY"},
    };
    struct str s = str_of(text), prefix = STR("RRULE:");
    for (size_t i = 0; i < sizeof short_forms / sizeof *short_forms; i++) {
        if (str_eq_nocase(s, str_of(short_forms[i][0]))) {
            return str_of(short_forms[i][1]);
        }
    }
    return str_starts(s, prefix) ? str_skip(s, prefix.n) : s;
}

/* The local start on another day: what a series leaves out. */
static int except_write(struct book *b, const struct book_want *w, struct buf *out) {
    int64_t local = zone_local(b->now.zone, w->start.utc), day;
    char text[ZONE_TEXT_MAX];
    const char *except;
    for (size_t i = 0; (except = cli_nth(&b->c->args, "except", i)); i++) {
        if (when_day(&b->now, "except", except, &day, &b->c->err) != 0) {
            struct err e = b->c->err;
            return cli_usage(b->c, "%s", e.text);
        }
        int64_t at = zone_local(b->now.zone, day + 12 * 3600);
        at = at - at % 86400 + local % 86400;
        buf_f(out, "%s\"%.*s\"", i ? "," : ",\"exdates\":[", STR_ARG(zone_local_text(at, text)));
        buf_c(out, cli_nth(&b->c->args, "except", i + 1) ? "" : "]");
    }
    return CLI_OK;
}

static int series_write(struct book *b, const struct book_want *w, struct buf *out) {
    static const char *const policies[][2] = {
        {"reject", "Reject"}, {"skip", "Skip"}, {"waitlist", "Waitlist"}};
    const char *name = b->c->args.n_args ? b->c->args.args[0] : NULL;
    const char *conflict = cli_value(&b->c->args, "on-conflict");
    char text[ZONE_TEXT_MAX];
    buf_f(out,
          "{\"apiVersion\":\"" BOOK_API "\",\"kind\":\"ReservationSeries\",\"metadata\":{\"%s\":",
          name ? "name" : "generateName");
    buf_json(out, str_of(name ? name : "series-"));
    buf_c(out, "},\"spec\":{\"timeZone\":");
    buf_json(out, b->zone);
    buf_f(out, ",\"start\":\"%.*s\",\"duration\":\"%lldm\",\"rrule\":",
          STR_ARG(zone_local_text(zone_local(b->now.zone, w->start.utc), text)),
          (long long)(w->end.utc - w->start.utc) / 60);
    buf_json(out, rule_of(cli_value(&b->c->args, "repeat")));
    for (size_t i = 0; conflict && i < sizeof policies / sizeof *policies; i++) {
        if (strcmp(conflict, policies[i][0]) == 0) {
            buf_f(out, ",\"conflictPolicy\":\"%s\"", policies[i][1]);
        }
    }
    int code = except_write(b, w, out);
    buf_c(out, ",\"template\":{");
    book_want_write(b, w, out);
    buf_c(out, "}}}");
    return code;
}

static void occurrence_write(struct book *b, yyjson_val *o, struct buf *out) {
    int64_t start, end;
    struct str phase = json_str_at(o, "phase"), why = json_str_at(o, "message");
    if (time_parse(json_str_at(o, "start"), &start, NULL) == 0 &&
        time_parse(json_str_at(o, "end"), &end, NULL) == 0) {
        buf_f(out, "  %.*s  %.*s%s%.*s\n",
              STR_ARG(when_span(&b->now, start / 1000000000, end / 1000000000, &b->c->arena)),
              STR_ARG(phase.n ? phase : json_str_at(o, "reason")), why.n ? ": " : "", STR_ARG(why));
    }
}

static int series_tell(struct book *b, yyjson_val *series) {
    yyjson_val *list = json_path(series, "status.occurrences"), *o;
    yyjson_val *skipped = json_path(series, "status.skipped");
    struct str message = json_str_at(series, "status.message");
    struct buf out;
    size_t i, n;
    if (cli_print(b->c, series)) {
        return CLI_OK;
    }
    buf_init(&out, 0);
    buf_f(&out, "reservationseries/%.*s: %zu bookings, %.*s, %.*s\n",
          STR_ARG(json_str_at(series, "metadata.name")), yyjson_arr_size(list),
          STR_ARG(book_lines_text(b->c, json_path(series, "spec.template.lines"))),
          STR_ARG(b->zone));
    yyjson_arr_foreach(list, i, n, o) {
        if (i < SHOWN) {
            occurrence_write(b, o, &out);
        }
    }
    if (yyjson_arr_size(list) > SHOWN) {
        buf_f(&out, "  and %zu more: berth bookings\n", yyjson_arr_size(list) - SHOWN);
    }
    yyjson_arr_foreach(skipped, i, n, o) {
        buf_c(&out, i ? "" : "left out:\n");
        occurrence_write(b, o, &out);
    }
    char *text = buf_take(&out, &n);
    for (char *p = text; p && p < text + n; p++) {
        *p = (unsigned char)*p < ' ' && *p != '\n' ? '?' : *p;
    }
    fwrite(text ? text : "", 1, text ? n : 0, stdout);
    mem_free(text);
    if (yyjson_arr_size(list) == 0) {
        err_set(&b->c->err, ERR_CONFLICT, "%.*s",
                STR_ARG(message.n ? message : STR("none of the series was booked")));
        return cli_fail(b->c, NULL);
    }
    return CLI_OK;
}

/* Until `member` is there, and the number `seen` says that it is about this state of the object. */
static int wait_for(struct book *b, struct str path, int64_t state, const char *seen,
                    const char *member, yyjson_val **ret) {
    for (int waited = 0;; waited += ASK_EVERY_MS) {
        int r = cli_get(b->c, path, ret);
        if (r != 0) {
            return r;
        }
        if (json_path(*ret, member) && json_i64_at(*ret, seen, 0) >= state) {
            return 0;
        }
        if (waited >= WAIT_MS) {
            return err_set(&b->c->err, ERR_AGAIN,
                           "it was written, and nobody has looked at it yet");
        }
        cli_sleep_ms(ASK_EVERY_MS);
    }
}

int book_series(struct book *b) {
    struct cli *c = b->c;
    struct book_want w;
    struct buf body;
    yyjson_val *made = NULL;
    if (book_want_read(b, true, &w, &c->err) != 0) {
        struct err e = c->err;
        return cli_usage(c, "%s", e.text);
    }
    if (w.end.utc - w.start.utc > 366 * 86400 || w.start.now) {
        return cli_usage(c, "--repeat needs a time to start, as --from 9:00");
    }
    int code = cli_connect(c);
    code = code ? code : book_want_settle(b, &w);
    buf_init(&body, LIMIT_OBJECT_BYTES);
    code = code ? code : series_write(b, &w, &body);
    if (code == CLI_OK &&
        book_request(c, "POST", book_path(b, "reservationseries", (struct str){0}), buf_view(&body),
                     NULL, &made) != 0) {
        code = cli_fail(c, NULL);
    }
    buf_release(&body);
    if (code != CLI_OK) {
        return code;
    }
    struct str path = book_path(b, "reservationseries", json_str_at(made, "metadata.name"));
    int64_t generation = json_i64_at(made, "metadata.generation", 1);
    int r = wait_for(b, path, generation, "status.observedGeneration", "status.horizon", &made);
    return r == 0 ? series_tell(b, made) : cli_fail(c, NULL);
}

/* ---- feed ---- */

/* Who asks, as the server knows him; empty when it does not say. */
static struct str who_am_i(struct cli *c) {
    yyjson_val *review = NULL;
    struct str none = {0};
    struct str path =
        cli_path(c, "authentication.k8s.io/v1", "selfsubjectreviews", none, none, NULL);
    struct str body = STR("{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":"
                          "\"SelfSubjectReview\"}");
    int r = book_request(c, "POST", path, body, NULL, &review);
    return r == 0 ? json_str_at(review, "status.userInfo.username") : none;
}

/* The asker's own feed of this scope, so that asking again gives the same address. */
static int feed_find(struct book *b, struct str scope, struct str of, yyjson_val **ret) {
    yyjson_val *list = NULL, *f;
    struct str me = who_am_i(b->c);
    size_t i, n;
    int r = cli_get(b->c, book_path(b, "calendarfeeds", (struct str){0}), &list);
    if (r != 0) {
        return r;
    }
    yyjson_arr_foreach(json_get(list, STR("items")), i, n, f) {
        if (me.n && str_eq(json_str_at(f, "status.user"), me) &&
            str_eq(json_str_at(f, "spec.scope"), scope) &&
            str_eq(json_str_at(f, "spec.resource"), of)) {
            *ret = f;
            return 0;
        }
    }
    *ret = NULL;
    return 0;
}

static int feed_make(struct book *b, struct str scope, struct str of, yyjson_val **ret) {
    struct buf body;
    buf_init(&body, LIMIT_OBJECT_BYTES);
    buf_f(&body,
          "{\"apiVersion\":\"" BOOK_API "\",\"kind\":\"CalendarFeed\",\"metadata\":{"
          "\"generateName\":\"%.*s-\"},\"spec\":{\"scope\":\"%.*s\"",
          STR_ARG(scope), STR_ARG(scope));
    if (of.n) {
        buf_c(&body, ",\"resource\":");
        buf_json(&body, of);
    }
    buf_c(&body, "}}");
    int r = book_request(b->c, "POST", book_path(b, "calendarfeeds", (struct str){0}),
                         buf_view(&body), NULL, ret);
    buf_release(&body);
    return r;
}

/* The next revision: what the old address said, it says no more. */
static int feed_renew(struct book *b, yyjson_val *feed, yyjson_val **ret) {
    struct str body = arena_f(&b->c->arena, "{\"spec\":{\"revision\":%lld}}",
                              (long long)json_i64_at(feed, "spec.revision", 0) + 1);
    return book_request(b->c, "PATCH",
                        book_path(b, "calendarfeeds", json_str_at(feed, "metadata.name")), body,
                        "application/merge-patch+json", ret);
}

/* On a cluster its own API server has no calendars: the dashboard has. */
static void feed_tell(struct cli *c, struct str path) {
    yyjson_val *calendar = NULL;
    int r = book_request(c, "GET", path, (struct str){0}, NULL, &calendar);
    bool here = r != ERR_NOT_FOUND && r != ERR_FORBIDDEN && r != ERR_UNAUTHORIZED;
    printf("%.*s%.*s\n", STR_ARG(here ? kube_server(c->client) : STR("")), STR_ARG(path));
    if (!here) {
        fprintf(stderr,
                "Put the address of the dashboard before it (`berth operate` serves it).\n");
    }
    fprintf(stderr, "Whoever knows this address reads the calendar; `berth book feed --new` makes "
                    "another one.\n");
}

int book_feed(struct book *b) {
    struct cli *c = b->c;
    const char *scope = cli_value(&c->args, "scope"), *of = cli_value(&c->args, "resource");
    yyjson_val *feed = NULL;
    if ((scope && strcmp(scope, "resource") == 0) != (of != NULL)) {
        return cli_usage(c, "--scope resource and --resource NAME go together");
    }
    int code = cli_connect(c);
    if (code != CLI_OK) {
        return code;
    }
    struct str wanted = scope ? str_of(scope) : STR("own");
    int r = feed_find(b, wanted, str_of(of), &feed);
    if (r == 0 && feed == NULL) {
        r = feed_make(b, wanted, str_of(of), &feed);
    } else if (r == 0 && cli_flag(&c->args, "new")) {
        r = feed_renew(b, feed, &feed);
    }
    int64_t revision = r == 0 ? json_i64_at(feed, "spec.revision", 0) : 0;
    struct str path =
        r == 0 ? book_path(b, "calendarfeeds", json_str_at(feed, "metadata.name")) : STR("");
    r = r ? r : wait_for(b, path, revision, "status.revision", "status.path", &feed);
    if (r != 0) {
        return cli_fail(c, NULL);
    }
    if (!cli_print(c, feed)) {
        feed_tell(c, json_str_at(feed, "status.path"));
    }
    return CLI_OK;
}
