/* pod_gate: see pod_gate.h. */
#include "control/load/pod_gate.h"

#include "api/conditions.h"
#include "api/schema/codec.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "control/kit/edit.h"
#include "control/load/pod_role.h"
#include "control/load/translate.h"
#include "wire/text/time.h"

bool pod_gate_managed(const struct object *o) {
    return str_is(object_label(o, STR(POD_MANAGED)), "true");
}

static struct str note(yyjson_val *tree, const char *key) {
    return json_str(json_get(json_path(tree, "metadata.annotations"), str_of(key)));
}

/* ---- records ---- */

static bool listed(yyjson_val *list, const char *member, const char *name) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach(list, i, n, v) {
        if (str_is(member ? json_str(json_get(v, str_of(member))) : json_str(v), name)) {
            return true;
        }
    }
    return false;
}

static yyjson_val *condition_of(yyjson_val *tree, const char *type) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach(json_path(tree, "status.conditions"), i, n, v) {
        if (str_is(json_str_at(v, "type"), type)) {
            return v;
        }
    }
    return NULL;
}

static bool condition_is_true(yyjson_val *tree, const char *type) {
    return str_is(json_str_at(condition_of(tree, type), "status"), "True");
}

static int32_t total_of(yyjson_val *tree) {
    int64_t n;
    struct str text = note(tree, POD_GROUP_TOTAL);
    if (text.p == NULL) {
        return 0;
    }
    return str_to_i64(text, &n) && n >= 1 && n <= INT32_MAX ? (int32_t)n : -1;
}

static int64_t failed_since(yyjson_val *tree) {
    yyjson_val *c = condition_of(tree, "ContainersReady");
    int64_t at = 0;
    if (str_is(json_str_at(c, "status"), "False") &&
        str_is(json_str_at(c, "reason"), "PodFailed")) {
        (void)time_parse(json_str_at(c, "lastTransitionTime"), &at, NULL);
    }
    return at;
}

static void read_flags(struct gated_pod *p, yyjson_val *tree) {
    struct str phase = json_str_at(tree, "status.phase");
    p->total = total_of(tree);
    p->grace_s = json_i64_at(tree, "metadata.deletionGracePeriodSeconds", 0);
    p->failed_ns = failed_since(tree);
    p->gated = listed(json_path(tree, "spec.schedulingGates"), "name", POD_GATE);
    p->finalizer = listed(json_path(tree, "metadata.finalizers"), NULL, POD_MANAGED);
    p->failed = str_is(phase, "Failed");
    p->succeeded = str_is(phase, "Succeeded");
    p->running = str_is(phase, "Running");
    p->ready = condition_is_true(tree, "Ready");
    p->placed = !str_empty(json_str_at(tree, "spec.nodeName"));
    p->fast = str_is(note(tree, POD_GROUP_FAST), "true");
    p->serving = str_is(note(tree, POD_GROUP_SERVING), "true");
    p->lasting = str_is(note(tree, POD_RETRIABLE), "false");
    p->ending = condition_is_true(tree, POD_TERMINATION);
}

static int read_texts(struct gated_pod *p, yyjson_val *tree, struct arena *a) {
    struct str group = note(tree, POD_GROUP_NAME), prebuilt = note(tree, POD_PREBUILT);
    struct str role = note(tree, POD_ROLE_HASH);
    group = str_empty(group) ? object_label(p->obj, STR(POD_GROUP_NAME)) : group;
    if (!str_empty(group) && str_empty(role)) {
        role = pod_role_hash(json_path(tree, "spec"), a);
    }
    const struct str from[] = {
        group,
        role,
        str_empty(prebuilt) ? object_label(p->obj, STR(POD_PREBUILT)) : prebuilt,
        note(tree, POD_PARENT),
        json_str_at(tree, "status.message"),
    };
    struct str *const to[] = {&p->group, &p->role, &p->prebuilt, &p->parent, &p->message};
    enum { TEXTS = sizeof from / sizeof *from };
    size_t n = 1, at = 0;
    for (size_t i = 0; i < TEXTS; i++) {
        n += from[i].n;
    }
    p->text = mem_alloc(n);
    for (size_t i = 0; p->text && i < TEXTS; i++) {
        if (from[i].n) {
            memcpy(p->text + at, from[i].p, from[i].n);
        }
        *to[i] = str_from(p->text + at, from[i].n);
        at += from[i].n;
    }
    return p->text ? 0 : ERR_NOMEM;
}

struct gated_pod *gated_pod_new(const struct object *o, struct arena *a) {
    yyjson_doc *d;
    struct gated_pod *p = object_tree(o, a, &d, NULL) == 0 ? mem_zalloc(sizeof *p) : NULL;
    if (p == NULL) {
        return NULL;
    }
    p->obj = object_ref(o);
    read_flags(p, yyjson_doc_get_root(d));
    if (read_texts(p, yyjson_doc_get_root(d), a) != 0) {
        gated_pod_free(p);
        return NULL;
    }
    return p;
}

void gated_pod_free(struct gated_pod *p) {
    if (p) {
        object_unref(p->obj);
        mem_free(p->text);
        mem_free(p);
    }
}

bool gated_pod_runnable(const struct gated_pod *p) {
    bool gone = p->obj->deleting_ns && (!p->placed || (p->grace_s == 0 && !p->succeeded));
    return !p->failed && !gone;
}

int64_t gated_pod_until(const struct gated_pod *p) {
    int64_t grace = p->grace_s < LIMIT_GRACE_SECONDS ? p->grace_s : LIMIT_GRACE_SECONDS;
    return p->running && p->obj->deleting_ns ? p->obj->deleting_ns + grace * NS_PER_SEC : 0;
}

