/*
 * scale_trigger: metadata of triggers: what is wrong with them, or what they say and which metric they make.
 */
#include <math.h>

#include "api/schema/codec.h"
#include "core/scale/hpa.h"
#include "core/scale/trigger.h"
#include "scale_case.h"

struct str_map scale_texts(struct arena *a, yyjson_val *v) {
    struct str_map m = {ARENA_ARRAY(a, struct str_pair, yyjson_obj_size(v) + 1), 0};
    size_t i, max;
    yyjson_val *key, *value;
    yyjson_obj_foreach(v, i, max, key, value) {
        m.v[m.n++] = (struct str_pair){json_str(key), json_str(value)};
    }
    return m;
}

static bool has_error(yyjson_val *list, const char *kind, struct str param) {
    for (size_t i = 0; i < yyjson_arr_size(list); i++) {
        yyjson_val *e = yyjson_arr_get(list, i);
        if (str_is(json_str_at(e, "kind"), kind) && str_eq(json_str_at(e, "param"), param)) {
            return true;
        }
    }
    return false;
}

/* As sets. */
static bool errors_agree(const struct trigger *t, yyjson_val *want, struct buf *difference) {
    bool ok = (t->n_faults == 0) == (yyjson_arr_size(want) == 0);
    for (size_t i = 0; i < t->n_faults; i++) {
        const char *kind = trigger_fault_name(t->faults[i].fault);
        bool found = has_error(want, kind, t->faults[i].param);
        if (!found) {
            scale_differs(difference, "error %s %.*s", kind, STR_ARG(t->faults[i].param));
        }
        ok = ok && found;
    }
    for (size_t i = 0; i < yyjson_arr_size(want); i++) {
        yyjson_val *e = yyjson_arr_get(want, i);
        bool found = false;
        for (size_t j = 0; j < t->n_faults; j++) {
            found =
                found || (str_is(json_str_at(e, "kind"), trigger_fault_name(t->faults[j].fault)) &&
                          str_eq(json_str_at(e, "param"), t->faults[j].param));
        }
        ok = ok &&
             (found || scale_differs(difference, "no error %.*s", STR_ARG(json_str_at(e, "kind"))));
    }
    return ok;
}

/* The member of what was parsed that has this parameter, whatever the case of its letters. */
static yyjson_val *member(yyjson_val *obj, const char *param) {
    struct str name = str_of(param), rest = name, one;
    size_t i, max;
    yyjson_val *key, *value;
    if (!yyjson_is_obj(obj)) {
        return NULL;
    }
    yyjson_obj_foreach(obj, i, max, key, value) {
        struct str k = json_str(key);
        rest = name;
        while (str_next(&rest, ',', &one)) {
            if (str_eq_nocase(k, one) || (str_is(one, "authModes") && str_is(k, "modes")) ||
                (str_is(one, "timeout") && str_is(k, "timeoutMs"))) {
                return value;
            }
        }
    }
    return NULL;
}

static bool pairs_agree(const struct str_map *m, yyjson_val *want) {
    size_t total = 0, i, max;
    yyjson_val *key, *value;
    if (want != NULL) {
        yyjson_obj_foreach(want, i, max, key, value) {
            total += yyjson_is_arr(value) ? yyjson_arr_size(value) : 1;
            (void)key;
        }
    }
    bool ok = total == m->n;
    for (size_t j = 0; ok && j < m->n; j++) {
        yyjson_val *v = json_get(want, m->v[j].key);
        bool found = str_eq(json_str(v), m->v[j].value) && yyjson_is_str(v);
        for (size_t k = 0; k < yyjson_arr_size(v); k++) {
            found = found || str_eq(json_str(yyjson_arr_get(v, k)), m->v[j].value);
        }
        ok = found;
    }
    return ok;
}

static bool value_agrees(const struct trigger_value *v, yyjson_val *want) {
    switch (v->type) {
    case TRIGGER_TEXT:
        return str_eq(v->text, json_str(want));
    case TRIGGER_FLOAT:
        return v->number == yyjson_get_num(want);
    case TRIGGER_INT:
    case TRIGGER_DURATION:
        return v->integer == yyjson_get_sint(want);
    case TRIGGER_BOOL:
        return v->truth == yyjson_get_bool(want);
    case TRIGGER_MAP:
    case TRIGGER_QUERY:
        return pairs_agree(&v->map, want);
    case TRIGGER_LIST:
        break;
    }
    bool ok = v->list.n == yyjson_arr_size(want);
    for (size_t i = 0; ok && i < v->list.n; i++) {
        ok = str_eq(v->list.v[i], json_str(yyjson_arr_get(want, i)));
    }
    return ok;
}

static bool parsed_agrees(const struct trigger *t, yyjson_val *want, struct str metric_type,
                          struct buf *difference) {
    yyjson_val *auth = json_get(want, STR("auth")), *type = json_get(want, STR("metricType"));
    size_t known = (auth != NULL) + (type != NULL), known_auth = 0;
    bool ok = type == NULL || str_eq(json_str(type), metric_type);
    for (size_t i = 0; i < t->n; i++) {
        const struct trigger_value *v = &t->values[i];
        yyjson_val *there = member(v->credential ? auth : want, v->param);
        known += there != NULL && !v->credential;
        known_auth += there != NULL && v->credential;
        if (!value_agrees(v, there)) {
            ok = scale_differs(difference, "%s is otherwise", v->param);
        }
    }
    return ok && known == yyjson_obj_size(want) && known_auth == yyjson_obj_size(auth);
}

/* Metrics of a spec say the same. */
bool scale_metric_agrees(const struct hpa_metric *got, yyjson_val *want, struct arena *a) {
    yyjson_mut_doc *d = json_mut_new(a);
    yyjson_mut_val *root = yyjson_mut_obj(d), *list = yyjson_mut_arr(d);
    struct hpa_spec spec;
    struct buf b;
    yyjson_doc *plain;
    yyjson_mut_arr_append(list, yyjson_val_mut_copy(d, want));
    json_mset(d, root, STR("metrics"), list);
    buf_init(&b, 0);
    json_write_mut(&b, root);
    bool ok = json_parse(a, arena_str(a, buf_view(&b)), &plain, NULL) == 0 &&
              codec_decode(&schema_hpa_spec, yyjson_doc_get_root(plain), a, &spec, NULL) == 0;
    buf_release(&b);
    return ok && hpa_metric_same(&spec.metrics.v[0], got);
}

bool scale_trigger(yyjson_val *c, struct arena *a, struct buf *difference) {
    struct str_map metadata = scale_texts(a, json_get(c, STR("metadata")));
    struct str_map auth = scale_texts(a, json_get(c, STR("authParams")));
    struct trigger_input in = {.type = json_str_at(c, "type"),
                               .metadata = &metadata,
                               .auth = &auth,
                               .metric_type = json_str_at(c, "metricType"),
                               .in_formula = json_bool_at(c, "usedInFormula", false),
                               .index = json_i64_at(c, "triggerIndex", 0),
                               .namespace = STR("default")};
    yyjson_val *errors = json_get(c, STR("errors")), *parsed = json_get(c, STR("parsed"));
    struct trigger *t = ARENA_NEW(a, struct trigger);
    if (t == NULL || trigger_parse(&in, a, t) != 0 || !errors_agree(t, errors, difference)) {
        return false;
    }
    if (t->n_faults > 0) {
        return parsed == NULL;
    }
    bool ok = parsed_agrees(t, parsed, in.metric_type, difference);
    return (scale_metric_agrees(&t->metric, json_get(c, STR("metricSpec")), a) ||
            scale_differs(difference, "the metric")) &&
           ok;
}
