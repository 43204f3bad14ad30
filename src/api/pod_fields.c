/* pod_fields: one walk over an object, and what counts as a pod's spec in it. See pod_fields.h. */
#include "api/pod_fields.h"

#include "api/inventory.h"
#include "api/walk/walk.h"
#include "wire/json/json.h"
#include "wire/text/quantity.h"

#define CLASS_LABEL "kueue.x-k8s.io/priority-class"

/* ---- devices ---- */

static bool is_nothing(yyjson_mut_val *amount) {
    struct quantity q;
    if (yyjson_mut_is_num(amount)) {
        return yyjson_mut_get_num(amount) == 0;
    }
    return quantity_parse(json_mstr(amount), &q, NULL) == 0 && quantity_sign(q) == 0;
}

static bool has_device(yyjson_mut_val *amounts) {
    size_t i, n;
    yyjson_mut_val *key, *v;
    yyjson_mut_obj_foreach(amounts, i, n, key, v) {
        if (str_starts(json_mstr(key), STR(POD_DEVICE_PREFIX)) && !is_nothing(v)) {
            return true;
        }
    }
    return false;
}

static bool resources_ask(yyjson_mut_val *resources) {
    return has_device(json_mget(resources, STR("limits"))) ||
           has_device(json_mget(resources, STR("requests"))) ||
           yyjson_mut_arr_size(json_mget(resources, STR("claims"))) > 0;
}

bool pod_asks_device(yyjson_mut_val *spec) {
    static const char *const lists[] = {"containers", "initContainers", "ephemeralContainers"};
    size_t i, n;
    yyjson_mut_val *c;
    if (resources_ask(json_mget(spec, STR("resources"))) ||
        has_device(json_mget(spec, STR("overhead"))) ||
        yyjson_mut_arr_size(json_mget(spec, STR("resourceClaims"))) > 0) {
        return true;
    }
    for (size_t k = 0; k < sizeof(lists) / sizeof(lists[0]); k++) {
        yyjson_mut_arr_foreach(json_mget(spec, str_of(lists[k])), i, n, c) {
            if (resources_ask(json_mget(c, STR("resources")))) {
                return true;
            }
        }
    }
    return false;
}

/* ---- the walk ---- */

struct fields_walk {
    /* For each object; `spec`: it looks like a pod's. False stops the walk. */
    bool (*object)(struct fields_walk *w, yyjson_mut_val *v, const struct path *at, bool spec);
    struct arena *arena; /* charged a step an object or list; NULL: nobody's */
    struct buf *out;     /* lines */
    struct str found;    /* the name of a class */
    bool (*each)(void *ctx, struct str name, bool queue);
    void *ctx;
};

/* A template, or what is laid over one (TrainJob's podTemplateOverrides). */
static bool is_template(struct str member) {
    return str_ends(member, STR("emplate")) || str_ends(member, STR("emplates")) ||
           str_ends(member, STR("Overrides"));
}

static struct str member_of(const struct path *at) {
    while (at != NULL && at->step != PATH_MEMBER) {
        at = at->up;
    }
    return at != NULL ? at->name : (struct str){0};
}

/* A pod's spec has containers; a part of one hangs as `spec` on a template. */
static bool is_spec(yyjson_mut_val *v, const struct path *at) {
    return yyjson_mut_is_arr(json_mget(v, STR("containers"))) ||
           yyjson_mut_is_arr(json_mget(v, STR("initContainers"))) ||
           (at != NULL && str_is(member_of(at), "spec") && is_template(member_of(at->up)));
}

/* The status, and who manages which fields: nothing of a pod is made of them. */
static bool is_apart(const struct path *at) {
    return at->up == NULL ? str_is(at->name, "status")
           : at->up->up == NULL
               ? str_is(at->name, "managedFields") && at->up->step == PATH_MEMBER &&
                     str_is(at->up->name, "metadata")
               : false;
}

/* The depth is bounded by what the parser takes. */
static bool walk(struct fields_walk *w, yyjson_mut_val *v, const struct path *at) {
    size_t i, n;
    yyjson_mut_val *key, *x;
    if (w->arena && !arena_charge(w->arena, 1)) {
        return false;
    }
    if (yyjson_mut_is_arr(v)) {
        yyjson_mut_arr_foreach(v, i, n, x) {
            struct path here = path_index(at, i);
            if (yyjson_mut_is_ctn(x) && !walk(w, x, &here)) {
                return false;
            }
        }
        return true;
    }
    if (!w->object(w, v, at, is_spec(v, at))) {
        return false;
    }
    yyjson_mut_obj_foreach(v, i, n, key, x) {
        struct path here = {.up = at, .step = PATH_MEMBER, .name = json_mstr(key)};
        if (yyjson_mut_is_ctn(x) && !is_apart(&here) && !walk(w, x, &here)) {
            return false;
        }
    }
    return true;
}

static bool find_device(struct fields_walk *w, yyjson_mut_val *v, const struct path *at,
                        bool spec) {
    return !(spec && pod_asks_device(v));
}

