/*
 * read: get and list. A list is one snapshot: what is committed now, or with `continue` and exact versions what was
 * committed then. All pages of a list show the snapshot of the first.
 *
 * A list that is longer than a step is a stream: a step is made when the peer has taken the last one, and those that
 * can go on take turns with everything else that the loop does. So a hundred who ask for 100,000 objects at once hold
 * up nobody, and who reads slowly costs the memory of one step. History keeps the snapshot together; when it does not
 * reach back any more the connection is cut, which no client takes for an end.
 */
#include "base/limits.h"
#include "base/mem.h"
#include "server/kit/handlers.h"
#include "server/kit/select.h"
#include "server/read/token_page.h"
#include "server/read/turns.h"

enum {
    STEP_BYTES = 256 << 10, /* of a list that is streamed */
    STEP_LOOKS = 20000,     /* objects that one step looks at */
};

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
    struct str last_ns, last_name; /* of a page; views in the call's arena */
    int code;
    struct err err;
    /* of a stream */
    bool streams; /* it may become one */
    bool more;    /* the step ended before the list */
    size_t looks;
    size_t unknown;                  /* bytes of objects whose conversion is not known yet */
    struct str after_ns, after_name; /* the last object that was looked at; owned */
    struct answer_turn turn;
};

static bool keep(struct str *to, struct str from) {
    char *copy = mem_cstr(from);
    mem_free((void *)(uintptr_t)to->p);
    *to = copy != NULL ? str_from(copy, from.n) : (struct str){0};
    return copy != NULL;
}

/* After each object: false at the end of a step. */
static bool step_goes_on(struct listing *l, const struct object *o) {
    if (!l->streams || (l->items.n < STEP_BYTES && ++l->looks < STEP_LOOKS)) {
        return true;
    }
    l->more = true;
    if (!keep(&l->after_ns, o->ns) || !keep(&l->after_name, o->name)) {
        l->code = ERR_NOMEM;
    }
    return false;
}

/* A page ends after so many objects, or where its next would make it too long. */
static bool page_full(const struct listing *l) {
    return l->limit > 0 && (l->n >= l->limit || l->items.n >= LIMIT_LIST_PAGE_BYTES);
}

