/*
 * recorder: what was said lately, per object, so that it is not said again.
 *
 * A subject is one object (by uid) with its allowance; a note is one Event of it. A note with a write under way
 * collects further repeats in `dirty` and writes once when the answer comes. At most NOTES_MAX notes are remembered:
 * the subject not spoken of for longest is forgotten first, which costs at worst a new Event instead of a count.
 *
 * Events yield to the work they tell of. Few are being written at a time, more of them the more wait: while the store
 * is idle an answer comes in a fraction of a millisecond and all are written at once; under load each batch carries
 * some, and the rest waits its turn. Beyond WAITING_MAX they are dropped, as client-go's recorder does beyond 1,000.
 */
#include "control/kit/recorder.h"

#include <stdarg.h>

#include "api/schema/codec_encode.h"
#include "api/tables/view_misc.h"
#include "base/buf.h"
#include "base/keyed_hash.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/mem.h"

enum {
    NOTES_MAX = 4096,
    SIMILAR_MAX = 10,       /* different messages of one reason ... */
    SIMILAR_WINDOW_S = 600, /* ... within this long, before they are combined */
    BURST = 25,             /* events of one object at once, then ... */
    REFILL_S = 300,         /* ... one each */
    NAME_ROOM = LIMIT_NAME - 17,
    BODY_MAX = 16384,
    FLYING_MIN = 8,
    FLYING_MAX = 256,
    WAITING_SOME = 65536,    /* so many may wait for a quieter moment; beyond, ... */
    WAITING_PER_FLYING = 64, /* ... one more is written at a time for so many */
    WAITING_MAX = 98304,     /* about 70 MB */
};

#define COMBINED_PREFIX "(combined from similar events): "

struct errand { /* a write that waits or is under way; outlives its note when that is forgotten */
    struct errand *next;       /* of those that wait */
    struct recorder *recorder; /* NULL: gone meanwhile */
    struct note *note;
    size_t slot; /* of those under way */
    bool create;
    struct str ns, name, body; /* in text */
    char text[];
};

struct note {
    struct note *next;
    struct recorder_subject *subject;
    struct errand *errand; /* the write under way, or NULL */
    enum event_type type;
    const char *reason;
    uint64_t hash;  /* of the message; 0 for a combined note */
    uint64_t stamp; /* the hex in the name */
    bool dirty;
    int64_t count, first_ns, last_ns;
    char *latest; /* message of a combined note, else NULL */
};

struct recorder_subject {
    struct recorder_subject *newer, *older;
    struct note *notes;
    struct str uid, ns, name; /* in text; ns of the events */
    int64_t tokens_ns;        /* allowance, in ns of refill: BURST * REFILL_S at most */
    int64_t tokens_at;
    char text[];
};

struct recorder {
    struct control_env env;
    const char *component;
    const struct kind *events;
    struct map by_uid;
    struct recorder_subject ring; /* head: .newer is the oldest, .older the newest */
    size_t notes;
    uint64_t serial, salt;
    struct errand *flying[FLYING_MAX];
    size_t n_flying;
    struct errand *waiting, **waiting_end;
    size_t n_waiting;
    uint64_t dropped; /* not told of yet */
    bool sending;     /* answers may come inside a call of the writer */
};

struct recorder *recorder_new(const struct control_env *env, const char *component) {
    struct recorder *r = mem_zalloc(sizeof *r);
    if (r == NULL) {
        return NULL;
    }
    r->env = *env;
    r->component = component;
    r->events = kind_by_name(STR(""), STR("Event"));
    r->ring.newer = r->ring.older = &r->ring;
    r->waiting_end = &r->waiting;
    r->salt = str_hash(str_of(component)) % 1000;
    return r;
}

static void note_free(struct recorder *r, struct note *n) {
    if (n->errand) {
        n->errand->note = NULL;
    }
    mem_free(n->latest);
    mem_free(n);
    r->notes--;
}

static void subject_unlink(struct recorder_subject *s) {
    s->newer->older = s->older;
    s->older->newer = s->newer;
}

