/*
 * shim_state: DIR/state.json, whole, by rename: readers see the old or the new state. It is not
 * synced: a power cut ends the pod anyway, and what outlived it in the API is what counts then.
 */
#include <unistd.h>

#include "node/files/files.h"
#include "node/sandbox/proctree.h"
#include "node/sandbox/shim.h"

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
    buf_f(b, ",\"init\":%s,\"sidecar\":%s,\"state\":\"%s\",\"restarts\":%d",
          c->init ? "true" : "false", c->sidecar ? "true" : "false", states[c->state], c->restarts);
    if (c->state == CONTAINER_RUNNING) {
        buf_f(b, ",\"pid\":%d,\"startedNs\":%lld", (int)c->pid, (long long)c->started_ns);
    }
    add_end(b, "end", &c->end);
    add_end(b, "last", &c->last);
    buf_ch(b, '}');
}

void shim_state_write(struct shim *s, const char *phase) {
    struct buf b;

    buf_init(&b, 1 << 20);
    buf_f(&b, "{\"pid\":%d,\"start\":%llu,\"phase\":\"%s\",\"stopping\":%s,\"containers\":[",
          (int)getpid(), (unsigned long long)proc_start(getpid()), phase,
          s->stopping ? "true" : "false");
    for (size_t i = 0; i < s->n; i++) {
        if (i) {
            buf_ch(&b, ',');
        }
        add_container(&b, &s->v[i]);
    }
    buf_c(&b, "]}\n");
    if (buf_ok(&b) == 0) {
        file_store(s->dir, "state.json", buf_view(&b), 0600, NULL);
    }
    buf_release(&b);
    s->dirty = false;
}