bool pod_asks_device_below(yyjson_mut_val *v) {
    struct fields_walk w = {.object = find_device};
    return yyjson_mut_is_ctn(v) && !walk(&w, v, NULL);
}

/* ---- what the scheduler says ---- */

/* False: there is no room for more. One member of 1 MB over many places would write its name as often. */
static bool say(struct fields_walk *w, const struct path *at, yyjson_mut_val *v) {
    struct buf path; /* a path is written as if nothing came before it */
    buf_init(&path, POD_FIELDS_BYTES);
    path_write(at, &path);
    w->out->failed = w->out->failed ? w->out->failed : buf_ok(&path);
    buf_str(w->out, buf_view(&path));
    buf_c(w->out, ": ");
    json_write_mut(w->out, v);
    buf_ch(w->out, '\n');
    buf_release(&path);
    return buf_ok(w->out) == 0;
}

/* Calls each(w, path, value) for those of an object until it answers false. */
static bool owned_here(struct fields_walk *w, yyjson_mut_val *v, const struct path *at, bool spec,
                       bool (*each)(struct fields_walk *w, const struct path *at,
                                    yyjson_mut_val *v)) {
    static const char *const notes[] = {DEVICES_ANNOTATION, POD_PLACEMENT_ANNOTATION};
    yyjson_mut_val *node = json_mget(v, STR("nodeName"));
    struct path here = path_member(at, "nodeName");
    bool on = !(spec && json_mstr(node).n > 0) || each(w, &here, node);
    for (size_t i = 0;
         on && str_is(member_of(at), "annotations") && i < sizeof(notes) / sizeof(*notes); i++) {
        yyjson_mut_val *note = json_mget(v, str_of(notes[i]));
        here = path_key(at, str_of(notes[i]));
        on = note == NULL || each(w, &here, note);
    }
    return on;
}

static bool say_owned(struct fields_walk *w, yyjson_mut_val *v, const struct path *at, bool spec) {
    return owned_here(w, v, at, spec, say);
}

static bool stop(struct fields_walk *w, const struct path *at, yyjson_mut_val *v) {
    return false;
}

static bool find_owned(struct fields_walk *w, yyjson_mut_val *v, const struct path *at, bool spec) {
    return owned_here(w, v, at, spec, stop);
}

bool pod_has_scheduler_fields(yyjson_mut_val *v, struct arena *a) {
    struct fields_walk w = {.object = find_owned, .arena = a};
    return yyjson_mut_is_ctn(v) && !walk(&w, v, NULL);
}

int pod_scheduler_fields(yyjson_mut_val *v, struct arena *a, struct buf *out, struct err *err) {
    struct fields_walk w = {.object = say_owned, .arena = a, .out = out};
    out->max = POD_FIELDS_BYTES;
    if (!yyjson_mut_is_ctn(v) || walk(&w, v, NULL)) {
        return 0;
    }
    if (buf_ok(out) == ERR_NOMEM) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    return err_set(err, ERR_TOO_LARGE,
                   "nodeName of pods and annotations " DEVICES_ANNOTATION
                   " and " POD_PLACEMENT_ANNOTATION
                   " are written by the scheduler: must be at most %d bytes with their paths, and "
                   "are more",
                   POD_FIELDS_BYTES);
}

/* ---- priority ---- */

static bool ask(struct fields_walk *w, yyjson_mut_val *v, const char *member, bool queue) {
    struct str name = json_mstr(json_mget(v, str_of(member)));
    if (name.n > 0 && !w->each(w->ctx, name, queue)) {
        w->found = name;
    }
    return w->found.n == 0;
}

static bool find_class(struct fields_walk *w, yyjson_mut_val *v, const struct path *at, bool spec) {
    return ask(w, v, "priorityClassName", false) && ask(w, v, "priorityClass", false) &&
           (!str_is(member_of(at), "labels") || ask(w, v, CLASS_LABEL, true));
}

struct str pod_priority_class(yyjson_mut_val *v, struct arena *a,
                              bool (*each)(void *ctx, struct str name, bool queue), void *ctx) {
    struct fields_walk w = {.object = find_class, .arena = a, .each = each, .ctx = ctx};
    (void)(yyjson_mut_is_ctn(v) && walk(&w, v, NULL));
    return w.found;
}

/* ---- kinds ---- */

bool pod_kind_describes(const struct kind *k) {
    static const struct {
        const char *group, *kind;
    } rows[] = {{"", "Pod"},      {"", "PodTemplate"},  {"", "ReplicationController"},
                {"batch", "Job"}, {"batch", "CronJob"}, {"kueue.x-k8s.io", "Workload"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(k->group, rows[i].group) == 0 && strcmp(k->kind, rows[i].kind) == 0) {
            return true;
        }
    }
    bool queues = strcmp(k->group, "kueue.x-k8s.io") == 0; /* its Workload is above */
    return ((k->flags & KIND_CUSTOM) != 0 && !queues) || strcmp(k->group, "apps") == 0;
}
