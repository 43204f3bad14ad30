/*
 * streams: watches, followed logs and sessions with pods end when their user or their right does.
 *
 * A request is authorized when it comes; a stream may live an hour after that. When a role, a binding, a token or a
 * ServiceAccount is changed or removed, every stream's request is asked again, a moment later so that many changes are
 * one walk; when the first of their tokens expires; and when somebody signed out.
 */
#include "api/schema/kind.h"
#include "base/mem.h"
#include "server/kit/handlers.h"

enum { KINDS = 6, SCRATCH_MAX = 4 << 20 };

#define SETTLE_NS (100 * NS_PER_MS)

struct streams {
    struct server *s;
    struct call *first;
    struct feed *feeds[KINDS];
    struct timer *timer;
    int64_t due; /* when the timer fires, wall time; 0: it does not run */
};

static void check_at(struct streams *x, int64_t when) {
    int64_t now = server_now(x->s);
    if (x->due == 0 || when < x->due) {
        x->due = when;
        x->s->clock->timer_start(x->timer, when > now ? when - now : 0);
    }
}

static void on_change(void *ctx, const struct change *c) {
    struct streams *x = ctx;
    /* What is new takes nothing away; and most Secrets are nobody's credential. */
    bool secret = str_is(str_of(c->obj->kind->plural), "secrets");
    if (x->first != NULL && c->type != CHANGE_ADDED &&
        (!secret || str_starts(c->obj->name, STR("berth-token-")) ||
         str_starts(c->obj->name, STR("bootstrap-token-")))) {
        check_at(x, server_now(x->s) + SETTLE_NS);
    }
}

/* Would the request be let in now, as the same user? */
static bool still_may(struct call *c, struct arena *a) {
    struct api_request q = c->req;
    struct failure f = {0};
    struct str decision;
    return guard_enter(c->s->o.guard, c->http, &q, a, &decision, &f) == 0 &&
           str_eq(q.user.name, c->req.user.name) && (!c->upgraded || talk_still_may(c, &q, a));
}

static void cut(struct call *c) {
    void (*gone)(struct call * c, void *ctx) = c->detach;
    c->detach = NULL;
    if (gone != NULL) { /* releases, and counts down as if the peer had left */
        c->s->long_running++;
        gone(c, c->detach_ctx);
    }
    call_stream_end(c);
}

static void check(void *ctx) {
    struct streams *x = ctx;
    struct arena a;
    int64_t next = 0, soon = server_now(x->s) + NS_PER_SEC;
    x->due = 0;
    arena_init(&a, SCRATCH_MAX);
    for (struct call *c = x->first, *after; c != NULL; c = after) {
        after = c->next;
        arena_reset(&a);
        if (!still_may(c, &a)) {
            cut(c);
        } else if (c->req.user.expires_ns != 0) {
            /* A token may be taken a little longer than it says. */
            int64_t end = c->req.user.expires_ns > soon ? c->req.user.expires_ns : soon;
            next = next == 0 || end < next ? end : next;
        }
    }
    arena_release(&a);
    if (next != 0) {
        check_at(x, next);
    }
}

void server_recheck(struct server *s) {
    if (s->streams->first != NULL) {
        check_at(s->streams, server_now(s) + SETTLE_NS);
    }
}

void streams_add(struct call *c) {
    struct streams *x = c->s->streams;
    c->next = x->first;
    c->prev = NULL;
    c->streams = true;
    if (x->first != NULL) {
        x->first->prev = c;
    }
    x->first = c;
    if (c->req.user.expires_ns != 0) {
        check_at(x, c->req.user.expires_ns);
    }
}

void streams_remove(struct call *c) {
    if (!c->streams) {
        return;
    }
    c->streams = false;
    if (c->prev != NULL) {
        c->prev->next = c->next;
    } else {
        c->s->streams->first = c->next;
    }
    if (c->next != NULL) {
        c->next->prev = c->prev;
    }
}

int streams_init(struct server *s, struct err *err) {
    static const struct {
        const char *group, *kind;
    } kinds[KINDS] = {{"rbac.authorization.k8s.io", "Role"},
                      {"rbac.authorization.k8s.io", "ClusterRole"},
                      {"rbac.authorization.k8s.io", "RoleBinding"},
                      {"rbac.authorization.k8s.io", "ClusterRoleBinding"},
                      {"", "Secret"},
                      {"", "ServiceAccount"}};
    struct streams *x = mem_zalloc(sizeof(*x));
    if (x == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    s->streams = x;
    x->s = s;
    x->timer = s->clock->timer_new(s->clock, check, x);
    bool ok = x->timer != NULL;
    for (size_t i = 0; ok && i < KINDS; i++) {
        const struct kind *k = kind_by_name(str_of(kinds[i].group), str_of(kinds[i].kind));
        x->feeds[i] = mirror_feed(s->o.mirror, k, on_change, x);
        ok = x->feeds[i] != NULL;
    }
    return ok ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

void streams_release(struct server *s) {
    struct streams *x = s->streams;
    if (x == NULL) {
        return;
    }
    for (size_t i = 0; i < KINDS; i++) {
        feed_free(x->feeds[i]);
    }
    if (x->timer != NULL) {
        s->clock->timer_free(x->timer);
    }
    mem_free(x);
    s->streams = NULL;
}
