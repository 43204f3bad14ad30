/*
 * trigger: the tables of parameters, what is checked beyond them, and the metrics.
 */
#include "core/scale/trigger.h"

#include "api/selector.h"
#include "core/scale/cron_window.h"
#include "core/scale/keda_poll.h"
#include "core/scale/metric_name.h"
#include "core/scale/trigger_value.h"

enum { META = 1, AUTH = 2, OPTIONAL = 4, DEPRECATED = 8 };

/* One parameter. names: alternatives, with commas. values: allowed ones. */
struct trigger_param {
    const char *names;
    enum trigger_type type;
    unsigned flags;
    const char *def, *values, *exclusive;
};

/* clang-format off */
static const struct trigger_param of_resource[] = {
    {"type", TRIGGER_TEXT, META | OPTIONAL | DEPRECATED, NULL, NULL, NULL},
    {"value", TRIGGER_TEXT, META, NULL, NULL, NULL},
    {"containerName", TRIGGER_TEXT, META | OPTIONAL, NULL, NULL, NULL},
};
static const struct trigger_param of_cron[] = {
    {"start", TRIGGER_TEXT, META, NULL, NULL, NULL},
    {"end", TRIGGER_TEXT, META, NULL, NULL, NULL},
    {"timezone", TRIGGER_TEXT, META, NULL, NULL, NULL},
    {"desiredReplicas", TRIGGER_INT, META, NULL, NULL, NULL},
};
static const struct trigger_param of_workload[] = {
    {"podSelector", TRIGGER_TEXT, META, NULL, NULL, NULL},
    {"value", TRIGGER_FLOAT, META, "0", NULL, NULL},
    {"activationValue", TRIGGER_FLOAT, META, "0", NULL, NULL},
    {"groupByNode", TRIGGER_BOOL, META, "false", NULL, NULL},
};
static const struct trigger_param of_prometheus[] = {
    {"serverAddress", TRIGGER_TEXT, META, NULL, NULL, NULL},
    {"query", TRIGGER_TEXT, META, NULL, NULL, NULL},
    {"queryParameters", TRIGGER_MAP, META | OPTIONAL, NULL, NULL, NULL},
    {"threshold", TRIGGER_FLOAT, META, NULL, NULL, NULL},
    {"activationThreshold", TRIGGER_FLOAT, META | OPTIONAL, NULL, NULL, NULL},
    {"namespace", TRIGGER_TEXT, META | OPTIONAL, NULL, NULL, NULL},
    {"customHeaders", TRIGGER_MAP, META | OPTIONAL, NULL, NULL, NULL},
    {"ignoreNullValues", TRIGGER_BOOL, META, "true", NULL, NULL},
    {"unsafeSsl", TRIGGER_BOOL, META | OPTIONAL, NULL, NULL, NULL},
    {"awsRegion", TRIGGER_TEXT, META | AUTH | OPTIONAL, NULL, NULL, NULL},
    {"timeout", TRIGGER_DURATION, META | OPTIONAL, NULL, NULL, NULL},
    {"identityOwner", TRIGGER_TEXT, META | OPTIONAL, NULL, NULL, NULL},
};
static const struct trigger_param of_metrics_api[] = {
    {"targetValue", TRIGGER_FLOAT, META | OPTIONAL, NULL, NULL, NULL},
    {"activationTargetValue", TRIGGER_FLOAT, META, "0", NULL, NULL},
    {"url", TRIGGER_TEXT, META, NULL, NULL, NULL},
    {"format", TRIGGER_TEXT, META, "json", "prometheus,json,xml,yaml", NULL},
    {"valueLocation", TRIGGER_TEXT, META, NULL, NULL, NULL},
    {"unsafeSsl", TRIGGER_BOOL, META, "false", NULL, NULL},
    {"aggregateFromKubeServiceEndpoints", TRIGGER_BOOL, META, "false", NULL, NULL},
    {"aggregationType", TRIGGER_TEXT, META, "average", "average,sum,max,min", NULL},
    {"timeout", TRIGGER_DURATION, META | OPTIONAL, NULL, NULL, NULL},
};
static const struct trigger_param of_auth[] = {
    {"authModes,authMode", TRIGGER_LIST, META | AUTH | OPTIONAL, NULL,
     "apiKey,basic,tls,bearer,custom,oauth", "bearer,basic,oauth"},
    {"bearerToken,token", TRIGGER_TEXT, AUTH | OPTIONAL, NULL, NULL, NULL},
    {"username", TRIGGER_TEXT, AUTH | OPTIONAL, NULL, NULL, NULL},
    {"password", TRIGGER_TEXT, AUTH | OPTIONAL, NULL, NULL, NULL},
    {"cert", TRIGGER_TEXT, AUTH | OPTIONAL, NULL, NULL, NULL},
    {"key", TRIGGER_TEXT, AUTH | OPTIONAL, NULL, NULL, NULL},
    {"ca", TRIGGER_TEXT, AUTH | OPTIONAL, NULL, NULL, NULL},
    {"oauthTokenURI", TRIGGER_TEXT, AUTH | OPTIONAL, NULL, NULL, NULL},
    {"scopes,scope", TRIGGER_LIST, AUTH | OPTIONAL, NULL, NULL, NULL},
    {"clientID", TRIGGER_TEXT, AUTH | OPTIONAL, NULL, NULL, NULL},
    {"clientSecret", TRIGGER_TEXT, AUTH | OPTIONAL, NULL, NULL, NULL},
    {"endpointParams", TRIGGER_QUERY, AUTH | OPTIONAL, NULL, NULL, NULL},
    {"customAuthHeader", TRIGGER_TEXT, AUTH | OPTIONAL, NULL, NULL, NULL},
    {"customAuthValue", TRIGGER_TEXT, AUTH | OPTIONAL, NULL, NULL, NULL},
    {"apiKey", TRIGGER_TEXT, META | AUTH | OPTIONAL, NULL, NULL, NULL},
    {"method", TRIGGER_TEXT, META | AUTH, "header", "header,query", NULL},
    {"keyParamName", TRIGGER_TEXT, META | AUTH | OPTIONAL, NULL, NULL, NULL},
};
/* clang-format on */

