/*
 * integration_look: an object of an integrated kind, read and changed by the paths of its row.
 *
 * Changes are made on a copy of the spec, and what differs afterwards is the merge patch: lists are replaced whole,
 * from the version that the patch is conditional on, so nothing that is not known here gets lost.
 */
#include "base/limits.h"
#include "control/kit/edit.h"
#include "control/load/integration_private.h"
#include "control/load/job_workload.h"
#include "wire/json/json_merge.h"

/* ---- paths ---- */

static int64_t whole(yyjson_val *v) {
    return yyjson_is_int(v) ? bounded(yyjson_get_sint(v)) : 0;
}

/* The numbers at a path with "[]" and "*", added up. */
static int64_t sum_at(yyjson_val *v, const char *path) {
    const char *dot = strchr(path, '.');
    size_t n = dot ? (size_t)(dot - path) : strlen(path), i, max;
    bool list = n > 2 && memcmp(path + n - 2, "[]", 2) == 0;
    yyjson_val *key, *each;
    int64_t sum = 0;
    if (n == 1 && *path == '*') {
        if (yyjson_is_obj(v)) {
            yyjson_obj_foreach(v, i, max, key, each) {
                sum += dot ? sum_at(each, dot + 1) : whole(each);
            }
        }
        return sum;
    }
    v = json_get(v, (struct str){path, list ? n - 2 : n});
    if (!list) {
        return dot ? sum_at(v, dot + 1) : whole(v);
    }
    if (yyjson_is_arr(v)) {
        yyjson_arr_foreach(v, i, max, each) {
            sum += dot ? sum_at(each, dot + 1) : whole(each);
        }
    }
    return sum;
}

static yyjson_val *below(yyjson_val *v, const char *path) {
    return *path ? json_path(v, path) : v;
}

static yyjson_mut_val *mbelow(yyjson_mut_val *v, const char *path) {
    return *path ? json_mpath(v, path) : v;
}

int64_t job_spec_pods(yyjson_val *spec) {
    int64_t n = bounded(json_i64_at(spec, "parallelism", 1));
    int64_t done = bounded(json_i64_at(spec, "completions", n));
    return done < n ? done : n;
}

/* ---- pod sets ---- */

struct job_part *job_look_add(struct job_look *l, struct str name, int64_t count,
                              yyjson_val *template) {
    if ((l->n_parts & (l->n_parts - 1)) == 0) { /* room for a power of two */
        size_t cap = l->n_parts ? l->n_parts * 2 : 1;
        struct job_part *v = arena_alloc(l->arena, cap * sizeof *v);
        if (v == NULL) {
            return NULL;
        }
        if (l->n_parts) {
            memcpy(v, l->parts, l->n_parts * sizeof *v);
        }
        l->parts = v;
    }
    char *lower = arena_alloc(l->arena, name.n + 1);
    if (lower == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < name.n; i++) {
        lower[i] = name.p[i] >= 'A' && name.p[i] <= 'Z' ? (char)(name.p[i] | 0x20) : name.p[i];
    }
    struct job_part *p = &l->parts[l->n_parts++];
    *p = (struct job_part){.name = {lower, name.n},
                           .count = (int32_t)bounded(count),
                           .index_label = l->row->index_label,
                           .template = template};
    return p;
}

/* Of several numbers that are multiplied only the first may be nothing. */
static int64_t count_of(const struct integration_part *row, yyjson_val *v) {
    int64_t n = 1;
    for (size_t i = 0; i < INTEGRATION_COUNTS && row->counts[i]; i++) {
        int64_t k = bounded(json_i64_at(v, row->counts[i], 1));
        n = bounded(n * (i > 0 && k == 0 ? 1 : k));
    }
    return row->job ? bounded(n * job_spec_pods(below(v, row->job))) : n;
}

static int add_part(struct job_look *l, const struct integration_part *row, yyjson_val *v,
                    size_t index) {
    struct str name = row->name ? str_of(row->name) : json_str_at(v, row->name_at);
    struct job_part *p = job_look_add(l, name, count_of(row, v), below(v, row->template));
    if (p == NULL) {
        return ERR_NOMEM;
    }
    p->row = row;
    p->index = index;
    return 0;
}

static int find_parts(struct job_look *l) {
    int r = 0;
    for (size_t k = 0; r == 0 && k < INTEGRATION_PARTS && l->row->parts[k].at; k++) {
        const struct integration_part *row = &l->row->parts[k];
        yyjson_val *v = json_path(l->tree, row->at), *each;
        size_t i, n;
        if (!row->each) {
            r = v && !yyjson_is_null(v) ? add_part(l, row, v, 0) : 0;
            continue;
        }
        if (yyjson_is_arr(v)) {
            yyjson_arr_foreach(v, i, n, each) {
                r = r ? r : add_part(l, row, each, i);
            }
        }
    }
    return r;
}

