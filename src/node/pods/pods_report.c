/*
 * pods_report: reports to the API: status (the newest, one write at a time), and the final delete.
 */
#include "base/mem.h"
#include "node/pods/pod_status.h"
#include "node/pods/pods_private.h"

static const char who[] = "berth-node";

static void remove_pod(struct pod *p);

void pod_shed(struct pod *p) {
    arena_release(&p->arena);
    arena_init(&p->arena, POD_ARENA);
    p->sources = NULL;
    p->n_sources = 0;
    p->devices = (struct pod_devices){0};
    p->uuids = NULL;
    mem_free(TAKE(p->shim_state));
    mem_free(TAKE(p->told));
    pod_quota_free(TAKE(p->quota));
    disk_walk_end(&p->walk);
}

static void on_status(void *ctx, const struct write_result *r) {
    struct pod *p = ctx;

    p->writing = false;
    if (r->code == 0 || r->code == ERR_NOT_FOUND) {
        p->reported |= p->state == POD_OVER && !p->dirty;
        if (p->reported && !p->waiting_answer) {
            pod_shed(p);
        }
    } else {
        log_warn(p->pods->o.log, "pod %s/%s: status: %s", p->ns, p->name, r->err.text);
        p->written_hash = 0;
        p->dirty = true; /* the tick tries again */
        pod_answered(p);
        return;
    }
    if (p->dirty || (p->state == POD_OVER && p->obj && p->obj->deleting_ns)) {
        pod_report(p);
    }
    pod_answered(p);
}

static void write_status(struct pod *p, yyjson_val *pod, yyjson_val *state) {
    struct pods *ps = p->pods;
    struct pod_status_in in = {.pod = pod,
                               .state = state,
                               .host_ip = ps->o.facts.host_ip,
                               .pod_ip = pod_ip(p),
                               .start_ns = p->start_ns,
                               .now_ns = clock_wall(ps->clock),
                               .reason = str_of(p->reason),
                               .message = str_of(p->message),
                               .failed = p->failed && p->state == POD_OVER,
                               .lost = p->lost};
    const char *phase;
    struct buf b;

    /* Deleted before anything ran: Kubernetes reports such a pod as failed. */
    in.failed |= p->state == POD_OVER && state == NULL && !p->lost;
    buf_init(&b, 1 << 20);
    pod_status_write(&in, &b, &phase);
    uint64_t hash = str_hash(buf_view(&b));
    p->dirty = false;
    if (buf_ok(&b) == 0 && hash != p->written_hash) {
        p->written_hash = hash;
        p->writing = true;
        writer_patch(ps->o.writer, who, ps->pod_kind, str_of(p->ns), str_of(p->name), "status",
                     PATCH_STRATEGIC, buf_view(&b), on_status, p);
    } else if (p->state == POD_OVER) {
        p->reported = true;
    }
    buf_release(&b);
}

void pod_report(struct pod *p) {
    struct arena a;
    yyjson_doc *doc, *state_doc = NULL;

    if (p->obj == NULL || p->gone) {
        return;
    }
    if (p->writing) {
        p->dirty = true;
        return;
    }
    if (!p->reported) {
        arena_init(&a, 64 << 20);
        if (object_tree(p->obj, &a, &doc, NULL) == 0 &&
            (p->shim_state == NULL ||
             json_parse(&a, str_of(p->shim_state), &state_doc, NULL) == 0)) {
            write_status(p, yyjson_doc_get_root(doc),
                         state_doc ? yyjson_doc_get_root(state_doc) : NULL);
        }
        arena_release(&a);
    }
    if (p->reported && !p->writing && p->obj->deleting_ns) {
        remove_pod(p);
    }
}

static void on_removed(void *ctx, const struct write_result *r) {
    struct pod *p = ctx;

    p->removing = p->writing = false;
    if (r->code && r->code != ERR_NOT_FOUND && r->code != ERR_CONFLICT) {
        p->dirty = true; /* the tick tries again */
    }
    pod_answered(p);
}

static void remove_pod(struct pod *p) {
    struct delete_options o = {.uid = str_of(p->uid), .grace_seconds = 0};

    if (p->removing) {
        return;
    }
    p->removing = p->writing = true;
    p->dirty = false;
    writer_remove(p->pods->o.writer, who, p->pods->pod_kind, str_of(p->ns), str_of(p->name), &o,
                  on_removed, p);
}