struct trigger_reader {
    const struct trigger_input *in;
    struct arena *a;
    struct trigger *t;
};

/* ---- faults ---- */

static const char *const fault_names[] = {
    "missing",
    "invalid",
    "notInEnum",
    "exclusive",
    "authIncomplete",
    "deprecated",
    "badSchedule",
    "sameSchedule",
    "zero",
    "notPositive",
    "utilizationNotSupported",
    "badMetricType",
    "invalidNumber",
    "invalidSelector",
    "unknownType",
};
static const char *const fault_texts[] = {
    "is missing",
    "does not parse",
    "has a value that is not allowed",
    "names modes that exclude each other",
    "is needed by a mode of authentication",
    "is no longer used",
    "is no schedule of five fields",
    "start and end are the same schedule",
    "must not be 0",
    "must be greater than 0",
    "metricType Utilization is of cpu and memory alone; allowed are Value and AverageValue",
    "metricType must be Utilization or AverageValue",
    "value is no number of this metricType",
    "podSelector is no label selector",
    "this type of trigger is not supported",
};

const char *trigger_fault_name(enum trigger_fault f) {
    return fault_names[f];
}

struct str trigger_fault_text(struct arena *a, enum trigger_fault f, struct str param) {
    return arena_f(a, "%.*s%s%s", STR_ARG(param), param.n > 0 ? " " : "", fault_texts[f]);
}

static void fault(struct trigger_reader *r, enum trigger_fault f, const char *param) {
    struct trigger *t = r->t;
    if (t->n_faults < TRIGGER_FAULTS_MAX) {
        t->faults[t->n_faults].fault = f;
        t->faults[t->n_faults++].param = str_of(param);
    }
}

/* ---- parameters ---- */

