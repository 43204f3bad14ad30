/* book: `berth book`: a place for a while, and what can be done with one. Its files: see book_int.h. */
#include "cli/book/book_private.h"

#include "base/limits.h"
#include "base/zoneinfo.h"

enum { ASK_EVERY_MS = 150, WAIT_MS = 30000, MAKE_MS = 15000 };

/* ---- the asker's clock ---- */

int book_begin(struct cli *c, struct book *b) {
    char name[ZONEINFO_NAME_MAX];
    struct timespec ts;
    const char *given = cli_value(&c->args, "zone");
    *b = (struct book){.c = c};
    b->zones = zones_new(&(struct zone_source){zoneinfo_read, zoneinfo_version, NULL});
    b->zone = arena_str(&c->arena, given ? str_of(given) : zoneinfo_local(name));
    clock_gettime(CLOCK_REALTIME, &ts);
    b->now.utc = ts.tv_sec;
    if (b->zones == NULL) {
        err_set(&c->err, ERR_NOMEM, "no memory");
        return cli_fail(c, NULL);
    }
    if (zones_get(b->zones, b->zone, &b->now.zone, &c->err) != 0) {
        struct err e = c->err;
        if (given) {
            return cli_usage(c, "--zone: %s", e.text);
        }
        fprintf(stderr, "the zone of this clock is not known (%s): times are in UTC\n", e.text);
        b->zone = STR("UTC");
        b->now.zone = zone_of_utc();
    }
    return CLI_OK;
}

void book_end(struct book *b) {
    zones_free(b->zones);
}

/* ---- requests ---- */

struct book_answer {
    struct cli *c;
    struct buf body;
    bool done;
    int code;
};

static void on_answer(void *ctx, const struct kube_reply *r) {
    struct book_answer *a = ctx;
    a->done = true;
    a->code = r->code;
    a->c->err = r->err;
    a->c->err.code = r->code;
    buf_str(&a->body, r->body);
    loop_stop(a->c->loop);
}

int book_request(struct cli *c, const char *method, struct str path, struct str body,
                 const char *content_type, yyjson_val **ret) {
    struct book_answer a = {.c = c};
    struct kube_request r = {.method = method,
                             .path = path,
                             .body = body,
                             .content_type = content_type,
                             .done = on_answer,
                             .ctx = &a};
    yyjson_doc *doc = NULL;
    *ret = NULL;
    c->err = (struct err){0};
    buf_init(&a.body, 64 << 20);
    int code = kube_send(c->client, &r, NULL, &c->err);
    if (code == 0) {
        loop_run(c->loop);
        code = a.done ? a.code : err_set(&c->err, ERR_GONE, "interrupted");
        if (a.done && json_parse(&c->arena, arena_str(&c->arena, buf_view(&a.body)), &doc,
                                 code ? NULL : &c->err) == 0) {
            *ret = yyjson_doc_get_root(doc);
        } else if (code == 0) {
            code = c->err.code;
        }
    }
    buf_release(&a.body);
    return code;
}

struct str book_path(struct book *b, const char *plural, struct str name) {
    return cli_path(b->c, BOOK_API, plural, b->c->project, name, NULL);
}

int book_patch(struct book *b, struct str name, struct str spec, yyjson_val **ret) {
    struct buf body;
    buf_init(&body, LIMIT_OBJECT_BYTES);
    buf_f(&body, "{\"spec\":{%.*s}}", STR_ARG(spec));
    int r = book_request(b->c, "PATCH", book_path(b, "reservations", name), buf_view(&body),
                         "application/merge-patch+json", ret);
    buf_release(&body);
    return r;
}

/* Its time has begun, and its queue is being made: no trouble yet. */
static bool being_made(yyjson_val *booking) {
    return str_is(json_str_at(booking, "status.phase"), "Degraded") &&
           str_is(json_str_at(booking, "status.reason"), "NotReadyAtStart");
}

int book_wait(struct book *b, struct str name, int64_t generation, yyjson_val **ret) {
    for (int waited = 0;; waited += ASK_EVERY_MS) {
        int r = cli_get(b->c, book_path(b, "reservations", name), ret);
        if (r != 0) {
            return r;
        }
        if (book_phase_over(json_str_at(*ret, "status.phase")) ||
            (book_decided(*ret) &&
             json_i64_at(*ret, "status.observedGeneration", 0) >= generation &&
             (waited >= MAKE_MS || !being_made(*ret)))) {
            return 0;
        }
        if (waited >= WAIT_MS) {
            return err_set(&b->c->err, ERR_AGAIN,
                           "reservation/%.*s was written, and nobody has decided on it yet: "
                           "`berth bookings` will tell",
                           STR_ARG(name));
        }
        cli_sleep_ms(ASK_EVERY_MS);
    }
}

