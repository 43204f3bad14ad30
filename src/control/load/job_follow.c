/* job_follow: see job_follow.h. */
#include "control/load/job_follow.h"

#include "api/kinds/queue_notes.h"
#include "base/limits.h"

void job_ready_set(struct workload_change *ch, bool admitted, bool ready) {
    const struct condition *c = conditions_find(&ch->status.conditions, "PodsReady");
    bool recovers = c && (str_is(c->reason, "WaitForRecovery") || str_is(c->reason, "Recovered"));
    if (!admitted || (!ready && !recovers && !(c && str_is(c->status, "True")))) {
        workload_change_set(ch, "PodsReady", false, "WaitForStart",
                            STR("Not all pods are ready or succeeded"));
    } else if (!ready) {
        workload_change_set(ch, "PodsReady", false, "WaitForRecovery",
                            STR("At least one pod has failed, waiting for recovery"));
    } else {
        workload_change_set(ch, "PodsReady", true, recovers ? "Recovered" : "Started",
                            STR("All pods reached readiness and the workload is running"));
    }
}

/* ---- annotations ---- */

static bool shared(struct str key) {
    return str_is(key, "berth.dev/protected-until") || str_is(key, "berth.dev/minimum-runtime") ||
           str_is(key, KUEUE_GATED_ANNOTATION) || str_starts(key, STR("provreq.kueue.x-k8s.io/"));
}

/* A gate that was opened on the Workload alone stays open: nobody may close one. */
static bool closes(struct str key, yyjson_val *was, struct str now) {
    return str_is(key, KUEUE_GATED_ANNOTATION) && !queue_gates_within(now, json_str(was));
}

bool job_annotations_write(yyjson_val *now, yyjson_val *had, bool first, struct buf *out) {
    size_t i, max, n = 0;
    yyjson_val *key, *v;
    if (yyjson_is_obj(now)) {
        yyjson_obj_foreach(now, i, max, key, v) {
            struct str name = json_str(key);
            yyjson_val *was = shared(name) ? json_get(had, name) : NULL;
            if (shared(name) && (!was || !str_eq(json_str(was), json_str(v))) &&
                (first || !closes(name, was, json_str(v)))) {
                buf_c(out, n++ ? "," : "");
                buf_json(out, name);
                buf_c(out, ":");
                buf_json(out, json_str(v));
            }
        }
    }
    if (yyjson_is_obj(had)) {
        yyjson_obj_foreach(had, i, max, key, v) {
            if (shared(json_str(key)) && !json_get(now, json_str(key))) {
                buf_c(out, n++ ? "," : "");
                buf_json(out, json_str(key));
                buf_c(out, ":null");
            }
        }
    }
    return n > 0;
}

struct str job_pending_checks(const struct workload *wl, struct arena *a) {
    struct buf b;
    buf_init(&b, LIMIT_EVENT_MESSAGE * 2);
    for (size_t i = 0; wl->status && i < wl->status->admission_checks.n; i++) {
        const struct admission_check_state *c = &wl->status->admission_checks.v[i];
        if (str_is(c->state, "Pending") && !str_empty(c->message)) {
            buf_f(&b, "%s%.*s: %.*s", b.n ? "; " : "", STR_ARG(c->name), STR_ARG(c->message));
        }
    }
    struct str text = b.n ? arena_str(a, buf_view(&b)) : (struct str){0};
    buf_release(&b);
    return text;
}
