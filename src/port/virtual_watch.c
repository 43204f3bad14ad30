/* virtual_watch: see virtual_watch.h. */
#include "port/virtual_watch.h"

#include "base/keyed_hash.h"
#include "base/limits.h"
#include "base/mem.h"
#include "port/virtual_items.h"

enum {
    ASKING_MAX = 16,   /* questions under way */
    SHARE_OF_ONE = 20, /* a question takes at most so much of the time: one part in this */
    SHARE_OF_ALL = 4,
};
/* Between two asks of a question: at least; without a commit, for what none tells (time, measurements); for what is
 * dear, by the time that it took and the bytes that it has, at most. */
#define LEAST_NS NS_PER_SEC
#define TICK_NS (5 * NS_PER_SEC)
#define MOST_NS (60 * NS_PER_SEC)
#define NS_OF_A_MIB (4 * NS_PER_SEC)
/* After a commit, which is seldom alone; and once more, as who answers may have kept what was before it. */
#define SETTLE_NS (100 * NS_PER_MS)
#define ECHO_NS (2 * NS_PER_SEC)
/* For an answer that cannot be had just now. */
#define PATIENCE_NS (30 * NS_PER_SEC)
#define BOOKMARK_NS (60 * NS_PER_SEC)

struct virtual_watcher {
    struct virtual_watch_options o;
    struct topic *topic;
    struct virtual_watcher *next, *prev; /* of the topic */
    uint64_t user;
    uint64_t seen;            /* version of the items that it was sent */
    bool begun, told, behind; /* told: of the first answer */
    int64_t deadline, next_bookmark;
};

/* A question, and what is known about its answer. */
struct topic {
    struct virtual_hub *h;
    struct topic *next, *prev;
    struct virtual_watcher *first, *last,
        *asker; /* asker: with whose rights it is asked now, or NULL */
    struct virtual_items items;
    bool answered, again, newcomers; /* newcomers: who was not told what is known */
    unsigned held;                   /* somebody walks over its watchers */
    int64_t asked, done;             /* monotonic; done: the last answer */
    int64_t good;                    /* the last one that was no error */
    int64_t interval;
    bool echo;            /* a commit is why it was asked, or nothing yet */
    int64_t stirred;      /* the first commit since it was asked; -1: none */
    uint64_t asked_moved; /* of the hub, when it was asked */
    size_t n_key;
    char key[];
};

struct virtual_hub {
    struct clock *clock;
    struct mirror *mirror;
    struct feed *feed;
    const struct kind *events, *leases;
    struct timer *timer;
    struct topic *topics;
    struct map by_key;
    size_t n, n_asking;
    bool stopped, stirred;
    uint64_t moved;     /* commits */
    int64_t not_before; /* nothing is asked until then */
    struct buf frames;  /* the last ones that were made, and whose they were */
    const struct topic *frames_topic;
    uint64_t frames_seen;
    unsigned frames_form;
};

static void schedule(struct virtual_hub *h);

/* ---- frames ---- */

static void frame(struct virtual_watcher *w, const char *type, struct str json, int *code) {
    struct buf *b = &w->topic->h->frames;
    buf_f(b, "{\"type\":\"%s\",\"object\":", type);
    int r = w->o.peer->object(w->o.ctx, json, b);
    buf_c(b, "}\n");
    *code = *code ? *code : r;
}

/* All that is news to it. */
static int make_frames(struct virtual_watcher *w) {
    struct topic *t = w->topic;
    struct virtual_hub *h = t->h;
    const struct map_entry *e;
    int r = 0;
    if (h->frames_topic == t && h->frames_seen == w->seen && h->frames_form == w->o.form &&
        buf_ok(&h->frames) == 0) {
        return 0;
    }
    h->frames_topic = NULL;
    buf_reset(&h->frames);
    for (size_t i = 0; (e = map_next(&t->items.map, &i)) != NULL;) {
        const struct virtual_item *x = e->value;
        if (x->gone > w->seen && x->first <= w->seen) {
            frame(w, "DELETED", x->text, &r);
        } else if (x->gone == 0 && x->changed > w->seen) {
            frame(w, x->added > w->seen ? "ADDED" : "MODIFIED", x->text, &r);
        }
    }
    r = r ? r : buf_ok(&h->frames);
    if (r == 0) {
        h->frames_topic = t;
        h->frames_seen = w->seen;
        h->frames_form = w->o.form;
    }
    return r;
}

