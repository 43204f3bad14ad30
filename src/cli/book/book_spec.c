/* book_spec: the options of `berth book` to what a Reservation wants. */
#include "cli/book/book_private.h"

#include "base/clock.h"
#include "cli/job/job_spec.h"
#include "wire/text/quantity.h"
#include "wire/text/time.h"

#define GPU_RESOURCE "nvidia.com/gpu"

enum { COUNT_MAX = 4096, GIB = 1 << 30 };

/* ---- what ---- */

struct str book_slice(struct arena *a, struct str profile) {
    char name[SLICE_TEXT_MAX];
    return job_spec_slice(profile, name) ? arena_str(a, str_of(name)) : (struct str){0};
}

static int add_line(struct book_want *w, struct str resource, int64_t count, struct err *err) {
    for (size_t i = 0; i < w->n_lines; i++) {
        if (str_eq(w->lines[i].resource, resource)) {
            w->lines[i].count += count;
            return 0;
        }
    }
    if (w->n_lines == BOOK_LINES_MAX) {
        return err_set(err, ERR_BAD_REQUEST, "at most %d kinds of slices in one booking",
                       BOOK_LINES_MAX);
    }
    w->lines[w->n_lines++] = (struct book_line){resource, count};
    return 0;
}

static int count_of(const struct cli_args *a, const char *option, int64_t otherwise, int64_t *ret,
                    struct err *err) {
    const char *text = cli_value(a, option);
    *ret = otherwise;
    if (text && (!str_to_i64(str_of(text), ret) || *ret < 1 || *ret > COUNT_MAX)) {
        return err_set(err, ERR_BAD_REQUEST, "--%s: expected a number from 1, not \"%s\"", option,
                       text);
    }
    return 0;
}

/* "2g.35gb", "3x2g.35gb" */
static int add_slice(struct book *b, struct book_want *w, const char *text, int64_t count,
                     struct err *err) {
    struct str head, profile = str_of(text);
    int64_t times = 1;
    if (str_cut(profile, 'x', &head, &profile) &&
        (!str_to_i64(head, &times) || times < 1 || times > COUNT_MAX)) {
        profile = (struct str){0};
    } else if (profile.n == 0) {
        profile = str_of(text);
    }
    struct str resource = book_slice(&b->c->arena, profile);
    if (resource.n == 0) {
        return err_set(err, ERR_BAD_REQUEST,
                       "--slice: expected a MIG profile as 2g.35gb, or 2x2g.35gb, not \"%s\"",
                       text);
    }
    return add_line(w, resource, times * count, err);
}

static int read_memory(const struct cli_args *a, struct book_want *w, struct err *err) {
    const char *text = cli_value(a, "memory");
    struct quantity q;
    if (text == NULL) {
        return 0;
    }
    char amount[32];
    if (!job_spec_memory(str_of(text), amount) || quantity_parse(str_of(amount), &q, NULL) != 0 ||
        quantity_value(q) < 1) {
        return err_set(err, ERR_BAD_REQUEST,
                       "--memory: expected GPU memory as 35GB or 40Gi, not \"%s\"", text);
    }
    w->memory_gb = strchr(amount, 'i') == NULL;
    w->memory = quantity_value(q);
    if (w->memory < GIB / 16) {
        return err_set(err, ERR_BAD_REQUEST, "--memory: %s is hardly any; %sGi is meant, perhaps",
                       text, text);
    }
    return 0;
}

static int read_lines(struct book *b, struct book_want *w, struct err *err) {
    const struct cli_args *a = &b->c->args;
    const char *slice, *gpus = cli_value(a, "gpu") ? "gpu" : "gpus";
    int64_t count, n;
    int r = count_of(a, "count", 1, &count, err);
    r = r ? r : read_memory(a, w, err);
    for (size_t i = 0; r == 0 && (slice = cli_nth(a, "slice", i)); i++) {
        r = add_slice(b, w, slice, count, err);
    }
    if (r == 0 && cli_value(a, gpus)) {
        r = count_of(a, gpus, 1, &n, err);
        r = r ? r : add_line(w, STR(GPU_RESOURCE), n * count, err);
    }
    w->count = count;
    if (r == 0 && w->memory && w->n_lines) {
        return err_set(err, ERR_BAD_REQUEST,
                       "--memory chooses the slice: without --slice and --gpu");
    }
    if (r == 0 && !w->memory && !w->n_lines) {
        return err_set(err, ERR_BAD_REQUEST,
                       "what? --slice 2g.35gb, --gpu N or --memory 40Gi says it");
    }
    return r;
}

/* ---- when ---- */