/* ---- a new one ---- */

static void head_write(struct book *b, const char *kind, const char *name, struct buf *out) {
    buf_f(out,
          "{\"apiVersion\":\"" BOOK_API "\",\"kind\":\"%s\",\"metadata\":{\"namespace\":", kind);
    buf_json(out, b->c->project);
    buf_c(out, name ? ",\"name\":" : ",\"generateName\":");
    buf_json(out, name ? str_of(name) : STR("book-"));
    buf_c(out, "},\"spec\":{");
}

int book_ask_check(struct book *b, struct str spec, yyjson_val **ret) {
    struct buf body;
    buf_init(&body, LIMIT_OBJECT_BYTES);
    head_write(b, "ReservationCheck", "check", &body);
    buf_f(&body, "%.*s}}", STR_ARG(spec));
    int r = book_request(b->c, "POST", book_path(b, "reservationchecks", (struct str){0}),
                         buf_view(&body), NULL, ret);
    buf_release(&body);
    return r;
}

/* The server's message without its beginning, "Operation cannot be fulfilled on ... \"book-x\": ", and, where they are
 * told better, without the alternatives. */
static void plain_message(struct err *e, bool alternatives) {
    static const char begins[] = "Operation cannot be fulfilled on ",
                      instead[] = "; instead there is";
    char *from = strncmp(e->text, begins, sizeof begins - 1) == 0 ? strstr(e->text, "\": ") : NULL;
    char *end = alternatives ? strstr(e->text, instead) : NULL;
    if (end) {
        *end = '\0';
    }
    if (from) {
        memmove(e->text, from + 3, strlen(from + 3) + 1);
    }
}

/* The server said no: why, and what would fit. */
int book_refused(struct book *b, struct str spec, const char *doing) {
    struct err why = b->c->err;
    yyjson_val *check = NULL;
    bool by_plan = why.code == ERR_CONFLICT || why.code == ERR_INVALID;
    bool told = by_plan && spec.n && book_ask_check(b, spec, &check) == 0 &&
                !json_bool_at(check, "status.fits", false);
    plain_message(&why, told && yyjson_arr_size(json_path(check, "status.alternatives")) > 0);
    b->c->err = why;
    int code = cli_fail(b->c, doing);
    if (told) {
        book_tell_refused(b, json_get(check, STR("status")), json_get(check, STR("spec")));
    }
    return code;
}

/* What was refused after it was written is as if it had never been. */
static int outcome(struct book *b, yyjson_val *made) {
    struct str name = json_str_at(made, "metadata.name"), phase;
    yyjson_val *booking = NULL, *gone = NULL;
    if (book_wait(b, name, json_i64_at(made, "metadata.generation", 1), &booking) != 0) {
        return cli_fail(b->c, NULL);
    }
    phase = json_str_at(booking, "status.phase");
    int code = book_tell(b, booking);
    if (str_is(phase, "Rejected")) {
        (void)book_request(b->c, "DELETE", book_path(b, "reservations", name), (struct str){0},
                           NULL, &gone);
    }
    return code;
}

static int make(struct book *b, struct str spec, const char *name) {
    struct buf body;
    yyjson_val *made = NULL;
    buf_init(&body, LIMIT_OBJECT_BYTES);
    head_write(b, "Reservation", name, &body);
    buf_f(&body, "%.*s}}", STR_ARG(spec));
    struct str path = book_path(b, "reservations", (struct str){0});
    path = cli_path_with(b->c, path, "fieldManager", STR("berth-book"));
    int r = book_request(b->c, "POST", path, buf_view(&body), NULL, &made);
    buf_release(&body);
    if (r == ERR_EXISTS && name) {
        err_set(&b->c->err, r, "there is a booking \"%s\" already in project \"%.*s\"", name,
                STR_ARG(b->c->project));
        return cli_fail(b->c, NULL);
    }
    return r == 0 ? outcome(b, made) : book_refused(b, spec, NULL);
}

static void tell_note(struct book *b, const struct when *w) {
    struct str note = when_note(&b->now, w, &b->c->arena);
    if (note.n) {
        fprintf(stderr, "%.*s\n", STR_ARG(note));
    }
}

