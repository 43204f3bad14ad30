/*
 * shim_state: DIR/state.json, whole, by rename: readers see the old or the new state. It is not
 * synced: a power cut ends the pod anyway, and what outlived it in the API is what counts then.
 */
#include <stdarg.h>
#include <unistd.h>

#include "base/clock.h"
#include "node/files/files.h"
#include "node/sandbox/shim.h"

/* Events alone may wait so long for others. */
enum { EVENT_LATE_MS = 300 };

static void add_end(struct buf *b, const char *name, const struct shim_ended *e) {
    if (!e->set) {
        return;
    }
    buf_f(
        b,
        ",\"%s\":{\"exitCode\":%d,\"signal\":%d,\"startedNs\":%lld,\"finishedNs\":%lld,\"reason\":",
        name, e->exit_code, e->signal, (long long)e->started_ns, (long long)e->finished_ns);
    buf_json(b, str_of(e->reason));
    buf_c(b, ",\"message\":");
    buf_json(b, str_of(e->message));
    buf_ch(b, '}');
}

static void add_container(struct buf *b, const struct shim_container *c) {
    static const char *const states[] = {"waiting", "running", "backoff", "done"};

    buf_c(b, "{\"name\":");
    buf_json(b, c->name);
    if (c->image_id.n) {
        buf_c(b, ",\"imageID\":");
        buf_json(b, c->image_id);
    }
    buf_f(b, ",\"init\":%s,\"sidecar\":%s,\"state\":\"%s\",\"restarts\":%d",
          c->init ? "true" : "false", c->sidecar ? "true" : "false", states[c->state], c->restarts);
    if (c->state == CONTAINER_RUNNING) {
        buf_f(b, ",\"pid\":%d,\"startedNs\":%lld,\"started\":%s,\"ready\":%s", (int)c->pid,
              (long long)c->started_ns, c->started ? "true" : "false", c->ready ? "true" : "false");
    } else if (c->state == CONTAINER_BACKOFF) {
        buf_f(b, ",\"waitMs\":%lld", (long long)c->wait_ms);
    }
    add_end(b, "end", &c->end);
    add_end(b, "last", &c->last);
    buf_ch(b, '}');
}

static void add_event(struct buf *b, const struct shim_happening *e) {
    buf_f(b,
          "{\"seq\":%llu,\"warning\":%s,\"reason\":\"%s\",\"count\":%d,\"firstNs\":%lld,"
          "\"lastNs\":%lld,\"container\":",
          (unsigned long long)e->seq, e->warning ? "true" : "false", e->reason, e->count,
          (long long)e->first_ns, (long long)e->last_ns);
    buf_json(b, e->container);
    buf_c(b, ",\"message\":");
    buf_json(b, str_of(e->text));
    buf_ch(b, '}');
}

/* Oldest first. */
static void add_events(struct buf *b, const struct shim *s) {
    bool first = true;

    buf_c(b, ",\"events\":[");
    for (int i = 0; i < SHIM_EVENTS; i++) {
        if (s->events[i].seq) {
            buf_c(b, first ? "" : ",");
            add_event(b, &s->events[i]);
            first = false;
        }
    }
    buf_ch(b, ']');
}

void shim_tell(struct shim *s, const struct shim_container *c, bool warning, const char *reason,
               const char *fmt, ...) {
    char text[SHIM_TEXT];
    struct str who = c ? c->name : STR("");
    struct shim_happening *e = NULL, *oldest = &s->events[0];
    int64_t now = shim_wall();
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    for (int i = 0; i < SHIM_EVENTS; i++) {
        struct shim_happening *x = &s->events[i];
        oldest = x->seq < oldest->seq ? x : oldest;
        if (x->seq && !strcmp(x->reason, reason) && str_eq(x->container, who) &&
            !strcmp(x->text, text)) {
            e = x;
        }
    }
    if (e == NULL) {
        e = oldest;
        *e = (struct shim_happening){
            .warning = warning, .reason = reason, .container = who, .first_ns = now};
        memcpy(e->text, text, sizeof(text));
    }
    e->seq = ++s->seq;
    e->last_ns = now;
    e->count++;
    if (s->late_mono == 0) {
        s->late_mono = shim_mono() + EVENT_LATE_MS * NS_PER_MS;
    }
}

void shim_state_write(struct shim *s, const char *phase) {
    struct buf b;

    buf_init(&b, 1 << 20);
    buf_c(&b, "{\"unmet\":");
    buf_json(&b, str_of(s->unmet));
    /* A cell whose process 1 was reaped has none left: the kernel ends it last. */
    bool ended = strcmp(phase, "Running") != 0 && s->sandbox.walls && s->cell.init == 0;
    buf_f(
        &b,
        ",\"pid\":%d,\"start\":%llu,\"phase\":\"%s\",\"stopping\":%s,\"ended\":%s,\"containers\":[",
        (int)getpid(), (unsigned long long)s->start, phase, s->stopping ? "true" : "false",
        ended ? "true" : "false");
    for (size_t i = 0; i < s->n; i++) {
        if (i) {
            buf_ch(&b, ',');
        }
        add_container(&b, &s->v[i]);
    }
    buf_ch(&b, ']');
    add_events(&b, s);
    buf_c(&b, "}\n");
    if (buf_ok(&b) == 0) {
        file_store(s->dir, "state.json", buf_view(&b), 0600, NULL);
    }
    buf_release(&b);
    s->dirty = false;
    s->dirty_mono = s->late_mono = 0;
}