/* How few pods would do. Out of range it is not a wish that can be met. */
static void find_least(struct job_look *l) {
    int64_t n;
    if ((l->row->flags & INTEGRATION_PARTIAL) && l->n_parts == 1 &&
        str_to_i64(job_look_annotation(l, KUEUE_MIN_PARALLELISM), &n) && n > 0 &&
        n < l->parts[0].count && l->settings->gates.partial_admission) {
        l->parts[0].least = (int32_t)n;
    }
}

static int check_templates(const struct job_look *l, struct err *err) {
    for (size_t i = 0; i < l->n_parts; i++) {
        if (!yyjson_is_obj(l->parts[i].template)) {
            return err_set(err, ERR_INVALID, "pod set %.*s has no pod template",
                           STR_ARG(l->parts[i].name));
        }
    }
    return 0;
}

int job_look_init(struct job_look *l, struct err *err) {
    yyjson_doc *d;
    l->parts = NULL;
    l->n_parts = 0;
    int r = object_tree(l->obj, l->arena, &d, err);
    if (r != 0) {
        return r;
    }
    l->tree = yyjson_doc_get_root(d);
    r = find_parts(l);
    r = r ? r : check_templates(l, err);
    if (r == 0 && l->row->adapt) {
        r = l->row->adapt(l, err);
        r = r ? r : check_templates(l, err);
    }
    find_least(l);
    return r;
}

yyjson_mut_doc *job_look_open(const struct job_look *l, size_t i) {
    return json_mut_copy(l->arena, l->parts[i].template);
}

yyjson_val *job_look_fixed(const struct job_look *l, yyjson_mut_doc *d) {
    struct buf b;
    yyjson_doc *made;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    json_write_mut(&b, yyjson_mut_doc_get_root(d));
    int r = buf_ok(&b);
    r = r ? r : json_parse(l->arena, buf_view(&b), &made, NULL);
    buf_release(&b);
    return r ? NULL : yyjson_doc_get_root(made);
}

int job_look_close(struct job_look *l, size_t i, yyjson_mut_doc *d) {
    yyjson_val *made = job_look_fixed(l, d);
    if (made == NULL) {
        return ERR_NOMEM;
    }
    l->parts[i].template = made;
    return 0;
}

/* ---- status ---- */

yyjson_val *job_look_condition(const struct job_look *l, const char *type) {
    yyjson_val *list = json_path(l->tree, "status.conditions"), *c;
    size_t i, n;
    if (type == NULL || !yyjson_is_arr(list)) {
        return NULL;
    }
    yyjson_arr_foreach(list, i, n, c) {
        if (str_is(json_str_at(c, "type"), type)) {
            return c;
        }
    }
    return NULL;
}

static bool condition_true(const struct job_look *l, const char *type) {
    return str_is(json_str_at(job_look_condition(l, type), "status"), "True");
}

struct str job_look_annotation(const struct job_look *l, const char *key) {
    return json_str(json_get(json_path(l->tree, "metadata.annotations"), str_of(key)));
}

bool job_look_suspended(const struct job_look *l) {
    return json_bool_at(l->tree, l->row->suspend, false);
}

static bool in_state(const struct job_look *l) {
    return l->row->state && str_is(json_str_at(l->tree, l->row->state), l->row->state_runs);
}

bool job_look_active(const struct job_look *l) {
    const struct integration *row = l->row;
    if (row->active) {
        return row->active(l);
    }
    if (row->running) {
        return sum_at(l->tree, row->running) > 0;
    }
    return row->state ? in_state(l) : condition_true(l, row->ready_type);
}

bool job_look_ready(const struct job_look *l) {
    const struct integration *row = l->row;
    if (row->ready) {
        return row->ready(l);
    }
    return row->ready_type ? condition_true(l, row->ready_type) : in_state(l);
}

bool job_look_finished(const struct job_look *l, struct job_end *ret) {
    if (l->row->finished) {
        return l->row->finished(l, ret);
    }
    bool good = condition_true(l, l->row->done_type);
    if (!good && !condition_true(l, l->row->failed_type)) {
        return false;
    }
    yyjson_val *c = job_look_condition(l, good ? l->row->done_type : l->row->failed_type);
    *ret = (struct job_end){good, json_str_at(c, "message")};
    return true;
}

int64_t job_look_reclaimable(const struct job_look *l, size_t i) {
    int64_t n = l->row->reclaimable ? l->row->reclaimable(l, i) : 0;
    return n < 0 ? 0 : n > l->parts[i].count ? l->parts[i].count : n;
}

struct str job_look_priority_class(const struct job_look *l) {
    struct str name = {0};
    if (l->row->priority_class) {
        return l->row->priority_class(l);
    }
    for (size_t i = 0; i < l->n_parts && str_empty(name); i++) {
        name = json_str_at(l->parts[i].template, "spec.priorityClassName");
    }
    return name;
}