static void subject_link_newest(struct recorder *r, struct recorder_subject *s) {
    s->newer = &r->ring;
    s->older = r->ring.older;
    s->older->newer = s;
    r->ring.older = s;
}

static void subject_free(struct recorder *r, struct recorder_subject *s) {
    map_del(&r->by_uid, s->uid);
    subject_unlink(s);
    while (s->notes) {
        struct note *n = s->notes;
        s->notes = n->next;
        note_free(r, n);
    }
    mem_free(s);
}

void recorder_free(struct recorder *r) {
    if (r == NULL) {
        return;
    }
    while (r->ring.newer != &r->ring) {
        subject_free(r, r->ring.newer);
    }
    while (r->waiting) {
        struct errand *e = r->waiting;
        r->waiting = e->next;
        mem_free(e);
    }
    for (size_t i = 0; i < FLYING_MAX; i++) {
        if (r->flying[i]) {
            r->flying[i]->recorder = NULL;
        }
    }
    map_release(&r->by_uid);
    mem_free(r);
}

static struct recorder_subject *subject_new(struct recorder *r, const struct object *o) {
    struct str ns = str_empty(o->ns) ? STR("default") : o->ns;
    struct str name = str_head(o->name, NAME_ROOM);
    struct recorder_subject *s = mem_zalloc(sizeof *s + o->uid.n + ns.n + name.n);
    if (s == NULL) {
        return NULL;
    }
    char *p = s->text;
    memcpy(p, o->uid.p, o->uid.n);
    s->uid = str_from(p, o->uid.n);
    p += o->uid.n;
    memcpy(p, ns.p, ns.n);
    s->ns = str_from(p, ns.n);
    p += ns.n;
    memcpy(p, name.p, name.n);
    s->name = str_from(p, name.n);
    s->tokens_ns = (int64_t)BURST * REFILL_S * NS_PER_SEC;
    s->tokens_at = clock_mono(r->env.clock);
    if (map_put(&r->by_uid, s->uid, s, NULL) != 0) {
        mem_free(s);
        return NULL;
    }
    subject_link_newest(r, s);
    return s;
}

static bool subject_may_speak(struct recorder *r, struct recorder_subject *s) {
    const int64_t one = REFILL_S * NS_PER_SEC, full = BURST * one;
    int64_t now = clock_mono(r->env.clock);
    int64_t gained = now - s->tokens_at;
    s->tokens_ns = gained > full - s->tokens_ns ? full : s->tokens_ns + gained;
    s->tokens_at = now;
    if (s->tokens_ns < one) {
        return false;
    }
    s->tokens_ns -= one;
    return true;
}

static void write_update(struct recorder *r, struct note *n);

/* Its write failed: expired meanwhile, refused, or one too many. The next repeat starts a new Event. */
static void note_drop(struct recorder *r, struct note *n) {
    struct note **p = &n->subject->notes;
    while (*p != n) {
        p = &(*p)->next;
    }
    *p = n->next;
    note_free(r, n);
}

static void send_waiting(struct recorder *r);

static void answered(void *ctx, const struct write_result *res) {
    struct errand *e = ctx;
    struct recorder *r = e->recorder;
    struct note *n = r ? e->note : NULL;
    if (r) {
        r->flying[e->slot] = NULL;
        r->n_flying--;
    }
    if (n) {
        n->errand = NULL;
        if (res->code != 0) {
            note_drop(r, n);
        } else if (n->dirty) {
            write_update(r, n);
        }
    }
    mem_free(e);
    if (r) {
        send_waiting(r);
    }
}

static void send(struct recorder *r, struct errand *e) {
    e->slot = 0;
    while (r->flying[e->slot]) {
        e->slot++;
    }
    r->flying[e->slot] = e;
    r->n_flying++;
    if (e->create) {
        writer_create(r->env.writer, r->component, r->events, e->ns, e->body, answered, e);
    } else {
        writer_patch(r->env.writer, r->component, r->events, e->ns, e->name, "", PATCH_MERGE,
                     e->body, answered, e);
    }
}

static size_t waiting_max(const struct recorder *r) {
    return r->env.events_waiting ? r->env.events_waiting : WAITING_MAX;
}

