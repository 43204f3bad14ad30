/* job_events: compares the conditions before and after a change. */
#include "control/kube/job_events.h"

#include "wire/json/json.h"

static yyjson_val *condition(yyjson_val *list, const char *type) {
    size_t i, n;
    yyjson_val *c;
    yyjson_arr_foreach(list, i, n, c) {
        if (str_is(json_str_at(c, "type"), type)) {
            return c;
        }
    }
    return NULL;
}

static void tell(struct recorder *r, const struct object *job, yyjson_val *old, yyjson_val *new) {
    static const struct {
        const char *type, *status, *reason; /* reason NULL: the condition's, as a warning */
    } told[] = {
        {"Suspended", "True", "Suspended"},
        {"Suspended", "False", "Resumed"},
        {"Complete", "True", "Completed"},
        {"Failed", "True", NULL},
    };
    static const char *const reasons[] = {"BackoffLimitExceeded", "DeadlineExceeded",
                                          "PodFailurePolicy", "MaxFailedIndexesExceeded",
                                          "FailedIndexes"};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        yyjson_val *c = condition(new, told[i].type);
        if (!str_is(json_str_at(c, "status"), told[i].status) ||
            str_is(json_str_at(condition(old, told[i].type), "status"), told[i].status)) {
            continue;
        }
        struct str message = json_str_at(c, "message"), reason = json_str_at(c, "reason");
        if (told[i].reason) {
            bool done = str_is(str_of(told[i].reason), "Completed");
            recorder_event(r, job, EVENT_NORMAL, told[i].reason, "%.*s",
                           STR_ARG(done ? STR("Job completed") : message));
            continue;
        }
        const char *name = "Failed";
        for (size_t k = 0; k < sizeof reasons / sizeof *reasons; k++) {
            name = str_is(reason, reasons[k]) ? reasons[k] : name;
        }
        recorder_event(r, job, EVENT_WARNING, name, "%.*s", STR_ARG(message));
    }
}

void job_events_tell(struct recorder *r, const struct change *c) {
    struct arena a;
    yyjson_doc *old, *new;
    if (c->type != CHANGE_MODIFIED || c->old == NULL) {
        return;
    }
    arena_init(&a, 64 << 20);
    if (object_tree(c->old, &a, &old, NULL) == 0 && object_tree(c->obj, &a, &new, NULL) == 0) {
        tell(r, c->obj, json_path(yyjson_doc_get_root(old), "status.conditions"),
             json_path(yyjson_doc_get_root(new), "status.conditions"));
    }
    arena_release(&a);
}