static int send_bookmark(struct virtual_watcher *w, bool initial_end) {
    const struct kind *k = w->o.kind;
    struct buf b;
    buf_init(&b, 4096);
    buf_f(&b,
          "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"%s\",\"apiVersion\":\"%s%s%.*s\","
          "\"metadata\":{\"resourceVersion\":\"%llu\",\"creationTimestamp\":null%s}}}\n",
          k->kind, k->group, k->group[0] ? "/" : "", STR_ARG(w->o.version),
          (unsigned long long)mirror_revision(w->topic->h->mirror),
          initial_end ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : "");
    int r = buf_ok(&b);
    r = r ? r : w->o.peer->write(w->o.ctx, buf_view(&b));
    buf_release(&b);
    return r;
}

/* ---- life ---- */

/* Nobody watches it any more, and nobody walks over it. */
static void tidy(struct topic *t) {
    struct virtual_hub *h = t->h;
    if (t->first != NULL || t->held > 0) {
        return;
    }
    if (t->prev != NULL) {
        t->prev->next = t->next;
    } else {
        h->topics = t->next;
    }
    if (t->next != NULL) {
        t->next->prev = t->prev;
    }
    if (h->frames_topic == t) {
        h->frames_topic = NULL;
    }
    (void)map_del(&h->by_key, str_from(t->key, t->n_key));
    virtual_items_release(&t->items);
    mem_free(t);
}

static void watcher_free(struct virtual_watcher *w) {
    struct topic *t = w->topic;
    if (t->asker == w) { /* another one's rights will do */
        t->asker = NULL;
        t->again = true;
        t->h->n_asking--;
        w->o.peer->cancel(w->o.ctx);
    }
    if (w->prev != NULL) {
        w->prev->next = w->next;
    } else {
        t->first = w->next;
    }
    if (w->next != NULL) {
        w->next->prev = w->prev;
    } else {
        t->last = w->prev;
    }
    t->h->n--;
    mem_free(w);
    tidy(t);
}

static void end(struct virtual_watcher *w, int code, const struct err *err) {
    struct virtual_watch_options o = w->o;
    struct err none = {0};
    if (!w->begun && code == 0) {
        code = err_set(&none, ERR_TIMEOUT, "there was no answer in time");
        err = &none;
    }
    watcher_free(w);
    o.peer->end(o.ctx, code, err);
}

void virtual_watch_stop(struct virtual_watcher *w) {
    struct virtual_hub *h = w->topic->h;
    bool asked = w->topic->asker == w;
    watcher_free(w);
    if (asked) {
        schedule(h);
    }
}

static void end_all(struct topic *t, int code, const struct err *err) {
    t->held++;
    while (t->first != NULL) {
        end(t->first, code, err);
    }
    t->held--;
    tidy(t);
}

/* ---- telling ---- */

static int tell(struct virtual_watcher *w) {
    const struct virtual_watch_peer *p = w->o.peer;
    struct topic *t = w->topic;
    if (!w->begun) {
        w->begun = true;
        p->begin(w->o.ctx);
    }
    w->behind = w->told && p->waiting(w->o.ctx) > 0;
    if (w->behind || (w->told && w->seen == t->items.version)) {
        return 0;
    }
    int r = make_frames(w);
    if (r == 0 && t->h->frames.n > 0) {
        r = p->write(w->o.ctx, buf_view(&t->h->frames));
    }
    if (r == 0 && !w->told && w->o.initial_end && w->o.bookmarks) {
        r = send_bookmark(w, true);
    }
    w->told = true;
    w->seen = t->items.version;
    return r;
}

