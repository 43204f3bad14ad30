/* admission_cron: a CronJob's time zone is one that this machine knows. On a cluster the API server looks itself. */
#include "control/admit/admission.h"
#include "wire/text/zone.h"

static int validate(const struct admission_context *c, struct admission_ask *q, struct err *err) {
    struct str name = json_mstr_at(q->obj, "spec.timeZone");
    const struct zone *z;
    (void)err;
    if (q->op == ADMISSION_DELETE || q->subresource.n > 0 || name.n == 0 ||
        (q->old && str_eq(json_str_at(q->old, "spec.timeZone"), name))) {
        return 0;
    }
    bool known = c->zones ? zones_get(c->zones, name, &z, NULL) == 0 : str_is(name, "UTC");
    if (!known) {
        causes_add(&q->causes, CAUSE_INVALID, STR("spec.timeZone"),
                   "Invalid value: \"%.*s\": unknown time zone %.*s", STR_ARG(str_head(name, 64)),
                   STR_ARG(str_head(name, 64)));
    }
    return 0;
}

const struct admission_row admission_cron_rows[] = {{"batch", "CronJob", NULL, validate}, {0}};
