/* book_change: the words of `berth book` about a booking that is there: extend, cancel, approve, reject, claim. */
#include "cli/book/book_private.h"

#include "base/limits.h"

static int find(struct book *b, const char *arg, struct str *ret_name, yyjson_val **ret) {
    struct cli *c = b->c;
    struct str name = str_of(arg), prefix = STR("reservation/");
    name = str_starts(name, prefix) ? str_skip(name, prefix.n) : name;
    int code = cli_connect(c);
    if (code != CLI_OK) {
        return code;
    }
    *ret_name = name;
    if (cli_get(c, book_path(b, "reservations", name), ret) != 0) {
        if (c->err.code == ERR_NOT_FOUND) {
            err_set(&c->err, ERR_NOT_FOUND,
                    "there is no booking \"%.*s\" in project \"%.*s\"; `berth bookings` lists them",
                    STR_ARG(name), STR_ARG(c->project));
        }
        return cli_fail(c, NULL);
    }
    return CLI_OK;
}

/* ---- extend ---- */

static int read_end(struct book *b, const struct when *end_now, struct when *ret, struct err *err) {
    const struct cli_args *a = &b->c->args;
    const char *by = cli_value(a, "by"), *to = cli_value(a, "to");
    int64_t more = 0;
    if ((by == NULL) == (to == NULL)) {
        return err_set(err, ERR_BAD_REQUEST, "extend: --by 1h or --to 20:00, one of them");
    }
    if (by) {
        int r = when_length("by", by, &more, err);
        *ret = (struct when){.utc = end_now->utc + more};
        return r;
    }
    struct when_ask ask = {.option = "to", .day = cli_value(a, "date"), .after = end_now};
    return when_parse(&b->now, &ask, to, ret, err);
}

/* The planner or the server will not extend it. */
static int not_extended(struct book *b, yyjson_val *booking, struct str name,
                        const struct when *end) {
    yyjson_mut_doc *d = json_mut_copy(&b->c->arena, json_get(booking, STR("spec")));
    yyjson_mut_val *root = d ? yyjson_mut_doc_get_root(d) : NULL;
    struct buf text;
    buf_init(&text, LIMIT_OBJECT_BYTES);
    if (root) {
        json_mset_str(d, root, "name", name);
        json_mset_str(d, root, "end", when_rfc(end->utc, &b->c->arena));
        json_write_mut(&text, root);
    }
    struct str whole = buf_view(&text); /* {members} */
    int code = book_refused(b, whole.n > 2 ? str_from(whole.p + 1, whole.n - 2) : (struct str){0},
                            "not extended");
    buf_release(&text);
    return code;
}

int book_extend(struct book *b) {
    struct cli *c = b->c;
    yyjson_val *booking, *patched;
    struct str name;
    struct when now_ends = {0}, end;
    int64_t start, granted;
    int code = find(b, c->args.args[1], &name, &booking);
    if (code != CLI_OK) {
        return code;
    }
    if (!book_times(booking, &start, &now_ends.utc)) {
        err_set(&c->err, ERR_INVALID, "reservation/%.*s has no times", STR_ARG(name));
        return cli_fail(c, NULL);
    }
    if (read_end(b, &now_ends, &end, &c->err) != 0) {
        struct err e = c->err;
        return cli_usage(c, "%s", e.text);
    }
    struct str spec = arena_f(&c->arena, "\"end\":\"%.*s\"", STR_ARG(when_rfc(end.utc, &c->arena)));
    if (book_patch(b, name, spec, &patched) != 0) {
        return not_extended(b, booking, name, &end);
    }
    if (book_wait(b, name, json_i64_at(patched, "metadata.generation", 0), &booking) != 0) {
        return cli_fail(c, NULL);
    }
    if (book_times(booking, &start, &granted) && granted < end.utc) {
        struct str why = json_str_at(booking, "status.message");
        err_set(&c->err, ERR_CONFLICT, "%.*s", STR_ARG(why.n ? why : STR("it does not fit")));
        return not_extended(b, booking, name, &end);
    }
    return book_tell(b, booking);
}

/* ---- the others ---- */

/* Patches spec and says what became of it. */
static int change(struct book *b, struct str spec, const char *done) {
    struct cli *c = b->c;
    yyjson_val *booking, *patched;
    struct str name;
    int code = find(b, c->args.args[1], &name, &booking);
    if (code != CLI_OK) {
        return code;
    }
    if (book_patch(b, name, spec, &patched) != 0) {
        return cli_fail(c, NULL);
    }
    if (book_wait(b, name, json_i64_at(patched, "metadata.generation", 0), &booking) != 0) {
        return cli_fail(c, NULL);
    }
    if (cli_print(c, booking)) {
        return CLI_OK;
    }
    struct str phase = json_str_at(booking, "status.phase");
    printf("reservation/%.*s %s: %.*s\n", STR_ARG(name), done, STR_ARG(phase));
    return CLI_OK;
}

static struct str json_of(struct cli *c, const char *text) {
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    buf_json(&b, str_of(text ? text : ""));
    struct str s = arena_str(&c->arena, buf_view(&b));
    buf_release(&b);
    return s;
}

int book_cancel(struct book *b) {
    const char *reason = cli_value(&b->c->args, "reason");
    struct str spec = reason ? arena_f(&b->c->arena, "\"cancel\":{\"reason\":%.*s}",
                                       STR_ARG(json_of(b->c, reason)))
                             : STR("\"cancel\":{}");
    return change(b, spec, "is given back");
}

int book_decide(struct book *b, const char *decision) {
    const char *reason = cli_value(&b->c->args, "reason");
    bool rejects = strcmp(decision, "reject") == 0;
    if (rejects && reason == NULL) {
        return cli_usage(b->c, "reject: say why, with --reason");
    }
    struct str spec =
        arena_f(&b->c->arena, "\"approval\":{\"decision\":\"%s\"%s%.*s}", decision,
                reason ? ",\"reason\":" : "", STR_ARG(reason ? json_of(b->c, reason) : STR("")));
    return change(b, spec, rejects ? "is rejected" : "is approved");
}

int book_claim(struct book *b) {
    return change(b, STR("\"claim\":true"), "is claimed");
}