static bool may_fly(const struct recorder *r) {
    size_t many = r->n_waiting > WAITING_SOME ? r->n_waiting - WAITING_SOME : 0;
    size_t most = FLYING_MIN + many / WAITING_PER_FLYING;
    return r->n_flying < (most < FLYING_MAX ? most : FLYING_MAX);
}

static void send_waiting(struct recorder *r) {
    if (r->sending) {
        return;
    }
    r->sending = true;
    while (r->waiting && may_fly(r)) {
        struct errand *e = r->waiting;
        r->waiting = e->next;
        r->waiting_end = r->waiting ? r->waiting_end : &r->waiting;
        r->n_waiting--;
        send(r, e);
    }
    r->sending = false;
    if (r->dropped && r->waiting == NULL) {
        log_warn(r->env.log, "events: %llu were dropped: more than %zu waited to be written",
                 (unsigned long long)r->dropped, waiting_max(r));
        r->dropped = 0;
    }
}

/* Takes the note to the store, in its turn. False: it is not to be; the caller drops the note. */
static bool write_soon(struct recorder *r, struct note *n, bool create, struct str name,
                       struct str body) {
    struct str ns = n->subject->ns;
    struct errand *e =
        r->n_waiting < waiting_max(r) ? mem_zalloc(sizeof *e + ns.n + name.n + body.n) : NULL;
    if (e == NULL) {
        r->dropped++;
        return false;
    }
    e->recorder = r;
    e->note = n;
    e->create = create;
    memcpy(e->text, ns.p, ns.n);
    if (name.n > 0) { /* one that is to be made has its name in the body */
        memcpy(e->text + ns.n, name.p, name.n);
    }
    memcpy(e->text + ns.n + name.n, body.p, body.n);
    e->ns = str_from(e->text, ns.n);
    e->name = str_from(e->text + ns.n, name.n);
    e->body = str_from(e->text + ns.n + name.n, body.n);
    n->errand = e;
    *r->waiting_end = e;
    r->waiting_end = &e->next;
    r->n_waiting++;
    send_waiting(r);
    return true;
}

static void write_update(struct recorder *r, struct note *n) {
    struct event was = {0}, now = {.count = (int32_t)(n->count < INT32_MAX ? n->count : INT32_MAX),
                                   .last_ns = n->last_ns,
                                   .message = str_of(n->latest ? n->latest : "")};
    struct buf b;
    buf_init(&b, BODY_MAX);
    (void)codec_patch(&schema_event, &was, &now, NULL, &b);
    char name[LIMIT_NAME + 1];
    int len = snprintf(name, sizeof name, "%.*s.%llx", STR_ARG(n->subject->name),
                       (unsigned long long)n->stamp);
    n->dirty = false;
    if (buf_ok(&b) == 0) {
        (void)write_soon(r, n, false, str_from(name, (size_t)len), buf_view(&b));
    }
    buf_release(&b);
}

static void write_create(struct recorder *r, struct note *n, const struct object *about,
                         struct str message) {
    char name[LIMIT_NAME + 32], version[24];
    int len = snprintf(name, sizeof name, "%.*s.%llx", STR_ARG(n->subject->name),
                       (unsigned long long)n->stamp);
    int digits = snprintf(version, sizeof version, "%llu", (unsigned long long)about->rv);
    struct meta meta = {.name = str_from(name, (size_t)len), .namespace = n->subject->ns};
    struct object_reference of = {.api_version = str_of(kind_api_version(about->kind)),
                                  .kind = str_of(about->kind->kind),
                                  .namespace = about->ns,
                                  .name = about->name,
                                  .uid = about->uid,
                                  .resource_version = str_from(version, (size_t)digits)};
    struct event_source source = {.component = str_of(r->component)};
    struct event e = {.metadata = &meta,
                      .involved_object = &of,
                      .reason = str_of(n->reason),
                      .message = message,
                      .source = &source,
                      .count = (int32_t)(n->count < INT32_MAX ? n->count : INT32_MAX),
                      .type = n->type == EVENT_WARNING ? STR("Warning") : STR("Normal"),
                      .first_ns = n->first_ns,
                      .last_ns = n->last_ns,
                      .reporting_component = str_of(r->component)};
    struct buf b;
    buf_init(&b, BODY_MAX);
    codec_encode_object(r->events, &e, &b);
    if (buf_ok(&b) != 0 || !write_soon(r, n, true, (struct str){0}, buf_view(&b))) {
        note_drop(r, n);
    }
    buf_release(&b);
}

