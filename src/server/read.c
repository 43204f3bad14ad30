/*
 * read: get and list. A list is one snapshot: what is committed now, or with `continue` and exact versions what was
 * committed then. All pages of a list show the snapshot of the first.
 */
#include "server/handlers.h"
#include "server/select.h"
#include "server/token_page.h"

void read_get(struct call *c) {
    const struct api_request *q = &c->req;
    const struct object *o =
        mirror_get(c->s->o.mirror, kind_stored(q->kind), request_key_ns(q), q->name);
    if (o == NULL) {
        (void)failure_not_found(&c->failure, c->arena, q->kind, q->name);
        call_fail(c);
        return;
    }
    call_object(c, 200, o);
}

struct listing {
    struct call *c;
    struct render render;
    struct picker pick;
    struct buf items;
    uint64_t rv; /* of the snapshot */
    bool at;     /* read by mirror_scan_at: a page, or a state of the past */
    struct page_token from;
    int64_t limit, n, remaining;
    struct str last_ns, last_name;
    int code;
    struct err err;
};

static bool list_each(void *ctx, const struct object *o) {
    struct listing *l = ctx;
    if (!pick_matches(&l->pick, o)) {
        return l->pick.failed == 0;
    }
    if (l->limit > 0 && l->n >= l->limit) {
        l->remaining++;
        return !pick_selects(&l->pick); /* counting on makes sense only without a selector */
    }
    l->code = render_list_item(&l->render, o, l->n == 0, &l->items, &l->err);
    if (l->limit > 0 && l->n + 1 == l->limit) {
        l->last_ns = arena_str(l->c->arena, o->ns);
        l->last_name = arena_str(l->c->arena, o->name);
    }
    l->n++;
    l->code = l->code ? l->code : buf_ok(&l->items);
    return l->code == 0;
}

static int bad_list_options(struct call *c, const char *field, const char *text) {
    return failure_invalid_one(&c->failure, c->arena, "meta.k8s.io", "ListOptions", (struct str){0},
                               CAUSE_FORBIDDEN, field, "Forbidden: %s", text);
}

static int check_match(struct call *c, uint64_t rv) {
    const struct request_options *o = &c->req.opt;
    struct str match = o->resource_version_match;
    if (o->send_initial_events.set) {
        return bad_list_options(c, "sendInitialEvents", "sendInitialEvents is forbidden for list");
    }
    if (match.n == 0) {
        return 0;
    }
    if (o->continue_token.n > 0) {
        return bad_list_options(c, "resourceVersionMatch",
                                "resourceVersionMatch is forbidden when continue is provided");
    }
    if (o->resource_version.n == 0) {
        return bad_list_options(c, "resourceVersionMatch",
                                "resourceVersionMatch is forbidden unless resourceVersion is "
                                "provided");
    }
    if (str_is(match, "Exact") && rv == 0) {
        return bad_list_options(c, "resourceVersionMatch",
                                "resourceVersionMatch \"Exact\" is forbidden for resourceVersion "
                                "\"0\"");
    }
    if (!str_is(match, "Exact") && !str_is(match, "NotOlderThan")) {
        return failure_invalid_one(&c->failure, c->arena, "meta.k8s.io", "ListOptions",
                                   (struct str){0}, CAUSE_NOT_SUPPORTED, "resourceVersionMatch",
                                   "Unsupported value: \"%.*s\"", STR_ARG(str_head(match, 64)));
    }
    return 0;
}

