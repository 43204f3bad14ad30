/* see: see see.h. */
#include "control/see/see.h"

#include "base/mem.h"
#include "control/see/fleet.h"
#include "control/see/queue_explain.h"

struct see {
    struct queue_explain *explain;
    struct fleet *fleet;
};

struct see *see_new(struct queue_controller *q, struct err *err) {
    struct see *s = mem_zalloc(sizeof(*s));
    if (s != NULL) {
        s->explain = queue_explain_new(q);
        s->fleet = s->explain != NULL ? fleet_new(q) : NULL;
    }
    if (s == NULL || s->fleet == NULL) {
        see_free(s);
        err_set(err, ERR_NOMEM, "explanations and fleet: out of memory");
        return NULL;
    }
    return s;
}

void see_free(struct see *s) {
    if (s == NULL) {
        return;
    }
    fleet_free(s->fleet);
    queue_explain_free(s->explain);
    mem_free(s);
}