/* ---- copies ---- */

/* A document with a copy of the spec alone. */
static yyjson_mut_val *open_spec(const struct job_look *l, yyjson_mut_doc **ret) {
    yyjson_mut_doc *d = json_mut_new(l->arena);
    yyjson_mut_val *root = d ? yyjson_mut_obj(d) : NULL;
    yyjson_val *spec = json_path(l->tree, "spec");
    yyjson_mut_val *copy = root && spec ? yyjson_val_mut_copy(d, spec) : NULL;
    if (copy == NULL || json_mset(d, root, STR("spec"), copy) != 0) {
        return NULL;
    }
    *ret = d;
    return root;
}

/* ERR_NOT_FOUND when nothing differs. */
static int write_patch(const struct job_look *l, yyjson_mut_val *root, struct buf *out) {
    return edit_write_spec(l->obj, EDIT_VERSION, l->tree, root, out);
}

static int set_suspend(const struct job_look *l, yyjson_mut_doc *d, yyjson_mut_val *root,
                       bool suspend) {
    char parent[64];
    const char *last = strrchr(l->row->suspend, '.');
    snprintf(parent, sizeof parent, "%.*s", (int)(last - l->row->suspend), l->row->suspend);
    yyjson_mut_val *o = json_mensure(d, root, parent);
    return o ? json_mset_bool(d, o, last + 1, suspend) : ERR_NOMEM;
}

/* Where the copy has the pod set's template; NULL: nowhere. */
static yyjson_mut_val *template_in(yyjson_mut_val *root, const struct job_part *p) {
    if (p->row == NULL) {
        return NULL;
    }
    yyjson_mut_val *v = json_mpath(root, p->row->at);
    v = p->row->each ? yyjson_mut_arr_get(v, p->index) : v;
    return mbelow(v, p->row->template);
}

/* ---- start and stop ---- */

int job_look_start(const struct job_look *l, const struct podset_info *infos, size_t n,
                   struct buf *out, struct err *err) {
    yyjson_mut_doc *d;
    yyjson_mut_val *root = open_spec(l, &d);
    int r = root ? 0 : ERR_NOMEM;
    if (n != l->n_parts) {
        return err_set(err, ERR_CONFLICT, "invalid podset infos: expecting %zu podset, got %zu",
                       l->n_parts, n);
    }
    for (size_t i = 0; r == 0 && i < n; i++) {
        yyjson_mut_val *t = template_in(root, &l->parts[i]);
        r = t ? podset_info_merge(&infos[i], d, t, err) : 0;
    }
    if (r == 0 && l->row->inject) {
        r = l->row->inject(l, infos, n, d, root, err);
    }
    if (r == 0 && (l->row->flags & INTEGRATION_APART) &&
        !json_same(json_path(l->tree, "spec"), json_mget(root, STR("spec")))) {
        return write_patch(l, root, out);
    }
    r = r ? r : set_suspend(l, d, root, false);
    return r ? r : write_patch(l, root, out);
}

static int restore(const struct job_look *l, yyjson_val *was, yyjson_mut_doc *d,
                   yyjson_mut_val *root) {
    int r = 0;
    if (yyjson_arr_size(was) != l->n_parts) {
        return 0; /* of another shape: it does not say how these were */
    }
    for (size_t i = 0; r == 0 && i < l->n_parts; i++) {
        yyjson_mut_val *t = template_in(root, &l->parts[i]);
        r = t ? podset_info_restore(d, t, json_get(yyjson_arr_get(was, i), STR("template"))) : 0;
    }
    return r == 0 && l->row->restore ? l->row->restore(l, was, d, root) : r;
}

int job_look_stop(const struct job_look *l, yyjson_val *was, struct buf *out) {
    yyjson_mut_doc *d;
    yyjson_mut_val *root = open_spec(l, &d);
    int r = root ? set_suspend(l, d, root, true) : ERR_NOMEM;
    r = r || was == NULL ? r : restore(l, was, d, root);
    return r ? r : write_patch(l, root, out);
}

bool job_look_injected(const struct job_look *l, yyjson_val *was) {
    yyjson_mut_doc *d;
    yyjson_mut_val *root;
    for (size_t i = 0; i < l->n_parts; i++) {
        yyjson_val *before = json_get(yyjson_arr_get(was, i), STR("template"));
        if (l->parts[i].row && podset_info_held(l->parts[i].template, before)) {
            return true;
        }
    }
    if (l->row->restore == NULL || (l->row->flags & INTEGRATION_PARTIAL)) {
        return false;
    }
    root = open_spec(l, &d);
    return root && l->row->restore(l, was, d, root) == 0 &&
           !json_same(json_path(l->tree, "spec"), json_mget(root, STR("spec")));
}