/* Which snapshot, and from where in it. */
static int settle_snapshot(struct listing *l) {
    struct call *c = l->c;
    const struct request_options *o = &c->req.opt;
    uint64_t now = mirror_revision(c->s->o.mirror), rv = 0;
    struct str given = o->resource_version;
    if (given.n > 0 && !str_to_u64(given, &rv)) {
        return failure_set(&c->failure, c->arena, ERR_BAD_REQUEST,
                           "invalid resource version: \"%.*s\"", STR_ARG(str_head(given, 64)));
    }
    int r = check_match(c, rv);
    if (r != 0) {
        return r;
    }
    l->rv = now;
    if (o->continue_token.n > 0) {
        struct err err = {0};
        if (given.n > 0 && rv != 0) {
            return failure_set(&c->failure, c->arena, ERR_BAD_REQUEST,
                               "specifying resource version is not allowed when using continue");
        }
        if (page_token_read(c->arena, o->continue_token, &l->from, &err) != 0) {
            return failure_err(&c->failure, c->arena, &err);
        }
        l->rv = l->from.rv != 0 ? l->from.rv : now;
        l->at = true;
        rv = 0;
    }
    if (rv > now || l->rv > now) {
        (void)failure_set(&c->failure, c->arena, ERR_TIMEOUT,
                          "Timeout: Too large resource version: %llu, current: %llu",
                          (unsigned long long)rv, (unsigned long long)now);
        c->failure.retry_after = 1;
        return failure_cause(&c->failure, c->arena, STR("ResourceVersionTooLarge"),
                             STR("Too large resource version"), (struct str){0});
    }
    if (rv != 0 && str_is(o->resource_version_match, "Exact")) {
        l->rv = rv;
        l->at = true;
    }
    l->at = l->at && l->rv <= now;
    return 0;
}

static int expired(struct listing *l) {
    struct call *c = l->c;
    (void)failure_set(&c->failure, c->arena, ERR_EXPIRED,
                      "The provided continue parameter is too old to display a consistent list "
                      "result: list again, or go on with the token in this answer, which may mix "
                      "in later changes");
    if (c->req.opt.continue_token.n > 0) {
        struct page_token t = {0, l->from.ns, l->from.name};
        c->failure.continue_token = page_token_write(c->arena, &t);
    }
    return c->failure.code;
}

static int run_listing(struct listing *l) {
    struct call *c = l->c;
    const struct kind *k = kind_stored(c->req.kind);
    if (l->at) {
        int r = mirror_scan_at(c->s->o.mirror, k, l->pick.ns, l->rv, l->from.ns, l->from.name,
                               list_each, l, &l->err);
        if (r == ERR_EXPIRED) {
            return expired(l);
        }
        l->code = l->code ? l->code : r;
    } else {
        mirror_scan(c->s->o.mirror, k, l->pick.ns, list_each, l);
    }
    l->code = l->code ? l->code : l->pick.failed;
    if (l->code == 0) {
        l->code = arena_ok(c->arena); /* the key for the next page */
    }
    if (l->code != 0 && l->err.code == 0) {
        (void)err_set(&l->err, l->code, "out of memory");
    }
    return l->code != 0 ? failure_err(&c->failure, c->arena, &l->err) : 0;
}

void read_list(struct call *c) {
    struct listing l = {.c = c, .render = call_render(c), .limit = c->req.opt.limit};
    struct buf b;
    buf_init(&b, 0);
    buf_init(&l.items, 0);
    int r = settle_snapshot(&l);
    if (r == 0 && (r = pick_init(&l.pick, &c->req, c->arena, &c->s->scratch, &l.err)) != 0) {
        (void)failure_err(&c->failure, c->arena, &l.err);
    }
    r = r ? r : run_listing(&l);
    if (r == 0) {
        struct page_token t = {l.rv, l.last_ns, l.last_name};
        struct str token = l.remaining > 0 ? page_token_write(c->arena, &t) : (struct str){0};
        render_list_head(&l.render, l.rv, token, pick_selects(&l.pick) ? 0 : l.remaining, &b);
        buf_str(&b, buf_view(&l.items));
        render_list_tail(&l.render, &b);
        call_json(c, 200, &b);
    } else {
        call_fail(c);
    }
    buf_release(&l.items);
    buf_release(&b);
}
