/* body: see body.h. */
#include "control/kit/body.h"

#include "wire/json/json.h"
#include "wire/text/time.h"

void write_time(struct buf *out, const char *name, int64_t ns) {
    char text[TIME_TEXT_MAX];
    buf_f(out, ",\"%s\":", name);
    if (ns) {
        buf_json(out, time_text(ns, text));
    } else {
        buf_c(out, "null");
    }
}

static void write_text(struct buf *out, const char *name, struct str value) {
    buf_f(out, ",\"%s\":", name);
    buf_json(out, value);
}

void write_conditions(struct buf *out, const struct condition_list *l, bool with_probe) {
    buf_c(out, "[");
    for (size_t i = 0; i < l->n; i++) {
        const struct condition *c = &l->v[i];
        buf_c(out, i ? ",{\"type\":" : "{\"type\":");
        buf_json(out, c->type);
        write_text(out, "status", c->status);
        if (with_probe) {
            write_time(out, "lastProbeTime", c->last_probe_ns);
        }
        write_time(out, "lastTransitionTime", c->last_transition_ns);
        if (c->observed_generation) {
            buf_f(out, ",\"observedGeneration\":%lld", (long long)c->observed_generation);
        }
        write_text(out, "reason", c->reason);
        write_text(out, "message", c->message);
        buf_c(out, "}");
    }
    buf_c(out, "]");
}