/* The words of the command line as the members of a spec; 0, or an exit code after it was told. */
static int spec_of(struct book *b, struct buf *spec) {
    struct book_want w;
    if (book_want_read(b, true, &w, &b->c->err) != 0) {
        struct err e = b->c->err;
        return cli_usage(b->c, "%s", e.text);
    }
    tell_note(b, &w.start);
    tell_note(b, &w.end);
    int code = cli_connect(b->c);
    code = code ? code : book_want_settle(b, &w);
    if (code == CLI_OK) {
        book_want_write(b, &w, spec);
        book_times_write(b, &w, spec);
    }
    return code;
}

static int book_new(struct book *b) {
    const char *name = b->c->args.n_args ? b->c->args.args[0] : NULL;
    struct buf spec;
    if (b->c->args.n_args > 1) {
        return cli_usage(b->c, "unexpected argument \"%s\"", b->c->args.args[1]);
    }
    buf_init(&spec, LIMIT_OBJECT_BYTES);
    int code = spec_of(b, &spec);
    code = code ? code : make(b, buf_view(&spec), name);
    buf_release(&spec);
    return code;
}

/* ---- would it fit? ---- */

/* -o yaml after --dry-run: what would be made, fit for a repository. */
static bool print_objects(struct book *b, yyjson_val *check) {
    struct buf text;
    yyjson_doc *doc;
    if (b->c->format != FORMAT_JSON && b->c->format != FORMAT_YAML) {
        return false;
    }
    buf_init(&text, 0);
    buf_c(&text, "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":");
    json_write(&text, json_path(check, "status.objects"));
    buf_ch(&text, '}');
    bool ok = json_path(check, "status.objects") &&
              json_parse(&b->c->arena, buf_view(&text), &doc, NULL) == 0;
    buf_release(&text);
    return ok && cli_print(b->c, yyjson_doc_get_root(doc));
}

static void tell_fits(struct book *b, yyjson_val *check) {
    struct str phase = json_str_at(check, "status.phase");
    struct str hours = json_str_at(check, "status.cost.quoted");
    int64_t start, end;
    struct buf out;
    buf_init(&out, 0);
    buf_f(&out, "it fits: it would be %.*s\n", STR_ARG(phase.n ? phase : STR("Confirmed")));
    if (book_times(check, &start, &end)) {
        buf_f(&out, "  %.*s, %.*s\n", STR_ARG(when_span(&b->now, start, end, &b->c->arena)),
              STR_ARG(b->zone));
    }
    buf_f(&out, "  %.*s in project %.*s\n",
          STR_ARG(book_lines_text(b->c, json_path(check, "spec.lines"))), STR_ARG(b->c->project));
    if (hours.n) {
        buf_f(&out, "  %.*s GPU hours\n", STR_ARG(hours));
    }
    cli_out(&out);
    buf_release(&out);
}

/* Whether the server has checks at all: what was not found may be the project as well. */
static bool check_of_server(struct book *b) {
    struct err before = b->c->err;
    yyjson_val *list = NULL, *r;
    bool found = false;
    size_t i, n;
    int code = cli_get(b->c, STR("/apis/" BOOK_API), &list);
    yyjson_arr_foreach(json_get(list, STR("resources")), i, n, r) {
        found = found || str_is(json_str_at(r, "name"), "reservationchecks");
    }
    b->c->err = before;
    return code != 0 || found;
}

static int ask(struct book *b, struct str spec, bool dry_run) {
    yyjson_val *check = NULL;
    if (book_ask_check(b, spec, &check) != 0) {
        if (b->c->err.code == ERR_NOT_FOUND && !check_of_server(b)) {
            err_set(&b->c->err, ERR_NOT_FOUND,
                    "this server does not say beforehand what fits: "
                    "`berth up` does, and the dashboard of `berth operate`");
        }
        return cli_fail(b->c, NULL);
    }
    bool fits = json_bool_at(check, "status.fits", false);
    bool printed = (dry_run && fits && print_objects(b, check)) ||
                   (!(dry_run && fits) && cli_print(b->c, check));
    if (fits) {
        if (!printed) {
            tell_fits(b, check);
        }
        return CLI_OK;
    }
    if (!printed) {
        char text[400];
        str_copy(str_head(json_str_at(check, "status.message"), sizeof text - 1), text,
                 sizeof text);
        cli_clean(text);
        fprintf(stderr, "it does not fit: %s\n", text);
        err_set(&b->c->err, ERR_CONFLICT, "%s", text);
        book_tell_refused(b, json_get(check, STR("status")), json_get(check, STR("spec")));
    }
    return CLI_FAILED;
}

int book_check(struct book *b) {
    struct buf spec;
    buf_init(&spec, LIMIT_OBJECT_BYTES);
    int code = spec_of(b, &spec);
    code = code ? code : ask(b, buf_view(&spec), cli_flag(&b->c->args, "dry-run"));
    buf_release(&spec);
    return code;
}

/* ---- the verb ---- */

static int approve(struct book *b) {
    return book_decide(b, "approve");
}

static int reject(struct book *b) {
    return book_decide(b, "reject");
}

#define WANTS                                                                                      \
    " slice gpu gpus memory count flavor same-node from to for date zone class exclusive"          \
    " end-policy purpose user group no-show auto-extend "

/* Each word with the options it has. */
static const struct word {
    const char *name;
    int (*run)(struct book *b);
    const char *options;
    bool named; /* NAME must follow */
} words[] = {
    {"check", book_check, WANTS, false},
    {"extend", book_extend, " by to date zone ", true},
    {"cancel", book_cancel, " reason zone ", true},
    {"approve", approve, " reason zone ", true},
    {"reject", reject, " reason zone ", true},
    {"claim", book_claim, " zone ", true},
    {"feed", book_feed, " scope resource new zone ", false},
};
static const char new_options[] = WANTS " waitlist confirm-offer dry-run ";
static const char series_options[] = WANTS " repeat except on-conflict waitlist ";

static int check_options(struct cli *c, const char *word, const char *list) {
    for (size_t i = 0; i < c->args.n_values; i++) {
        const struct cli_option *o = c->args.values[i].option;
        char name[64];
        size_t n;
        const struct cli_option *common = cli_common_options(c->args.verb, &n);
        bool shared = o >= common && o < common + n;
        snprintf(name, sizeof name, " %s ", o->name);
        if (!shared && strstr(list, name) == NULL) {
            return cli_usage(c, "--%s does not go with %s", o->name, word);
        }
    }
    return CLI_OK;
}

static int run_word(struct book *b, const struct word *w) {
    struct cli *c = b->c;
    int code = check_options(c, w->name, w->options);
    if (code == CLI_OK && w->named && c->args.n_args < 2) {
        return cli_usage(c, "%s: expected NAME; `berth bookings` lists them", w->name);
    }
    if (code == CLI_OK && c->args.n_args > (w->named ? 2u : 1u)) {
        return cli_usage(c, "unexpected argument \"%s\"", c->args.args[w->named ? 2 : 1]);
    }
    return code ? code : w->run(b);
}

static int run_new(struct book *b) {
    struct cli *c = b->c;
    bool series = cli_value(&c->args, "repeat") != NULL;
    int code = check_options(c, series ? "--repeat" : "a new booking",
                             series ? series_options : new_options);
    if (code == CLI_OK && c->args.n_args == 0 && c->args.n_values == 0) {
        return cli_usage(c,
                         "what, and when? as: berth book --slice 2g.35gb --from 14:00 --to 18:00");
    }
    return code                            ? code
           : series                        ? book_series(b)
           : cli_flag(&c->args, "dry-run") ? book_check(b)
                                           : book_new(b);
}

static int run(struct cli *c) {
    struct book b;
    const struct word *word = NULL;
    for (size_t i = 0; c->args.n_args && i < sizeof words / sizeof *words; i++) {
        word = strcmp(words[i].name, c->args.args[0]) == 0 ? &words[i] : word;
    }
    int code = book_begin(c, &b);
    code = code ? code : word ? run_word(&b, word) : run_new(&b);
    book_end(&b);
    return code;
}

static const char *const classes[] = {"standard", "production", "teaching", "maintenance", NULL};
static const char *const ends[] = {"demote", "drain", "hard", NULL};
static const char *const no_shows[] = {"warn", "release", NULL};
static const char *const scopes[] = {"own", "project", "resource", "freebusy", NULL};
static const char *const conflicts[] = {"reject", "skip", "waitlist", NULL};

static const struct cli_option options[] = {
    {"slice", 's', "PROFILE", "a slice of a GPU, as 2g.35gb, or 2x2g.35gb", NULL, true},
    {"gpu", 'g', "N", "whole GPUs", NULL, false},
    {"gpus", 0, "N", "the same as --gpu", NULL, false},
    {"memory", 'm', "AMOUNT", "the smallest slice with so much GPU memory, as 40Gi", NULL, false},
    {"count", 0, "N", "so many of it", NULL, false},
    {"flavor", 0, "NAME", "type of GPU; more of them: any will do, the first is best", NULL, true},
    {"same-node", 0, NULL, "all of it on one node", NULL, false},
    {"from", 'f', "TIME", "as 14:00, \"tomorrow 9:00\", \"fri 14:00\", +2h; else now", NULL, false},
    {"to", 't', "TIME", "as 18:00, the next one after the start", NULL, false},
    {"for", 0, "LENGTH", "instead of --to, as 90m, 4h, 2d", NULL, false},
    {"date", 'd', "DAY", "of --from: today, tomorrow, fri, 2026-11-24, +3d", NULL, false},
    {"zone", 0, "ZONE", "time zone, as Europe/Warsaw; else that of this clock", NULL, false},
    {"purpose", 0, "TEXT", "what for; your project sees it", NULL, false},
    {"class", 0, "CLASS", "whose turn is first, and what needs approval", classes, false},
    {"exclusive", 0, NULL, "lend nothing of it while it is idle", NULL, false},
    {"end-policy", 0, "WORD", "what happens to work at the end", ends, false},
    {"no-show", 0, "WORD", "what happens when nobody comes", no_shows, false},
    {"auto-extend", 0, "LENGTH", "goes on so long while it is used and nobody wants it", NULL,
     false},
    {"user", 0, "NAME", "for whom; else for you", NULL, false},
    {"group", 0, "NAME", "for a group", NULL, false},
    {"waitlist", 'w', NULL, "when it does not fit, wait for a place", NULL, false},
    {"confirm-offer", 0, NULL, "ask before a place from the waitlist is taken", NULL, false},
    {"dry-run", 0, NULL, "only say what would come of it; -o yaml: what would be made", NULL,
     false},
    {"repeat", 0, "RULE", "daily, weekdays, weekly, monthly, or 'FREQ=WEEKLY;BYDAY=MO;COUNT=8'",
     NULL, false},
    {"except", 0, "DAY", "a day on which it does not recur", NULL, true},
    {"on-conflict", 0, "WORD", "with --repeat: when one of them does not fit", conflicts, false},
    {"by", 0, "LENGTH", "extend: so much longer", NULL, false},
    {"reason", 0, "TEXT", "cancel, approve, reject: why", NULL, false},
    {"scope", 0, "WORD", "feed: which bookings", scopes, false},
    {"resource", 0, "NAME", "feed: of scope resource, as nvidia.com/gpu", NULL, false},
    {"new", 0, NULL, "feed: a new address; the old one stops working", NULL, false},
};

const struct cli_verb cli_book = {
    .name = "book",
    .arguments =
        "[NAME] | check | extend NAME | cancel NAME | approve NAME | reject NAME | claim NAME "
        "| feed",
    .words = "check extend cancel approve reject claim feed",
    .summary = "book a GPU or a slice of one for a time",
    .about =
        "Books GPUs, or slices of them, for a time: then they are there for your project, in a "
        "queue\n"
        "of their own. Waits for the answer: Confirmed, or why not and what would fit instead.\n\n"
        "Times are those of your clock (TZ, /etc/localtime, or --zone). A time that clocks skip "
        "or\n"
        "show twice is named; a length is elapsed time. The start is now unless --from says "
        "more.\n\n"
        "  check    says whether it would fit, what it costs, and books nothing\n"
        "  extend   a later end, --by 1h or --to 20:00, in the same place\n"
        "  cancel   gives the place back\n"
        "  approve, reject   for approvers: the place is kept until they decide\n"
        "  claim    accepts what was offered to a booking on the waitlist\n"
        "  feed     the address of a calendar of your bookings, for calendar programs",
    .examples =
        "  berth book --slice 2g.35gb --from 14:00 --to 18:00\n"
        "  berth book --gpu 4 --from 'fri 20:00' --for 12h -n team-a --purpose 'paper run'\n"
        "  berth book --memory 40Gi --date tomorrow --from 9 --to 17 night-shift\n"
        "  berth book --slice 1g.18gb --from 9:00 --for 2h --repeat weekdays\n"
        "  berth book --gpu 1 --from 14:00 --for 4h --dry-run -o yaml\n"
        "  berth book extend book-x7k2p --by 1h\n"
        "  berth book cancel book-x7k2p\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .max_args = 3,
    .run = run,
};
