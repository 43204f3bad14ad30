/*
 * fuzz/watch: any bytes as what an API server says to a reflector: streams, pages, answers.
 *
 * The first byte says how: as a stream or as pages, and in pieces of which size. The rest is cut at each 0xff into
 * answers, in order; when they are used up the server is silent. Time is virtual, so that pauses and silence pass.
 * Whatever comes: the mirror's changes follow from each other, an object only gets newer until it is deleted, and the
 * same stream in other pieces leaves the same objects.
 */
#include "fuzz.h"

#include "base/virtual_clock.h"
#include "kube/client_private.h"
#include "kube/reflector.h"
#include "mirror/fake_kind.h"

enum { STEPS = 24 };

struct kube_call {
    struct kube_request r;
    bool live;
};

struct kube_client {
    struct virtual_clock clock;
    struct kube_call call;
    struct str answers;
    size_t piece;
    bool pages;
};
static struct kube_client *the;

/* ---- in the place of the client ---- */

struct loop *kube_client_loop(const struct kube_client *c) {
    return NULL;
}

struct clock *loop_clock(struct loop *l) {
    return &the->clock.clock;
}

int kube_send(struct kube_client *c, const struct kube_request *r, struct kube_call **ret,
              struct err *err) {
    assert(!c->call.live && str_starts(r->path, STR("/api/v1/configmaps")));
    c->call = (struct kube_call){.r = *r, .live = true};
    *ret = &c->call;
    return 0;
}

void kube_cancel(struct kube_call *call) {
    if (call) {
        assert(call->live);
        call->live = false;
    }
}

/* ---- the server ---- */

static void finish(struct kube_client *c, const struct kube_reply *reply) {
    struct kube_call call = c->call;
    c->call.live = false;
    call.r.done(call.r.ctx, reply);
}

static void stream(struct kube_client *c, struct str text) {
    struct kube_reply reply = {.status = 200};
    bool more = true;
    while (text.n > 0 && more) {
        size_t n = text.n < c->piece ? text.n : c->piece;
        more = c->call.r.data(c->call.r.ctx, str_head(text, n));
        text = str_skip(text, n);
    }
    reply.code = more ? 0 : ERR_GONE;
    finish(c, &reply);
}

static void answer(struct kube_client *c) {
    struct kube_reply reply = {.status = 200};
    struct str text = c->answers;
    ptrdiff_t end = str_find(text, '\xff');
    c->answers = end < 0 ? (struct str){0} : str_skip(text, (size_t)end + 1);
    text = end < 0 ? text : str_head(text, (size_t)end);
    if (str_is(text, "410") || str_is(text, "422") || str_is(text, "500")) {
        reply.status = text.p[0] == '4' ? (text.p[1] == '1' ? 410 : 422) : 500;
        reply.code = reply.status == 410   ? ERR_EXPIRED
                     : reply.status == 422 ? ERR_INVALID
                                           : ERR_INTERNAL;
        finish(c, &reply);
    } else if (c->call.r.data) {
        stream(c, text);
    } else {
        reply.body = text;
        finish(c, &reply);
    }
}

/* ---- what must hold ---- */

struct sum {
    size_t n;
    uint64_t revisions, sets;
};

static void on_change(void *ctx, const struct change *c) {
    const struct object *o = c->obj, *old = c->old;
    assert((c->type == CHANGE_ADDED) == !old && o->rv > 0 && o->name.n > 0);
    if (old) {
        assert(str_eq(o->name, old->name) && str_eq(o->ns, old->ns));
    }
    if (c->type == CHANGE_MODIFIED) {
        assert(o->rv > old->rv && (!o->uid.n || !old->uid.n || str_eq(o->uid, old->uid)));
    }
}

static bool add_up(void *ctx, const struct object *o) {
    struct sum *s = ctx;
    s->n++;
    s->revisions = s->revisions * 31 + o->rv;
    return true;
}

static struct sum play(struct str answers, bool pages, size_t piece) {
    struct kube_client c = {.answers = answers, .piece = piece, .pages = pages};
    struct sum s = {0};
    struct reflector_stats stats;
    the = &c;
    virtual_clock_init(&c.clock, 0);
    struct mirror_options mo = {.clock = &c.clock.clock, .history_events = MIRROR_NO_HISTORY};
    struct mirror *m = mirror_new(&mo);
    struct feed *f = mirror_feed(m, NULL, on_change, NULL);
    struct reflector_options o = {.kind = &fake_map};
    struct reflector *r = reflector_start(&c, m, &o, NULL);
    assert(m && f && r);
    if (pages) {
        struct kube_reply no = {.status = 422, .code = ERR_INVALID};
        finish(&c, &no);
    }
    for (int i = 0; i < STEPS && c.answers.n > 0; i++) {
        if (c.call.live) {
            answer(&c);
        } else {
            assert(virtual_clock_step(&c.clock)); /* nothing is asked: then something will be */
        }
    }
    for (int i = 0; i < 4; i++) { /* silence: it never stands still */
        assert(c.call.live || virtual_clock_next(&c.clock) != INT64_MAX);
        (void)virtual_clock_step(&c.clock);
    }
    mirror_scan(m, &fake_map, (struct str){0}, add_up, &s);
    reflector_stats(r, &stats);
    assert(s.n == mirror_count(m, &fake_map) && stats.skipped <= stats.events + answers.n);
    s.sets = stats.sets;
    reflector_free(r);
    assert(!c.call.live);
    feed_free(f);
    mirror_free(m);
    virtual_clock_release(&c.clock);
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2 || size > FUZZ_INPUT_MAX) {
        return 0;
    }
    struct str answers = str_from((const char *)data + 1, size - 1);
    bool pages = data[0] & 1;
    struct sum whole = play(answers, pages, SIZE_MAX);
    struct sum parts = play(answers, pages, 1 + data[0] / 2 % 64);
    assert(whole.n == parts.n && whole.revisions == parts.revisions && whole.sets == parts.sets);
    return 0;
}