static int read_times(struct book *b, struct book_want *w, struct err *err) {
    const struct cli_args *a = &b->c->args;
    const char *from = cli_value(a, "from"), *to = cli_value(a, "to"),
               *length = cli_value(a, "for");
    struct when_ask start = {.option = "from", .day = cli_value(a, "date")};
    int64_t seconds;
    if (from == NULL && start.day) {
        return err_set(err, ERR_BAD_REQUEST, "--date needs --from, as --from 9:00");
    }
    if (to && length) {
        return err_set(err, ERR_BAD_REQUEST, "--to and --for: one of them only");
    }
    if (to == NULL && length == NULL) {
        return err_set(err, ERR_BAD_REQUEST, "until when? --to 18:00 or --for 4h says it");
    }
    int r = when_parse(&b->now, &start, from ? from : "now", &w->start, err);
    if (r == 0 && to) {
        struct when_ask end = {.option = "to", .after = &w->start};
        r = when_parse(&b->now, &end, to, &w->end, err);
    } else if (r == 0) {
        r = when_length("for", length, &seconds, err);
        w->end = (struct when){.utc = w->start.utc + (r == 0 ? seconds : 0)};
    }
    if (r == 0 && w->end.utc <= w->start.utc) {
        return err_set(err, ERR_BAD_REQUEST, "it ends before it starts: %.*s",
                       STR_ARG(when_span(&b->now, w->end.utc, w->start.utc, &b->c->arena)));
    }
    return r;
}

int book_want_read(struct book *b, bool times, struct book_want *ret, struct err *err) {
    *ret = (struct book_want){0};
    int r = read_lines(b, ret, err);
    return r == 0 && times ? read_times(b, ret, err) : r;
}

/* ---- what only the server knows ---- */

static bool flavor_wanted(const struct cli_args *a, struct str flavor) {
    const char *name = cli_nth(a, "flavor", 0);
    bool any = name == NULL;
    for (size_t i = 0; (name = cli_nth(a, "flavor", i)); i++) {
        any = any || str_is(flavor, name);
    }
    return any;
}

static double number_at(yyjson_val *v, const char *name) {
    return yyjson_get_num(json_get(v, str_of(name)));
}

/* What NVIDIA calls it: 35 of "nvidia.com/mig-2g.35gb", which has 32.25 GiB; 0 where the name says nothing. */
static double named_gb(struct str resource) {
    struct str rest = resource, part;
    int64_t gb = 0;
    while (str_next(&rest, '.', &part)) {
        if (str_ends(part, STR("gb")) && str_to_i64(str_head(part, part.n - 2), &gb)) {
            return (double)gb;
        }
    }
    return 0;
}

/* The smallest resource with so much memory; gb, unless it is 0: or with that in its name. */
static yyjson_val *smallest(struct book *b, yyjson_val *list, double gib, double gb,
                            double *ret_most) {
    yyjson_val *items = json_get(list, STR("items")), *v, *best = NULL;
    size_t i, n;
    yyjson_arr_foreach(items, i, n, v) {
        double memory = number_at(v, "memoryGiB");
        if (!flavor_wanted(&b->c->args, json_str_at(v, "flavor")) ||
            json_i64_at(v, "total", 1) < 1 || memory <= 0 ||
            str_ends(json_str_at(v, "resource"), STR(".me"))) {
            continue;
        }
        *ret_most = memory > *ret_most ? memory : *ret_most;
        bool named = gb > 0 && named_gb(json_str_at(v, "resource")) >= gb;
        if ((named || memory + 1e-6 >= gib) &&
            (best == NULL || memory < number_at(best, "memoryGiB") ||
             (memory <= number_at(best, "memoryGiB") &&
              number_at(v, "gpuShare") < number_at(best, "gpuShare")))) {
            best = v;
        }
    }
    return best;
}

static int settle_memory(struct book *b, struct book_want *w) {
    struct cli *c = b->c;
    yyjson_val *list = NULL;
    double gib = (double)w->memory / GIB, most = 0;
    if (book_sizes(b, w->start.utc ? w->start.utc : b->now.utc, &list) != 0) {
        return cli_fail(c, "cannot ask which slices there are");
    }
    double gb = w->memory_gb ? (double)w->memory / 1e9 : 0;
    yyjson_val *v = smallest(b, list, gib, gb, &most);
    if (v == NULL) {
        err_set(&c->err, ERR_NOT_FOUND,
                most > 0 ? "nothing has %.1f GiB: the most is %.1f GiB"
                         : "nothing has %.1f GiB: there is nothing to book",
                gib, most);
        return cli_fail(c, NULL);
    }
    struct str resource = json_str_at(v, "resource");
    fprintf(stderr, "the smallest with %.6g %s is %.*s, which has %.6g GiB\n", gb > 0 ? gb : gib,
            gb > 0 ? "GB" : "GiB", STR_ARG(book_resource_text(&c->arena, resource)),
            number_at(v, "memoryGiB"));
    return add_line(w, resource, w->count, &c->err) == 0 ? CLI_OK : cli_fail(c, NULL);
}

