/*
 * pods_tell: Events of pods: what the node has to say, and what a shim wrote down in state.json.
 *
 * What a shim says again and again (a probe that fails each second) is one Event whose count grows, written every
 * COUNT_S seconds; and a pod has TELL_BURST new ones at once, then one each TELL_REFILL_S, as with Kubernetes' own.
 */
#include <stdarg.h>

#include "base/mem.h"
#include "node/pods/pods_private.h"
#include "wire/text/time.h"

enum { TELL_BURST = 25, TELL_REFILL_S = 60, COUNT_S = 10 };

static const char who[] = "berth-node";

struct pod_telling {
    bool warning;
    const char *name; /* of the Event */
    struct str reason, message, container;
    bool init;
    int64_t count, first_ns, last_ns;
};

static void add_text(struct buf *b, const char *name, struct str value) {
    buf_f(b, ",\"%s\":", name);
    buf_json(b, value);
}

static void on_event_written(void *ctx, const struct write_result *r) {
}

static void write_event(struct pod *p, const struct pod_telling *t) {
    struct pods *ps = p->pods;
    char stamp[TIME_TEXT_MAX];
    struct buf b;

    buf_init(&b, 1 << 16);
    buf_c(&b, "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{\"name\":");
    buf_json(&b, str_of(t->name));
    add_text(&b, "namespace", str_of(p->ns));
    buf_c(&b, "},\"involvedObject\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\"");
    add_text(&b, "namespace", str_of(p->ns));
    add_text(&b, "name", str_of(p->name));
    add_text(&b, "uid", str_of(p->uid));
    if (t->container.n) {
        buf_f(&b, ",\"fieldPath\":\"spec.%s{%.*s}\"", t->init ? "initContainers" : "containers",
              STR_ARG(t->container));
    }
    buf_f(&b, "},\"type\":\"%s\",\"count\":%lld", t->warning ? "Warning" : "Normal",
          (long long)t->count);
    add_text(&b, "reason", t->reason);
    add_text(&b, "message", t->message);
    add_text(&b, "firstTimestamp", time_text(t->first_ns, stamp));
    add_text(&b, "lastTimestamp", time_text(t->last_ns, stamp));
    buf_c(&b, ",\"source\":{\"component\":\"berth-node\"");
    add_text(&b, "host", str_of(ps->o.node_name));
    buf_c(&b, "},\"reportingComponent\":\"berth-node\"");
    add_text(&b, "reportingInstance", str_of(ps->o.node_name));
    buf_ch(&b, '}');
    if (buf_ok(&b) == 0) {
        writer_create(ps->o.writer, who, ps->event_kind, str_of(p->ns), buf_view(&b),
                      on_event_written, NULL);
    }
    buf_release(&b);
}

static void new_name(struct pod *p, int64_t now, char out[300]) {
    snprintf(out, 300, "%.200s.%llx%02x", p->name, (unsigned long long)now,
             (unsigned)(p->pods->events++ & 0xff));
}

void pod_tell(struct pod *p, bool warning, const char *reason, const char *fmt, ...) {
    char text[1024], name[300];
    int64_t now = clock_wall(p->pods->clock);
    va_list ap;

    if (p->obj == NULL) {
        return;
    }
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    new_name(p, now, name);
    const struct pod_telling t = {.warning = warning,
                                  .name = name,
                                  .reason = str_of(reason),
                                  .message = str_of(text),
                                  .count = 1,
                                  .first_ns = now,
                                  .last_ns = now};
    write_event(p, &t);
}

/* ---- what the shim says ---- */

static bool may_tell(struct pod *p, int64_t now_mono) {
    int64_t more = (now_mono - p->tell_mono) / (TELL_REFILL_S * NS_PER_SEC);

    if (p->tell_mono == 0) {
        p->tell_mono = now_mono;
        p->tells = TELL_BURST;
    } else if (more > 0) {
        p->tell_mono += more * TELL_REFILL_S * NS_PER_SEC;
        p->tells = p->tells + more > TELL_BURST ? TELL_BURST : p->tells + (int)more;
    }
    if (p->tells == 0) {
        return false;
    }
    p->tells--;
    return true;
}

