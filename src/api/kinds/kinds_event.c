/*
 * kinds_event: the two faces of an Event.
 *
 * Objects are stored as core/v1; events.k8s.io/v1 is the same object under other member names.
 */
#include "api/tables/view_misc.h"

#include "api/kinds/kinds.h"

static const struct {
    const char *core, *events;
} names[] = {
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"reportingComponent", "reportingController"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
};

static int rename_member(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *from, const char *to) {
    yyjson_mut_val *v = json_mget(obj, str_of(from));
    if (v == NULL) {
        return 0;
    }
    json_mdel(obj, str_of(from));
    return json_mset(d, obj, str_of(to), v);
}

static int event_to_core(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    for (size_t i = 0; i < COUNT(names); i++) {
        if (rename_member(d, obj, names[i].events, names[i].core) < 0) {
            return err_set(err, ERR_NOMEM, "out of memory");
        }
    }
    return 0;
}

static int event_from_core(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    for (size_t i = 0; i < COUNT(names); i++) {
        if (rename_member(d, obj, names[i].core, names[i].events) < 0) {
            return err_set(err, ERR_NOMEM, "out of memory");
        }
    }
    return 0;
}

static struct str first_of(yyjson_val *obj, const char *const *paths) {
    struct str v = {0};
    for (size_t i = 0; v.n == 0 && paths[i] != NULL; i++) {
        v = json_str_at(obj, paths[i]);
    }
    return v;
}

static void object_cell(yyjson_val *obj, struct buf *out) {
    struct str kind = json_str_at(obj, "involvedObject.kind");
    struct buf b;
    buf_init(&b, 0);
    for (size_t i = 0; i < kind.n; i++) {
        char c = kind.p[i];
        buf_ch(&b, c >= 'A' && c <= 'Z' ? (char)(c + 32) : c);
    }
    buf_ch(&b, '/');
    buf_str(&b, json_str_at(obj, "involvedObject.name"));
    buf_json(out, buf_view(&b));
    buf_release(&b);
}

static void source_cell(yyjson_val *obj, struct buf *out) {
    struct str from = json_str_at(obj, "source.component"), host = json_str_at(obj, "source.host");
    if (from.n == 0) {
        from = json_str_at(obj, "reportingComponent");
    }
    cell_f(out, host.n ? "%.*s, %.*s" : "%.*s%.*s", STR_ARG(from), STR_ARG(host));
}

static void event_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    static const char *const last[] = {"series.lastObservedTime", "lastTimestamp", "firstTimestamp",
                                       "eventTime", NULL};
    static const char *const first[] = {"firstTimestamp", "eventTime", NULL};
    int64_t count;
    switch (i) {
    case 0:
        cell_age(out, first_of(obj, last), now);
        break;
    case 3:
        object_cell(obj, out);
        break;
    case 5:
        source_cell(obj, out);
        break;
    case 7:
        cell_age(out, first_of(obj, first), now);
        break;
    case 8:
        count = json_i64_at(obj, "series.count", json_i64_at(obj, "count", 1));
        buf_i64(out, count > 0 ? count : 1);
        break;
    default:
        buf_json(out, json_str_at(obj, i == 1   ? "type"
                                       : i == 2 ? "reason"
                                       : i == 4 ? "involvedObject.fieldPath"
                                                : "message"));
        break;
    }
}

static void event_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    (void)old;
    struct path at = path_member(NULL, "involvedObject"), where = path_member(&at, "namespace");
    struct str space = json_mstr_at(obj, "involvedObject.namespace");
    struct str own = json_mstr_at(obj, "metadata.namespace");
    if (own.n > 0 && space.n > 0 && !str_eq(space, own)) {
        cause_invalid(c, &where, space, "does not match event.namespace");
    }
}

static const struct column columns[] = {
    COLUMN("Last Seen", "string", 0, "Time of the last occurrence."),
    COLUMN_PATH("Type", "string", 0, "type", "Normal or Warning."),
    COLUMN_PATH("Reason", "string", 0, "reason", "Machine-readable reason."),
    COLUMN("Object", "string", 0, "Object of the event."),
    COLUMN_PATH("Subobject", "string", 1, "involvedObject.fieldPath",
                "Part of the object, as a "
                "field path."),
    COLUMN("Source", "string", 1, "Source of the event."),
    COLUMN_PATH("Message", "string", 0, "message", "Human-readable message."),
    COLUMN("First Seen", "string", 1, "Time of the first occurrence."),
    COLUMN("Count", "string", 1, "Number of occurrences."),
    {.name = "Name",
     .type = "string",
     .format = "name",
     .priority = 1,
     .path = "metadata.name",
     .doc = "Name of the object, unique in its namespace."},
};

#define EVENT_ROW                                                                                  \
    .kind = "Event", .plural = "events", .singular = "event",                                      \
    .short_names = (const char *const[]){"ev", NULL},                                              \
    .flags = KIND_NAMESPACED | KIND_CREATE_ON_UPDATE, .n_versions = 1, .columns = columns,         \
    .n_columns = COUNT(columns), .check = event_check, .cell = event_cell

const struct kind kind_event = {
    .group = "",
    .versions = &(const struct kind_version){.version = "v1", .schema = &schema_event},
    .selectable =
        (const char *const[]){
            "involvedObject.kind", "involvedObject.namespace", "involvedObject.name",
            "involvedObject.uid", "involvedObject.apiVersion", "involvedObject.resourceVersion",
            "involvedObject.fieldPath", "reason", "reportingComponent", "source", "type", NULL},
    EVENT_ROW,
};

static const struct kind_version events_versions[] = {
    {.version = "v1",
     .schema = &schema_events_event,
     .to_storage = event_to_core,
     .from_storage = event_from_core},
};
const struct kind kind_events_event = {
    .group = "events.k8s.io",
    .versions = events_versions,
    .stored_as = &kind_event,
    .selectable =
        (const char *const[]){"regarding.kind", "regarding.namespace", "regarding.name",
                              "regarding.uid", "regarding.apiVersion", "regarding.resourceVersion",
                              "regarding.fieldPath", "reason", "reportingController", "type", NULL},
    EVENT_ROW,
};