/* How far `at` is behind the last step of the policy's grid, in seconds. */
static int64_t behind_grid(struct book *b, int64_t at, int64_t *ret_step) {
    struct cli *c = b->c;
    yyjson_val *policy = NULL;
    struct str none = {0};
    int64_t step_ns = 0;
    const struct zone *zone = NULL;
    if (cli_get(c, cli_path(c, BOOK_API, "reservationpolicies", none, STR("default"), NULL),
                &policy) != 0) {
        policy = NULL; /* not everybody may read it; it has the usual grid then */
    }
    if (duration_parse(json_str_at(policy, "spec.granularity"), &step_ns, NULL) != 0 ||
        step_ns < NS_PER_SEC) {
        step_ns = INT64_C(900) * NS_PER_SEC;
    }
    if (zones_get(b->zones, json_str_at(policy, "spec.timeZone"), &zone, NULL) != 0) {
        zone = zone_of_utc();
    }
    *ret_step = step_ns / NS_PER_SEC;
    return zone_local(zone, at) % 86400 % *ret_step;
}

/* Now is the step of the policy's grid that goes on. */
static void settle_now(struct book *b, struct book_want *w) {
    int64_t step, past = behind_grid(b, w->start.utc, &step);
    w->start.utc -= past;
    w->end.utc -= cli_value(&b->c->args, "for") ? past : 0;
}

/* Times between two steps are moved outwards by the server: that is said before it is a surprise. Most are on it. */
static void tell_rounding(struct book *b, const struct book_want *w) {
    enum { USUAL_S = 900 };
    int64_t step, from, to;
    if (w->end.utc == 0 || (w->start.utc % USUAL_S == 0 && w->end.utc % USUAL_S == 0)) {
        return;
    }
    from = w->start.utc - behind_grid(b, w->start.utc, &step);
    to = behind_grid(b, w->end.utc, &step);
    to = w->end.utc + (to ? step - to : 0);
    if (from != w->start.utc || to != w->end.utc) {
        fprintf(stderr, "bookings begin and end on steps of %lld minutes: this is %.*s\n",
                (long long)step / 60, STR_ARG(when_span(&b->now, from, to, &b->c->arena)));
    }
}

int book_want_settle(struct book *b, struct book_want *w) {
    if (w->start.now) {
        settle_now(b, w);
    }
    tell_rounding(b, w);
    return w->memory ? settle_memory(b, w) : CLI_OK;
}

/* ---- the object ---- */

static void flavors_write(const struct cli_args *a, struct buf *out) {
    const char *name = cli_nth(a, "flavor", 0);
    if (name && cli_nth(a, "flavor", 1) == NULL) {
        buf_c(out, ",\"flavor\":");
        buf_json(out, str_of(name));
        return;
    }
    for (size_t i = 0; (name = cli_nth(a, "flavor", i)); i++) {
        buf_c(out, i ? "," : ",\"anyOf\":[");
        buf_json(out, str_of(name));
        buf_c(out, cli_nth(a, "flavor", i + 1) ? "" : "]");
    }
}

static void text_write(const struct cli_args *a, const char *option, const char *member,
                       struct buf *out) {
    const char *text = cli_value(a, option);
    if (text) {
        buf_f(out, ",\"%s\":", member);
        buf_json(out, str_of(text));
    }
}

static void flag_write(const struct cli_args *a, const char *option, const char *member,
                       struct buf *out) {
    if (cli_flag(a, option)) {
        buf_f(out, ",\"%s\":true", member);
    }
}

void book_want_write(struct book *b, const struct book_want *w, struct buf *out) {
    const struct cli_args *a = &b->c->args;
    buf_c(out, "\"timeZone\":");
    buf_json(out, b->zone);
    for (size_t i = 0; i < w->n_lines; i++) {
        buf_c(out, i ? ",{\"resource\":" : ",\"lines\":[{\"resource\":");
        buf_json(out, w->lines[i].resource);
        buf_f(out, ",\"count\":%lld", (long long)w->lines[i].count);
        flavors_write(a, out);
        flag_write(a, "same-node", "sameNode", out);
        buf_ch(out, '}');
    }
    buf_ch(out, ']');
    text_write(a, "purpose", "purpose", out);
    text_write(a, "class", "class", out);
    text_write(a, "end-policy", "endPolicy", out);
    flag_write(a, "exclusive", "exclusive", out);
    flag_write(a, "waitlist", "waitlist", out);
    flag_write(a, "confirm-offer", "confirmOffer", out);
    const char *extend = cli_value(a, "auto-extend"), *no_show = cli_value(a, "no-show");
    if (extend) {
        buf_c(out, ",\"autoExtend\":{\"max\":");
        buf_json(out, str_of(extend));
        buf_ch(out, '}');
    }
    if (no_show) {
        buf_f(out, ",\"noShow\":{\"action\":\"%s\"}", no_show);
    }
    const char *group = cli_value(a, "group"), *user = group ? group : cli_value(a, "user");
    if (user) {
        buf_f(out, ",\"beneficiary\":{\"kind\":\"%s\",\"name\":", group ? "Group" : "User");
        buf_json(out, str_of(user));
        buf_ch(out, '}');
    }
}

void book_times_write(struct book *b, const struct book_want *w, struct buf *out) {
    struct arena *a = &b->c->arena;
    buf_f(out, ",\"start\":\"%.*s\",\"end\":\"%.*s\"", STR_ARG(when_rfc(w->start.utc, a)),
          STR_ARG(when_rfc(w->end.utc, a)));
}
