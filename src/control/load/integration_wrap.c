/*
 * integration_wrap: AppWrappers. Each component names its pod sets by paths into its template, in the spec or in the
 * status that its operator fills in; what an admission gives is written beside the template (podSetInfos), and the
 * operator puts it in.
 */
#include "control/load/integration_private.h"

/* "template.spec.jobs[0].template" from `v`, which is the template. NULL: there is no such thing. */
static yyjson_val *value_at(yyjson_val *v, struct str path) {
    if (!str_starts(path, STR("template"))) {
        return NULL;
    }
    for (path = str_skip(path, 8); v && path.n > 0;) {
        size_t n = 1;
        while (n < path.n && path.p[n] != '.' && path.p[n] != '[') {
            n++;
        }
        struct str key = str_head(str_skip(path, 1), n - 1);
        if (*path.p == '.') {
            v = json_get(v, key);
        } else {
            int64_t index;
            bool ok = key.n > 1 && key.p[key.n - 1] == ']' &&
                      str_to_i64(str_head(key, key.n - 1), &index) && index >= 0;
            v = ok && yyjson_is_arr(v) ? yyjson_arr_get(v, (size_t)index) : NULL;
        }
        path = str_skip(path, n);
    }
    return v;
}

/* The pod sets of component i: as declared, else as its operator found them. */
static yyjson_val *sets_of(const struct job_look *l, yyjson_val *component, size_t i) {
    yyjson_val *declared = json_get(component, STR("podSets"));
    if (yyjson_arr_size(declared) > 0) {
        return declared;
    }
    yyjson_val *list = json_path(l->tree, "status.componentStatus");
    return json_get(yyjson_arr_get(list, i), STR("podSets"));
}

int wrapper_adapt(struct job_look *l, struct err *err) {
    size_t i, n, k, m;
    yyjson_val *c, *set;
    yyjson_arr_foreach(json_path(l->tree, "spec.components"), i, n, c) {
        yyjson_arr_foreach(sets_of(l, c, i), k, m, set) {
            yyjson_val *t = value_at(json_get(c, STR("template")), json_str_at(set, "path"));
            struct str name = arena_f(l->arena, "%.*s-%zu", STR_ARG(l->obj->name), l->n_parts);
            if (t == NULL) {
                return err_set(err, ERR_INVALID, "spec.components[%zu]: no pod template at %.*s", i,
                               STR_ARG(json_str_at(set, "path")));
            }
            if (job_look_add(l, name, json_i64_at(set, "replicas", 1), t) == NULL) {
                return ERR_NOMEM;
            }
        }
    }
    return l->n_parts ? 0 : err_set(err, ERR_NOT_FOUND, "no pod sets are known yet");
}

static bool is_true(const struct job_look *l, const char *type) {
    return str_is(json_str_at(job_look_condition(l, type), "status"), "True");
}

bool wrapper_active(const struct job_look *l) {
    return is_true(l, "QuotaReserved");
}

bool wrapper_finished(const struct job_look *l, struct job_end *ret) {
    struct str phase = json_str_at(l->tree, "status.phase");
    if (str_is(phase, "Succeeded")) {
        *ret = (struct job_end){true, STR("AppWrapper finished successfully")};
        return true;
    }
    *ret = (struct job_end){false, STR("AppWrapper failed")};
    return str_is(phase, "Failed") && !is_true(l, "ResourcesDeployed");
}

static yyjson_mut_val *info_json(yyjson_mut_doc *d, const struct podset_info *in) {
    const struct {
        const char *name;
        yyjson_mut_val *v;
    } members[] = {{"annotations", in->annotations},
                   {"labels", in->labels},
                   {"nodeSelector", in->selector},
                   {"tolerations", in->tolerations},
                   {"schedulingGates", in->gates}};
    yyjson_mut_val *o = yyjson_mut_obj(d);
    for (size_t i = 0; o && i < sizeof members / sizeof *members; i++) {
        yyjson_mut_val *v = members[i].v;
        if (yyjson_mut_get_len(v) > 0 &&
            json_mset(d, o, str_of(members[i].name), yyjson_mut_val_mut_copy(d, v)) != 0) {
            return NULL;
        }
    }
    return o;
}

int wrapper_inject(const struct job_look *l, const struct podset_info *infos, size_t n,
                   yyjson_mut_doc *d, yyjson_mut_val *root, struct err *err) {
    size_t i, max, at = 0;
    yyjson_mut_val *c;
    int r = 0;
    yyjson_mut_arr_foreach(json_mpath(root, "spec.components"), i, max, c) {
        yyjson_val *own = yyjson_arr_get(json_path(l->tree, "spec.components"), i);
        size_t sets = yyjson_arr_size(sets_of(l, own, i));
        yyjson_mut_val *list = yyjson_mut_arr(d);
        for (size_t k = 0; r == 0 && k < sets; k++, at++) {
            yyjson_mut_val *v = at < n ? info_json(d, &infos[at]) : NULL;
            r = list && v && yyjson_mut_arr_append(list, v) ? 0 : ERR_NOMEM;
        }
        if (r == 0 && sets > 0) {
            r = json_mset(d, c, STR("podSetInfos"), list);
        }
    }
    return r;
}

int wrapper_restore(const struct job_look *l, yyjson_val *was, yyjson_mut_doc *d,
                    yyjson_mut_val *root) {
    size_t i, max;
    yyjson_mut_val *c;
    yyjson_mut_arr_foreach(json_mpath(root, "spec.components"), i, max, c) {
        json_mdel(c, STR("podSetInfos"));
    }
    return 0;
}