static bool list_each(void *ctx, const struct object *o) {
    struct listing *l = ctx;
    if (!pick_matches(&l->pick, o)) {
        return l->pick.failed == 0 && step_goes_on(l, o);
    }
    if (page_full(l)) {
        l->remaining++;
        return !pick_selects(&l->pick); /* counting on makes sense only without a selector */
    }
    if (l->limit == 0 && !l->streams && l->items.n >= LIMIT_LIST_WHOLE_BYTES) {
        l->code = err_set(&l->err, ERR_TOO_LARGE,
                          "the list is too long for one answer of this form: ask for pages, with "
                          "the parameter limit");
        return false;
    }
    size_t before = l->items.n;
    l->code = render_list_item(&l->render, o, l->n == 0, &l->items, &l->err);
    l->n++;
    if (l->code == ERR_AGAIN) { /* the rest of the page is asked about in the same review */
        l->items.n = before;
        l->code = 0;
        l->unknown += o->json.n;
        return l->unknown < LIMIT_LIST_PAGE_BYTES;
    }
    if (page_full(l)) {
        l->last_ns = arena_str(l->c->arena, o->ns);
        l->last_name = arena_str(l->c->arena, o->name);
    }
    l->code = l->code ? l->code : buf_ok(&l->items);
    return l->code == 0 && step_goes_on(l, o);
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

static uint64_t now_s(const struct call *c) {
    int64_t now = server_now(c->s);
    return now > 0 ? (uint64_t)now / NS_PER_SEC : 0;
}

static int expired(struct listing *l) {
    struct call *c = l->c;
    (void)failure_set(&c->failure, c->arena, ERR_EXPIRED,
                      "The provided continue parameter is too old to display a consistent list "
                      "result: list again, or go on with the token in this answer, which may mix "
                      "in later changes");
    if (c->req.opt.continue_token.n > 0) {
        struct page_token t = {.ns = l->from.ns, .name = l->from.name};
        c->failure.continue_token = page_token_write(c->arena, &t);
    }
    return c->failure.code;
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
        if (page_token_too_old(&l->from, now_s(c))) {
            return expired(l);
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
    if (l->code == 0 && l->unknown > 0) {
        return failure_set(&c->failure, c->arena, ERR_AGAIN, "a conversion webhook is being asked");
    }
    if (l->code == 0) {
        l->code = arena_ok(c->arena); /* the key for the next page */
    }
    if (l->code != 0 && l->err.code == 0) {
        (void)err_set(&l->err, l->code, "out of memory");
    }
    return l->code != 0 ? failure_err(&c->failure, c->arena, &l->err) : 0;
}

/* ---- a list as a stream ---- */

static void release(struct listing *l) {
    turn_forget(&l->turn);
    buf_release(&l->items);
    mem_free((void *)(uintptr_t)l->after_ns.p);
    mem_free((void *)(uintptr_t)l->after_name.p);
}

static void gone(struct call *c, void *ctx) {
    release(ctx);
}

/* The peer has taken all of the last step. */
static void drained(void *user) {
    struct call *c = user;
    struct listing *l = c->detach_ctx;
    if (c->detach != NULL) {
        turn_ready(&l->turn);
    }
}

/* Hands the step over; ends the stream after the last. */
static void send_step(struct listing *l) {
    struct call *c = l->c;
    if (!l->more) {
        render_list_tail(&l->render, &l->items);
    }
    int r = l->code ? l->code : l->pick.failed;
    r = r ? r : buf_ok(&l->items);
    r = r ? r : http_stream_write(c->http, buf_view(&l->items));
    bool empty = l->items.n == 0;
    buf_release(&l->items);
    if (r != 0) {
        http_stream_cut(c->http);
    } else if (l->more && empty) {
        drained(c); /* nothing was sent, so nothing will drain */
    } else if (!l->more) {
        c->detach = NULL;
        release(l);
        call_long_end(c);
    }
}

static void next_step(struct answer_turn *t) {
    struct listing *l = (struct listing *)((char *)t - offsetof(struct listing, turn));
    struct err err = {0};
    l->more = false;
    l->looks = 0;
    buf_init(&l->items, 0);
    int r = mirror_scan_at(l->c->s->o.mirror, kind_stored(l->c->req.kind), l->pick.ns, l->rv,
                           l->after_ns, l->after_name, list_each, l, &err);
    l->code = l->code ? l->code : r;
    send_step(l);
}

static void stream(struct listing *l) {
    struct call *c = l->c;
    struct buf head;
    buf_init(&head, 0);
    render_list_head(&l->render, l->rv, (struct str){0}, 0, &head);
    l->code = buf_ok(&head);
    c->detach = gone;
    c->detach_ctx = l;
    call_long(c, render_type(&c->media));
    http_stream_on_drain(c->http, drained);
    l->code = l->code ? l->code : http_stream_write(c->http, buf_view(&head));
    buf_release(&head);
    send_step(l);
}

/* ---- a list ---- */

static void answer_whole(struct listing *l) {
    struct call *c = l->c;
    struct page_token t = {l->rv, l->from.rv != 0 ? l->from.at_s : now_s(c), l->last_ns,
                           l->last_name};
    struct str token = l->remaining > 0 ? page_token_write(c->arena, &t) : (struct str){0};
    struct buf b;
    buf_init(&b, 0);
    render_list_head(&l->render, l->rv, token, pick_selects(&l->pick) ? 0 : l->remaining, &b);
    buf_str(&b, buf_view(&l->items));
    render_list_tail(&l->render, &b);
    call_json(c, 200, &b);
    buf_release(&b);
}

void read_list(struct call *c) {
    struct listing *l = ARENA_NEW(c->arena, struct listing);
    if (l == NULL) {
        (void)failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory");
        call_fail(c);
        return;
    }
    *l = (struct listing){.c = c,
                          .render = call_render(c),
                          .limit = c->req.opt.limit,
                          .turn = {.call = c, .go = next_step}};
    /* YAML is made of the whole text, protobuf has its length first, and what a webhook converts is asked for as a
     * whole. */
    l->streams = l->limit == 0 && !render_whole(&c->media) && !c->req.kv->asks;
    buf_init(&l->items, 0);
    int r = settle_snapshot(l);
    if (r == 0 && (r = pick_init(&l->pick, &c->req, c->arena, &c->s->scratch, &l->err)) != 0) {
        (void)failure_err(&c->failure, c->arena, &l->err);
    }
    r = r ? r : run_listing(l);
    if (r == 0 && l->more) {
        stream(l);
        return;
    }
    if (r == 0) {
        answer_whole(l);
    } else {
        call_fail(c);
    }
    release(l);
}