static bool find(const struct str_map *m, struct str key, struct str *ret) {
    for (size_t i = 0; m != NULL && i < m->n; i++) {
        struct str v = str_trim(m->v[i].value);
        if (str_eq(m->v[i].key, key) && v.n > 0) {
            *ret = v;
            return true;
        }
    }
    return false;
}

static bool given(const struct trigger_reader *r, const struct trigger_param *p, struct str *ret) {
    for (unsigned from = META; from <= AUTH; from <<= 1) {
        struct str rest = str_of(p->names), name;
        while ((p->flags & from) && str_next(&rest, ',', &name)) {
            if (find(from == META ? r->in->metadata : r->in->auth, name, ret)) {
                return true;
            }
        }
    }
    return false;
}

static bool in_list(const char *list, struct str v) {
    struct str rest = str_of(list), one;
    while (str_next(&rest, ',', &one)) {
        if (str_eq(one, v)) {
            return true;
        }
    }
    return false;
}

/* Every part of the text is allowed, and at most one of those that exclude each other. */
static bool allowed(struct trigger_reader *r, const struct trigger_param *p, struct str text) {
    struct str tail, part;
    size_t exclusive = 0;
    bool ok = true;
    for (bool more = true; more; text = tail) {
        more = str_cut(text, ',', &part, &tail);
        part = str_trim(more ? part : text);
        ok = ok && (p->values == NULL || in_list(p->values, part));
        exclusive += p->exclusive != NULL && in_list(p->exclusive, part);
    }
    if (!ok) {
        fault(r, TRIGGER_NOT_IN_ENUM, p->names);
    } else if (exclusive > 1) {
        fault(r, TRIGGER_EXCLUSIVE, p->names);
    }
    return ok && exclusive <= 1;
}

static void read_param(struct trigger_reader *r, const struct trigger_param *p, bool credential) {
    struct trigger_value *v = &r->t->values[r->t->n++];
    struct str text = {NULL, 0};
    bool there = given(r, p, &text);
    *v = (struct trigger_value){.param = p->names, .type = p->type, .credential = credential};
    if (there && (p->flags & DEPRECATED)) {
        fault(r, TRIGGER_DEPRECATED, p->names);
        return;
    }
    if (!there && p->def != NULL) {
        text = str_of(p->def);
        there = true;
    }
    if (!there) {
        if (!(p->flags & OPTIONAL)) {
            fault(r, TRIGGER_MISSING, p->names);
        }
        return;
    }
    if ((p->values != NULL || p->exclusive != NULL) && !allowed(r, p, text)) {
        return;
    }
    v->set = trigger_value_parse(text, v, r->a);
    if (!v->set) {
        *v = (struct trigger_value){.param = p->names, .type = p->type, .credential = credential};
        fault(r, TRIGGER_INVALID, p->names);
    }
}

static void read_all(struct trigger_reader *r, const struct trigger_param *p, size_t n,
                     bool credentials) {
    for (size_t i = 0; i < n; i++) {
        read_param(r, &p[i], credentials);
    }
}
#define READ(r_, table_, credentials_)                                                             \
    read_all((r_), (table_), sizeof(table_) / sizeof((table_)[0]), (credentials_))

const struct trigger_value *trigger_get(const struct trigger *t, const char *param) {
    for (size_t i = 0; i < t->n; i++) {
        if (in_list(t->values[i].param, str_of(param))) {
            return &t->values[i];
        }
    }
    return NULL;
}

struct str trigger_text(const struct trigger *t, const char *param) {
    const struct trigger_value *v = trigger_get(t, param);
    return v != NULL ? v->text : STR("");
}

double trigger_number(const struct trigger *t, const char *param) {
    const struct trigger_value *v = trigger_get(t, param);
    return v != NULL ? v->number : 0;
}

bool trigger_truth(const struct trigger *t, const char *param) {
    const struct trigger_value *v = trigger_get(t, param);
    return v != NULL && v->truth;
}