/* A watcher that cannot be told ends: better than with a hole. */
static bool tell_or_end(struct virtual_watcher *w) {
    struct err err = {0};
    int r = tell(w);
    if (r != 0) {
        err_set(&err, r, "the stream cannot be written");
        end(w, r, &err);
    }
    return r == 0;
}

static void tell_all(struct topic *t) {
    uint64_t least = t->items.version;
    t->newcomers = false;
    t->held++;
    for (struct virtual_watcher *w = t->first, *next; w != NULL; w = next) {
        next = w->next;
        if (tell_or_end(w)) {
            least = w->seen < least ? w->seen : least;
        }
    }
    t->h->frames_topic = NULL;
    virtual_items_forget(&t->items, least);
    t->held--;
    tidy(t);
}

void virtual_watch_drained(struct virtual_watcher *w) {
    struct virtual_hub *h = w->topic->h;
    if (w->behind) {
        (void)tell_or_end(w);
        h->frames_topic = NULL;
    }
}

/* ---- asking ---- */

static int64_t at_least(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* How long until it may be asked again. */
static int64_t pause_after(const struct topic *t, int64_t took) {
    int64_t weight = (int64_t)t->items.bytes * (NS_OF_A_MIB >> 20);
    int64_t ns = at_least(LEAST_NS, at_least(weight, took * SHARE_OF_ONE));
    return ns > MOST_NS ? MOST_NS : ns;
}

static bool passes(int code) {
    return code == ERR_TOO_MANY || code == ERR_NOMEM || code == ERR_TIMEOUT;
}

static size_t total(const struct virtual_hub *h) {
    size_t n = 0;
    for (const struct topic *t = h->topics; t != NULL; t = t->next) {
        n += t->items.bytes;
    }
    return n;
}

static int take(struct topic *t, struct str json, struct err *err) {
    int r = virtual_items_set(&t->items, json, err);
    if (r == 0 && total(t->h) > LIMIT_COMPUTED_BYTES) {
        r = err_set(err, ERR_TOO_LARGE, "too much that is computed is watched");
    }
    return r;
}

static void failed(struct topic *t, int64_t now, int code, const struct err *err) {
    if (t->answered && passes(code) && now - t->good < PATIENCE_NS) {
        t->interval = t->interval * 2 > PATIENCE_NS / 3 ? PATIENCE_NS / 3 : t->interval * 2;
        t->again = true;
    } else {
        end_all(t, code, err);
    }
}

static void answered(void *ctx, int code, struct str json, const struct err *err) {
    struct topic *t = ctx;
    struct virtual_hub *h = t->h;
    struct err mine = {.code = code};
    int64_t now = clock_mono(h->clock);
    t->asker = NULL;
    h->n_asking--;
    t->held++; /* its watchers may end, and others ask */
    if (code == 0 || code == ERR_NOT_FOUND) {
        code = take(t, code == 0 ? json : (struct str){0}, &mine);
        err = &mine;
        if (code != 0) { /* half of it may be there */
            end_all(t, code, err);
        }
    } else {
        failed(t, now, code, err != NULL ? err : &mine);
    }
    if (code == 0) {
        t->answered = true;
        t->good = now;
        t->interval = pause_after(t, now - t->asked);
        tell_all(t);
    }
    t->done = clock_mono(h->clock);
    h->not_before = at_least(h->not_before, t->done + (t->done - now) * (SHARE_OF_ALL - 1));
    t->held--;
    tidy(t);
    schedule(h);
}

static void ask(struct topic *t) {
    struct virtual_hub *h = t->h;
    struct virtual_watcher *w = t->first;
    struct err err = {0};
    t->asked = clock_mono(h->clock);
    t->echo = !t->answered || t->asked_moved != h->moved;
    t->asked_moved = h->moved;
    t->stirred = -1;
    t->again = false;
    t->asker = w;
    h->n_asking++;
    t->held++;
    int r = w->o.peer->ask(w->o.ctx, answered, t, &err);
    if (r != 0) {
        answered(t, r, (struct str){0}, &err);
    }
    int64_t now = clock_mono(h->clock), took = now - t->asked;
    h->not_before = at_least(h->not_before, now + took * (SHARE_OF_ALL - 1));
    t->held--;
    tidy(t);
}

/* When it is to be asked, or INT64_MAX. */
static int64_t due(struct topic *t, int64_t now) {
    if (t->asker != NULL || t->first == NULL) {
        return INT64_MAX;
    }
    if (!t->answered) {
        return now;
    }
    int64_t earliest = t->done + t->interval;
    if (t->again) {
        return earliest;
    }
    if (t->asked_moved == t->h->moved) {
        return t->done + at_least(t->echo ? ECHO_NS : TICK_NS, t->interval);
    }
    t->stirred = t->stirred >= 0 ? t->stirred : now;
    return at_least(earliest, t->stirred + SETTLE_NS);
}

static struct topic *first_due(struct virtual_hub *h, int64_t now, int64_t *ret_at) {
    struct topic *found = NULL;
    *ret_at = INT64_MAX;
    for (struct topic *t = h->topics; t != NULL; t = t->next) {
        int64_t at = due(t, now);
        if (at < *ret_at) {
            *ret_at = at;
            found = t;
        }
    }
    *ret_at = h->n_asking < ASKING_MAX ? at_least(*ret_at, h->not_before) : INT64_MAX;
    return found;
}

/* ---- time ---- */

static int64_t next_of(const struct virtual_watcher *w) {
    bool mark = w->o.bookmarks && w->told && w->next_bookmark < w->deadline;
    return mark ? w->next_bookmark : w->deadline;
}

static void schedule(struct virtual_hub *h) {
    int64_t now = clock_mono(h->clock), at;
    (void)first_due(h, now, &at);
    for (const struct topic *t = h->topics; t != NULL; t = t->next) {
        for (const struct virtual_watcher *w = t->first; w != NULL; w = w->next) {
            at = next_of(w) < at ? next_of(w) : at;
        }
    }
    if (at != INT64_MAX) {
        h->clock->timer_start(h->timer, at > now ? at - now : 0);
    } else {
        h->clock->timer_stop(h->timer);
    }
}

static void mind_time(struct topic *t, int64_t now) {
    t->held++;
    for (struct virtual_watcher *w = t->first, *next; w != NULL; w = next) {
        next = w->next;
        bool over = now >= w->deadline;
        if (next_of(w) > now) {
            continue;
        }
        if (w->o.bookmarks && w->told && !w->behind) {
            (void)send_bookmark(w, false); /* one less is no harm */
        }
        w->next_bookmark = now + BOOKMARK_NS;
        if (over) {
            end(w, 0, NULL);
        }
    }
    t->held--;
    tidy(t);
}

static void on_timer(void *ctx) {
    struct virtual_hub *h = ctx;
    int64_t now = clock_mono(h->clock), at;
    h->stirred = false;
    for (struct topic *t = h->topics, *next; t != NULL; t = next) {
        next = t->next;
        if (t->answered && t->newcomers) {
            t->held++;
            tell_all(t);
            t->held--;
        }
        mind_time(t, now);
    }
    for (struct topic *t; (t = first_due(h, now, &at)) != NULL && at <= now;) {
        ask(t);
        now = clock_mono(h->clock);
    }
    schedule(h);
}

static void on_change(void *ctx, const struct change *c) {
    struct virtual_hub *h = ctx;
    if (c->obj->kind == h->events || c->obj->kind == h->leases) {
        return; /* no answer is made of them */
    }
    h->moved++;
    if (!h->stirred && h->topics != NULL) {
        h->stirred = true; /* the timer is set: that is enough until it fires */
        schedule(h);
    }
}

/* ---- the hub ---- */

struct virtual_hub *virtual_hub_new(struct clock *c, struct mirror *m) {
    struct virtual_hub *h = mem_zalloc(sizeof(*h));
    if (h == NULL) {
        return NULL;
    }
    h->clock = c;
    h->mirror = m;
    h->events = kind_by_name(STR(""), STR("Event"));
    h->leases = kind_by_name(STR("coordination.k8s.io"), STR("Lease"));
    h->timer = c->timer_new(c, on_timer, h);
    h->feed = mirror_feed(m, NULL, on_change, h);
    buf_init(&h->frames, 2 * LIMIT_COMPUTED_ANSWER);
    if (h->timer == NULL || h->feed == NULL) {
        virtual_hub_free(h);
        return NULL;
    }
    return h;
}

void virtual_hub_free(struct virtual_hub *h) {
    if (h == NULL) {
        return;
    }
    if (h->feed != NULL) {
        feed_free(h->feed);
    }
    h->clock->timer_free(h->timer);
    map_release(&h->by_key);
    buf_release(&h->frames);
    mem_free(h);
}

void virtual_hub_stop(struct virtual_hub *h) {
    h->stopped = true;
    for (struct topic *t = h->topics, *next; t != NULL; t = next) {
        next = t->next;
        end_all(t, 0, NULL);
    }
}

size_t virtual_hub_count(const struct virtual_hub *h) {
    return h->n;
}

static struct topic *topic_of(struct virtual_hub *h, struct str key) {
    struct topic *t = map_get(&h->by_key, key);
    if (t != NULL) {
        return t;
    }
    t = mem_zalloc(sizeof(*t) + key.n);
    if (t == NULL) {
        return NULL;
    }
    memcpy(t->key, key.p, key.n);
    t->n_key = key.n;
    t->h = h;
    t->items.max = LIMIT_COMPUTED_ANSWER;
    t->interval = LEAST_NS;
    if (map_put(&h->by_key, str_from(t->key, t->n_key), t, NULL) != 0) {
        mem_free(t);
        return NULL;
    }
    t->next = h->topics;
    if (h->topics != NULL) {
        h->topics->prev = t;
    }
    h->topics = t;
    return t;
}

static size_t of_user(const struct virtual_hub *h, uint64_t user) {
    size_t n = 0;
    for (const struct topic *t = h->topics; t != NULL; t = t->next) {
        for (const struct virtual_watcher *w = t->first; w != NULL; w = w->next) {
            n += w->user == user;
        }
    }
    return n;
}

int virtual_watch_start(struct virtual_hub *h, const struct virtual_watch_options *o,
                        struct virtual_watcher **ret, struct err *err) {
    uint64_t user = keyed_hash(o->user);
    int64_t now = clock_mono(h->clock);
    if (h->stopped || h->n >= LIMIT_COMPUTED_WATCHES ||
        of_user(h, user) >= LIMIT_COMPUTED_WATCHES_OF_USER) {
        return err_set(err, ERR_TOO_MANY, "too much that is computed is watched: try later");
    }
    struct virtual_watcher *w = mem_zalloc(sizeof(*w));
    struct topic *t = w != NULL ? topic_of(h, o->question) : NULL;
    if (t == NULL) {
        mem_free(w);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    w->o = *o;
    w->user = user;
    w->topic = t;
    w->deadline = now + o->seconds * NS_PER_SEC;
    w->next_bookmark = now + BOOKMARK_NS;
    w->prev = t->last;
    if (t->last != NULL) {
        t->last->next = w;
    } else {
        t->first = w;
    }
    t->last = w;
    t->newcomers = true;
    h->n++;
    *ret = w;
    h->clock->timer_start(h->timer, 0);
    return 0;
}