static struct note *note_find(struct recorder_subject *s, enum event_type type, const char *reason,
                              uint64_t hash) {
    for (struct note *n = s->notes; n; n = n->next) {
        if (n->type == type && n->hash == hash && strcmp(n->reason, reason) == 0) {
            return n;
        }
    }
    return NULL;
}

static size_t similar_lately(const struct recorder_subject *s, enum event_type type,
                             const char *reason, int64_t now) {
    size_t count = 0;
    for (const struct note *n = s->notes; n; n = n->next) {
        count += n->hash && n->type == type && strcmp(n->reason, reason) == 0 &&
                 now - n->first_ns < SIMILAR_WINDOW_S * NS_PER_SEC;
    }
    return count;
}

static struct note *note_new(struct recorder *r, struct recorder_subject *s, enum event_type type,
                             const char *reason, uint64_t hash, int64_t now) {
    while (r->notes >= NOTES_MAX && r->ring.newer != s) {
        subject_free(r, r->ring.newer);
    }
    struct note *n = mem_zalloc(sizeof *n);
    if (n == NULL) {
        return NULL;
    }
    *n = (struct note){.subject = s,
                       .type = type,
                       .reason = reason,
                       .hash = hash,
                       .first_ns = now,
                       .last_ns = now,
                       .count = 1,
                       .next = s->notes};
    /* Microseconds, then what keeps two components, and two events of one instant of virtual time, apart. */
    n->stamp = (uint64_t)now / 1000 * 1000 + (r->salt + r->serial++) % 1000;
    s->notes = n;
    r->notes++;
    return n;
}

static void note_repeat(struct recorder *r, struct note *n, int64_t now) {
    n->count++;
    n->last_ns = now;
    n->dirty = true;
    if (n->errand == NULL) {
        write_update(r, n);
    }
}

static void say(struct recorder *r, const struct object *about, enum event_type type,
                const char *reason, struct str message) {
    struct recorder_subject *s = map_get(&r->by_uid, about->uid);
    if (s) {
        subject_unlink(s);
        subject_link_newest(r, s);
    } else {
        s = subject_new(r, about);
    }
    if (s == NULL || !subject_may_speak(r, s)) {
        return;
    }
    int64_t now = clock_wall(r->env.clock);
    uint64_t hash = keyed_hash(message) | 1;
    struct note *n = note_find(s, type, reason, hash);
    bool combine = n == NULL && similar_lately(s, type, reason, now) >= SIMILAR_MAX;
    char text[LIMIT_EVENT_MESSAGE + 1];
    if (combine) {
        int len = snprintf(text, sizeof text, COMBINED_PREFIX "%.*s", STR_ARG(message));
        message = str_head(str_of(text), (size_t)len);
        n = note_find(s, type, reason, 0);
    }
    if (n) {
        if (combine) {
            mem_free(n->latest);
            n->latest = mem_cstr(message);
        }
        note_repeat(r, n, now);
        return;
    }
    n = note_new(r, s, type, reason, combine ? 0 : hash, now);
    if (n) {
        write_create(r, n, about, message);
    }
}

void recorder_event(struct recorder *r, const struct object *about, enum event_type type,
                    const char *reason, const char *fmt, ...) {
    if (r == NULL || r->events == NULL || about == NULL || str_empty(about->uid)) {
        return;
    }
    char text[LIMIT_EVENT_MESSAGE + 1];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (n < 0) {
        return;
    }
    size_t len = (size_t)n;
    if (len > LIMIT_EVENT_MESSAGE) {
        len = LIMIT_EVENT_MESSAGE;
        memcpy(text + len - 4, " ...", 4);
    }
    say(r, about, type, reason, str_from(text, len));
}