bool gated_pod_active(const struct gated_pod *p, bool quick, int64_t now_ns) {
    if (!p->running || (quick && p->obj->deleting_ns)) {
        return false;
    }
    return !p->obj->deleting_ns || now_ns <= gated_pod_until(p);
}

/* ---- bodies ---- */

enum { ON = EDIT_VERSION | EDIT_UID };

/* Takes the gate of admission out of the list, and that of topology unless `topology`. False: there was none. */
static bool take_gates(yyjson_mut_val *spec, bool topology) {
    yyjson_mut_val *v, *list = json_mget(spec, STR("schedulingGates"));
    yyjson_mut_arr_iter it;
    bool gone = false;
    yyjson_mut_arr_iter_init(list, &it);
    while ((v = yyjson_mut_arr_iter_next(&it)) != NULL) {
        struct str name = json_mstr_at(v, "name");
        if (str_is(name, POD_GATE) || (!topology && str_is(name, KUEUE_TOPOLOGY_GATE))) {
            gone |= str_is(name, POD_GATE);
            (void)yyjson_mut_arr_iter_remove(&it);
        }
    }
    if (yyjson_mut_arr_size(list) == 0) {
        json_mdel(spec, STR("schedulingGates"));
    }
    return gone;
}

int pod_gate_open(const struct object *o, const struct podset_info *in, struct arena *a,
                  struct buf *out, struct err *err) {
    yyjson_doc *was;
    int r = object_tree(o, a, &was, err);
    yyjson_mut_doc *d = r == 0 ? json_mut_copy(a, yyjson_doc_get_root(was)) : NULL;
    if (d == NULL) {
        return r ? r : ERR_NOMEM;
    }
    yyjson_mut_val *root = yyjson_mut_doc_get_root(d);
    r = podset_info_merge(in, d, root, err);
    if (r != 0) {
        return r;
    }
    bool given = json_mfind(in->gates, "name", STR(KUEUE_TOPOLOGY_GATE)) != NULL;
    return take_gates(json_mget(root, STR("spec")), given)
               ? edit_write_tree(o, ON, yyjson_doc_get_root(was), root, out)
               : ERR_NOT_FOUND;
}

static int read_pod(const struct object *o, struct arena *a, struct pod *ret) {
    yyjson_doc *d;
    int r = object_tree(o, a, &d, NULL);
    r = r ? r : codec_decode(&schema_pod, yyjson_doc_get_root(d), a, ret, NULL);
    return r == 0 && ret->spec == NULL ? ERR_SYNTAX : r;
}

int pod_gate_drop(const struct object *o, const char *gate, const char *with, struct arena *a,
                  struct buf *out) {
    struct pod pod, want;
    struct pod_spec spec;
    bool gone = false;
    int r = read_pod(o, a, &pod);
    if (r != 0) {
        return r;
    }
    want = pod;
    spec = *pod.spec;
    want.spec = &spec;
    spec.scheduling_gates.n = 0;
    spec.scheduling_gates.v =
        ARENA_ARRAY(a, struct scheduling_gate, pod.spec->scheduling_gates.n + 1);
    if (spec.scheduling_gates.v == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < pod.spec->scheduling_gates.n; i++) {
        struct str name = pod.spec->scheduling_gates.v[i].name;
        gone |= str_is(name, gate);
        if (!str_is(name, gate) && !(with && str_is(name, with))) {
            spec.scheduling_gates.v[spec.scheduling_gates.n++].name = name;
        }
    }
    return gone ? edit_write(o, ON, &pod, &want, out) : ERR_NOT_FOUND;
}

int pod_gate_terminate(const struct object *o, struct str reason, struct str message,
                       int64_t now_ns, struct arena *a, struct buf *out) {
    struct condition_want x = {POD_TERMINATION, "True", arena_str(a, reason).p, message};
    struct pod_status status = {0};
    struct pod pod, want;
    int r = read_pod(o, a, &pod);
    if (r != 0 || x.reason == NULL) {
        return r ? r : ERR_NOMEM;
    }
    want = pod;
    want.status = &status;
    if (pod.status) {
        status = *pod.status;
    }
    r = conditions_copy(&status.conditions, a, &status.conditions);
    r = r ? r : conditions_put(&status.conditions, a, &x, now_ns, 0, NULL);
    return r ? r : edit_write(o, ON, &pod, &want, out);
}

/* ---- does it fit its pod set? ---- */

static const struct node_amount *amount_of(const struct amounts *m, struct str resource) {
    for (size_t i = 0; i < m->n; i++) {
        if (str_eq(m->v[i].resource, resource)) {
            return &m->v[i];
        }
    }
    return NULL;
}

int pod_gate_exceeds(const struct object *o, const struct pod_template *t, struct arena *a,
                     struct str *ret_text) {
    struct amounts own, given;
    struct pod pod;
    if (t == NULL || t->spec == NULL || read_pod(o, a, &pod) != 0 ||
        translate_requests(pod.spec, a, &own) != 0 || translate_requests(t->spec, a, &given) != 0) {
        *ret_text = STR("its requests cannot be compared with those of its pod set");
        return arena_ok(a) ? ERR_NOMEM : 1;
    }
    for (size_t i = 0; i < own.n; i++) {
        struct str resource = own.v[i].resource;
        const struct node_amount *g = amount_of(&given, resource);
        bool counts = g || str_find(resource, '/') >= 0;
        if (counts && own.v[i].v > (g ? g->v : 0)) {
            *ret_text = arena_f(a, "it asks for more %.*s than its pod set", STR_ARG(resource));
            return ret_text->p ? 1 : ERR_NOMEM;
        }
    }
    return 0;
}
