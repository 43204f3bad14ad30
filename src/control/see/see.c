/* see: see see.h. */
#include "control/see/see.h"

#include "base/mem.h"
#include "control/see/fleet.h"
#include "control/see/model_catalog.h"
#include "control/see/queue_explain.h"

struct see {
    struct queue_explain *explain;
    struct fleet *fleet;
    struct model_catalog *catalog;
};

struct see *see_new(struct queue_controller *q, struct err *err) {
    struct see *s = mem_zalloc(sizeof(*s));
    if (s != NULL) {
        s->explain = queue_explain_new(q);
        s->fleet = s->explain != NULL ? fleet_new(q) : NULL;
        s->catalog = s->fleet != NULL ? model_catalog_new(s->fleet) : NULL;
    }
    if (s == NULL || s->catalog == NULL) {
        see_free(s);
        err_set(err, ERR_NOMEM, "explanations, fleet and catalog: out of memory");
        return NULL;
    }
    return s;
}

void see_free(struct see *s) {
    if (s == NULL) {
        return;
    }
    model_catalog_free(s->catalog);
    fleet_free(s->fleet);
    queue_explain_free(s->explain);
    mem_free(s);
}
