/* csr_ttl: one key, the sweep. See csr_ttl.h. */
#include "control/kube/csr_ttl.h"

#include "control/kit/controller.h"
#include "wire/text/time.h"

enum { DECIDED_S = 3600, WAITING_S = 24 * 3600, SWEEP_S = 60, BURST = 500 }; /* [k8s] */

struct csr_sweep {
    struct controller *c;
    struct round *round;
    int64_t now;
    size_t n;
};

/* Until when it stays. */
static int64_t end_of(struct arena *a, const struct object *o) {
    int64_t decided = 0, at;
    yyjson_doc *d;
    yyjson_val *v;
    size_t i, max;
    arena_reset(a);
    if (object_tree(o, a, &d, NULL) != 0) {
        return INT64_MAX;
    }
    yyjson_val *list = json_path(yyjson_doc_get_root(d), "status.conditions");
    yyjson_arr_foreach(list, i, max, v) {
        at = o->created_ns;
        (void)time_parse(json_str_at(v, "lastUpdateTime"), &at, NULL);
        decided = at > decided ? at : decided;
    }
    return yyjson_arr_size(list) ? decided + DECIDED_S * NS_PER_SEC
                                 : o->created_ns + WAITING_S * NS_PER_SEC;
}

static bool sweep_one(void *ctx, const struct object *o) {
    struct csr_sweep *s = ctx;
    if (!o->deleting_ns && o->created_ns + DECIDED_S * NS_PER_SEC < s->now &&
        end_of(&s->c->arena, o) < s->now) {
        round_remove(s->round, o->kind, o->ns, o->name,
                     &(struct delete_options){.uid = o->uid, .rv = o->rv, .grace_seconds = -1});
        s->n++;
    }
    return s->n < BURST;
}

static enum work step(void *self, struct work_key key) {
    struct controller *c = self;
    struct csr_sweep s = {c, controller_begin(c), clock_wall(c->env.clock), 0};
    mirror_scan(c->env.mirror, c->kinds[0], STR(""), sweep_one, &s);
    workqueue_look(c->queue, key, s.n == BURST ? NS_PER_SEC : SWEEP_S * NS_PER_SEC);
    return round_end(s.round);
}

const struct controller_row csr_ttl_controller = {
    "event-ttl",
    CONTROL_EVENT_TTL,
    "certificate-signing-request-cleaner",
    CONTROLLER_KINDS({"certificates.k8s.io", "CertificateSigningRequest", .may = MAY_DELETE}),
    .every_ns = SWEEP_S * NS_PER_SEC,
    .step = step};