static void write_count(struct pod *p, const struct pod_told *told, int64_t count,
                        int64_t last_ns) {
    char stamp[TIME_TEXT_MAX], name[300];
    struct buf b;

    snprintf(name, sizeof(name), "%.200s.%s", p->name, told->suffix);
    buf_init(&b, 1024);
    buf_f(&b, "{\"count\":%lld", (long long)count);
    add_text(&b, "lastTimestamp", time_text(last_ns, stamp));
    buf_ch(&b, '}');
    if (buf_ok(&b) == 0) {
        writer_patch(p->pods->o.writer, who, p->pods->event_kind, str_of(p->ns), str_of(name), "",
                     PATCH_MERGE, buf_view(&b), on_event_written, NULL);
    }
    buf_release(&b);
}

/* The one that was told with this key; else the one told longest ago. */
static struct pod_told *told_slot(struct pod *p, uint64_t key) {
    p->told = p->told ? p->told : mem_zalloc(POD_TOLD * sizeof(*p->told));
    struct pod_told *oldest = p->told;

    for (int i = 0; oldest && i < POD_TOLD; i++) {
        if (p->told[i].key == key && p->told[i].count) {
            return &p->told[i];
        }
        oldest = p->told[i].mono < oldest->mono ? &p->told[i] : oldest;
    }
    if (oldest) {
        *oldest = (struct pod_told){.key = key};
    }
    return oldest;
}

static void tell_one(struct pod *p, yyjson_val *e, bool init, int64_t now_mono) {
    struct pod_telling t = {.warning = json_bool_at(e, "warning", false),
                            .reason = json_str_at(e, "reason"),
                            .message = json_str_at(e, "message"),
                            .container = json_str_at(e, "container"),
                            .init = init,
                            .count = json_i64_at(e, "count", 1),
                            .first_ns = json_i64_at(e, "firstNs", 0),
                            .last_ns = json_i64_at(e, "lastNs", 0)};
    uint64_t key = str_hash(t.reason) * 31 + str_hash(t.message) * 7 + str_hash(t.container);
    struct pod_told *told = told_slot(p, key);
    char name[300];

    if (told == NULL || told->count >= t.count) {
        return;
    }
    if (told->count && now_mono - told->mono < COUNT_S * NS_PER_SEC) {
        return; /* the next time that it is said */
    }
    if (told->count) {
        write_count(p, told, t.count, t.last_ns);
    } else if (may_tell(p, now_mono)) {
        new_name(p, t.last_ns, name);
        snprintf(told->suffix, sizeof(told->suffix), "%s", strrchr(name, '.') + 1);
        t.name = name;
        write_event(p, &t);
    } else {
        return;
    }
    told->count = t.count;
    told->mono = now_mono;
}

static bool is_init(yyjson_val *state, struct str name) {
    yyjson_arr_iter it;
    yyjson_val *c;

    yyjson_arr_iter_init(json_get(state, STR("containers")), &it);
    while ((c = yyjson_arr_iter_next(&it))) {
        if (str_eq(json_str_at(c, "name"), name)) {
            return json_bool_at(c, "init", false);
        }
    }
    return false;
}

void pod_tell_state(struct pod *p, yyjson_val *state) {
    int64_t now = clock_mono(p->pods->clock), newest = p->told_seq;
    yyjson_arr_iter it;
    yyjson_val *e;

    if (p->obj == NULL) {
        return;
    }
    yyjson_arr_iter_init(json_get(state, STR("events")), &it);
    while ((e = yyjson_arr_iter_next(&it))) {
        int64_t seq = json_i64_at(e, "seq", 0);
        if (seq > p->told_seq) {
            tell_one(p, e, is_init(state, json_str_at(e, "container")), now);
        }
        newest = seq > newest ? seq : newest;
    }
    p->told_seq = newest;
}

/* What was said before this node began was told by the one before. */
void pod_tell_forget(struct pod *p, yyjson_val *state) {
    yyjson_arr_iter it;
    yyjson_val *e;

    yyjson_arr_iter_init(json_get(state, STR("events")), &it);
    while ((e = yyjson_arr_iter_next(&it))) {
        int64_t seq = json_i64_at(e, "seq", 0);
        p->told_seq = seq > p->told_seq ? seq : p->told_seq;
    }
}