bool trigger_mode(const struct trigger *t, const char *mode) {
    const struct trigger_value *v = trigger_get(t, "authModes");
    for (size_t i = 0; v != NULL && i < v->list.n; i++) {
        if (str_is(v->list.v[i], mode)) {
            return true;
        }
    }
    return false;
}

/* ---- credentials ---- */

static bool has(const struct trigger *t, const char *param) {
    return trigger_text(t, param).n > 0;
}

/* Scopes lose their blanks; the first mode that lacks a credential is reported. */
static void check_auth(struct trigger_reader *r) {
    static const struct {
        const char *mode, *a, *b, *told;
    } modes[] = {{"bearer", "bearerToken", "bearerToken", "bearer"},
                 {"basic", "username", "username", "username"},
                 {"tls", "cert", "key", "cert"},
                 {"oauth", "oauthTokenURI", "clientID", "oauthTokenURI"},
                 {"custom", "customAuthHeader", "customAuthValue", "customAuthHeader"},
                 {"apiKey", "apiKey", "apiKey", "apiKey"}};
    struct trigger *t = r->t;
    const struct trigger_value *on = trigger_get(t, "authModes");
    if (on == NULL || on->list.n == 0) {
        return;
    }
    for (size_t i = 0; i < t->n; i++) {
        struct str_list *l = &t->values[i].list;
        size_t n = 0;
        for (size_t j = 0; t->values[i].type == TRIGGER_LIST && j < l->n; j++) {
            l->v[n] = l->v[j];
            n += l->v[j].n > 0;
        }
        l->n = t->values[i].type == TRIGGER_LIST ? n : l->n;
    }
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (trigger_mode(t, modes[i].mode) && !(has(t, modes[i].a) && has(t, modes[i].b))) {
            fault(r, TRIGGER_AUTH_INCOMPLETE, modes[i].told);
            return;
        }
    }
}

/* ---- metrics ---- */

static struct hpa_target *target_of(struct trigger_reader *r, double value) {
    struct hpa_target *target = ARENA_NEW(r->a, struct hpa_target);
    struct str type = r->in->metric_type.n > 0 ? r->in->metric_type : STR("AverageValue");
    struct opt_quantity q = {true, keda_quantity(value)};
    if (target != NULL) {
        target->type = type;
        *(str_is(type, "AverageValue") ? &target->average_value : &target->value) = q;
    }
    return target;
}

static void external(struct trigger_reader *r, struct str name, double value) {
    struct hpa_plain_source *s = ARENA_NEW(r->a, struct hpa_plain_source);
    struct hpa_metric_name *m = ARENA_NEW(r->a, struct hpa_metric_name);
    if (s != NULL && m != NULL) {
        m->name = name;
        *s = (struct hpa_plain_source){.metric = m, .target = target_of(r, value)};
        r->t->metric = (struct hpa_metric){.type = STR("External"), .external = s};
        r->t->metric_name = name;
        r->t->target_milli = keda_milli(value);
    }
}

static void resource(struct trigger_reader *r) {
    struct str container = trigger_text(r->t, "containerName"), value = trigger_text(r->t, "value");
    struct hpa_resource_source *s = ARENA_NEW(r->a, struct hpa_resource_source);
    struct hpa_target *target = ARENA_NEW(r->a, struct hpa_target);
    int64_t percent = 0;
    if (s == NULL || target == NULL || r->t->n_faults > 0) {
        return;
    }
    target->type = r->in->metric_type;
    if (str_is(target->type, "AverageValue")) {
        target->average_value.set = quantity_parse(value, &target->average_value.v, NULL) == 0;
    } else if (str_is(target->type, "Utilization")) {
        struct str bare = str_starts(value, STR("+")) ? str_skip(value, 1) : value;
        target->average_utilization.set =
            str_to_i64(bare, &percent) && percent <= INT32_MAX && percent >= INT32_MIN;
        target->average_utilization.v = (int32_t)percent;
    } else {
        fault(r, TRIGGER_BAD_METRIC_TYPE, NULL);
        return;
    }
    if (!target->average_value.set && !target->average_utilization.set) {
        fault(r, TRIGGER_INVALID_NUMBER, NULL);
        return;
    }
    *s = (struct hpa_resource_source){r->in->type, container, target, NULL};
    r->t->metric = container.n > 0 ? (struct hpa_metric){.type = STR("ContainerResource"),
                                                         .container_resource = s}
                                   : (struct hpa_metric){.type = STR("Resource"), .resource = s};
}

/* ---- types ---- */

static void cron(struct trigger_reader *r) {
    struct cron_window w;
    struct str start = trigger_text(r->t, "start"), end = trigger_text(r->t, "end");
    const struct trigger_value *replicas = trigger_get(r->t, "desiredReplicas");
    if (cron_window_parse(start, STR("0 0 * * *"), 0, &w, NULL) != 0) {
        fault(r, TRIGGER_BAD_SCHEDULE, "start");
    } else if (cron_window_parse(STR("0 0 * * *"), end, 0, &w, NULL) != 0) {
        fault(r, TRIGGER_BAD_SCHEDULE, "end");
    } else if (str_eq(start, end)) {
        fault(r, TRIGGER_SAME_SCHEDULE, NULL);
    } else if (replicas == NULL || replicas->integer == 0) {
        fault(r, TRIGGER_ZERO, "desiredReplicas");
    }
    external(r, cron_window_metric(r->a, r->in->index, trigger_text(r->t, "timezone"), start, end),
             1);
}

static void workload(struct trigger_reader *r) {
    struct selector s;
    double value = trigger_number(r->t, "value");
    if (value <= 0 && !r->in->in_formula) {
        fault(r, TRIGGER_NOT_POSITIVE, "value");
    }
    if (r->t->n_faults == 0 &&
        selector_parse(r->a, trigger_text(r->t, "podSelector"), &s, NULL) != 0) {
        fault(r, TRIGGER_INVALID_SELECTOR, NULL);
    }
    external(
        r,
        metric_name(r->a, r->in->index, arena_f(r->a, "workload-%.*s", STR_ARG(r->in->namespace))),
        value);
}

static void metrics_api(struct trigger_reader *r) {
    double target = trigger_number(r->t, "targetValue");
    struct str at = trigger_text(r->t, "valueLocation");
    if (r->t->n_faults == 0 && target == 0 && !r->in->in_formula) {
        fault(r, TRIGGER_MISSING, "targetValue");
    }
    external(r, metric_name(r->a, r->in->index, arena_f(r->a, "metric-api-%.*s", STR_ARG(at))),
             target);
}

int trigger_parse(const struct trigger_input *in, struct arena *a, struct trigger *ret) {
    struct trigger_reader r = {in, a, ret};
    bool uses = str_is(in->type, "cpu") || str_is(in->type, "memory");
    *ret = (struct trigger){0};
    if (!uses && str_is(in->metric_type, "Utilization")) {
        fault(&r, TRIGGER_NO_UTILIZATION, NULL);
    } else if (uses) {
        READ(&r, of_resource, false);
        resource(&r);
    } else if (str_is(in->type, "cron")) {
        READ(&r, of_cron, false);
        cron(&r);
    } else if (str_is(in->type, "kubernetes-workload")) {
        READ(&r, of_workload, false);
        workload(&r);
    } else if (str_is(in->type, "prometheus")) {
        READ(&r, of_auth, true);
        check_auth(&r);
        READ(&r, of_prometheus, false);
        external(&r, metric_name(a, in->index, STR("prometheus")),
                 trigger_number(ret, "threshold"));
    } else if (str_is(in->type, "metrics-api")) {
        READ(&r, of_metrics_api, false);
        READ(&r, of_auth, true);
        check_auth(&r);
        metrics_api(&r);
    } else {
        fault(&r, TRIGGER_UNKNOWN_TYPE, NULL);
    }
    return arena_ok(a);
}
