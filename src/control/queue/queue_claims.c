/*
 * queue_claims: devices that pods ask for by ResourceClaimTemplate (resource.k8s.io).
 *
 * Each pod gets a claim of its own from each template that it names. The devices of a claim are counted by class, as
 * the resource that the Configuration maps the class to (resources.deviceClassMappings), beside what containers ask
 * for; from there on it is a resource like any other: quota, fair sharing and usage know it by name. Administrators'
 * access to a device is not counted. Without any mapping claims are not looked at. A template is read when its Workload
 * is looked at: one that is deleted and made anew after the admission is not noticed.
 */
#include "base/limits.h"
#include "control/queue/queue_private.h"

enum {
    CLAIMS_MAX = 256,    /* of one pod */
    REQUESTS_MAX = 1024, /* of all its templates */
    /* Of the templates that are read, each as often as it is named: those of all pod sets together are refused beyond
     * it, and counted for one pod set at a time. */
    TEMPLATE_BYTES = 2 << 20
};

struct claims {
    struct queue_controller *c;
    struct str ns;
    struct pod_spec *to;       /* NULL: nothing is added */
    struct quantity_pair *own; /* its amounts, once they are a copy */
    size_t bytes;              /* of templates, that may be read */
    size_t set, at, left;      /* the pod set and claim under way; requests that may be looked at */
    struct str set_name, template; /* of those */
    struct str why;                /* why not, when it is not empty */
    int code;
};

static struct str mapped(const struct claims *x, struct str class) {
    const struct queue_resource_settings *s = &x->c->settings->resources;
    for (size_t i = 0; i < s->n_devices; i++) {
        for (size_t k = 0; k < s->devices[i].n_classes; k++) {
            if (str_eq(s->devices[i].classes[k], class)) {
                return s->devices[i].resource;
            }
        }
    }
    return (struct str){0};
}

#define AT "spec.podSets[%zu].template.spec.resourceClaims[%zu]"

static void refuse(struct claims *x, const char *below, const char *what, struct str value) {
    x->why =
        arena_f(&x->c->base.arena, AT "%s: %s%.*s", x->set, x->at, below, what, STR_ARG(value));
}

static int add(struct claims *x, struct str resource, int64_t n) {
    struct quantity_map *m = &x->to->overhead;
    struct quantity_pair *v = x->own;
    size_t i = 0;
    while (i < m->n && !str_eq(m->v[i].key, resource)) {
        i++;
    }
    if (v == NULL || i == m->n) { /* once for each resource that claims are counted as */
        v = ARENA_ARRAY(&x->c->base.arena, struct quantity_pair, m->n + 1);
        if (v == NULL) {
            return ERR_NOMEM;
        }
        if (m->n > 0) {
            memcpy(v, m->v, m->n * sizeof(*v));
        }
        x->own = v;
    }
    int64_t had = i < m->n ? translate_amount(resource, v[i].value) : 0;
    v[i] = (struct quantity_pair){.key = resource,
                                  .value = quantity_of(amount_add(had, n), QUANTITY_DECIMAL)};
    *m = (struct quantity_map){v, i < m->n ? m->n : m->n + 1};
    return 0;
}

/* One request of a claim; `i`: which. */
static void request(struct claims *x, yyjson_val *r, size_t i) {
    yyjson_val *exactly = json_path(r, "exactly");
    struct str mode = json_str_at(exactly, "allocationMode");
    struct str class = json_str_at(exactly, "deviceClassName");
    int64_t count = json_i64_at(exactly, "count", 1);
    char at[64], mode_at[96];
    (void)snprintf(at, sizeof(at), ".devices.requests[%zu]", i);
    (void)snprintf(mode_at, sizeof(mode_at), "%s.exactly.allocationMode", at);
    if (!yyjson_is_obj(exactly)) {
        bool first = json_path(r, "firstAvailable") != NULL;
        refuse(x, at, "Invalid value: null: ResourceClaimTemplate ",
               arena_f(&x->c->base.arena, "%.*s: %s", STR_ARG(x->template),
                       first ? "FirstAvailable device selection is not supported"
                             : "Exactly must be set if FirstAvailable is nil"));
        return;
    }
    if (json_bool_at(exactly, "adminAccess", false)) {
        return;
    }
    if (!str_empty(mode) && !str_is(mode, "ExactCount")) {
        bool all = str_is(mode, "All");
        refuse(
            x, mode_at, "Invalid value: ",
            arena_f(&x->c->base.arena, "\"%.*s\": ResourceClaimTemplate %.*s: %s%.*s",
                    STR_ARG(str_head(mode, 64)), STR_ARG(x->template),
                    all ? "AllocationMode 'All' is not supported" : "unsupported allocation mode: ",
                    STR_ARG(all ? STR("") : str_head(mode, 64))));
        return;
    }
    struct str resource = mapped(x, class);
    if (str_empty(resource)) {
        refuse(x, ".resourceClaimTemplateName", "Not found: ",
               arena_f(&x->c->base.arena,
                       "\"DeviceClass %.*s is not mapped in DRA configuration for podset %.*s\"",
                       STR_ARG(str_head(class, LIMIT_NAME)), STR_ARG(x->set_name)));
    } else if (x->to != NULL && count > 0) {
        x->code = add(x, resource, count);
    }
}

static void each_request(struct claims *x, const struct object *o) {
    struct arena scratch;
    yyjson_doc *d;
    yyjson_val *r;
    size_t i, n;
    if (o->json.n > x->bytes) {
        refuse(x, "", "Invalid value: ", STR("the templates of its claims are too long"));
        return;
    }
    x->bytes -= o->json.n;
    arena_init(&scratch, LIMIT_OBJECT_BYTES * 8);
    x->code = object_tree(o, &scratch, &d, NULL);
    yyjson_val *list =
        x->code == 0 ? json_path(yyjson_doc_get_root(d), "spec.spec.devices.requests") : NULL;
    yyjson_arr_foreach(list, i, n, r) {
        if (x->code != 0 || !str_empty(x->why)) {
            break;
        }
        if (x->left-- == 0) {
            x->left = 0;
            refuse(x, "", "Invalid value: ", STR("its pods ask for too many devices one by one"));
            break;
        }
        request(x, r, i);
    }
    arena_release(&scratch);
}

static void claim(struct claims *x, const struct pod_resource_claim *p) {
    const struct kind *k = kind_by_name(STR("resource.k8s.io"), STR("ResourceClaimTemplate"));
    if (str_empty(p->resource_claim_template_name)) {
        if (!str_empty(p->resource_claim_name)) {
            x->why = STR("KueueDRAIntegration feature does not support use of resource claims");
        }
        return;
    }
    x->template = str_head(p->resource_claim_template_name, LIMIT_NAME);
    const struct object *o =
        k != NULL ? mirror_get(x->c->env->mirror, k, x->ns, x->template) : NULL;
    if (o != NULL) {
        each_request(x, o);
        return;
    }
    refuse(x, "", "Internal error: failed to get claim spec for ResourceClaimTemplate ",
           arena_f(&x->c->base.arena,
                   "%.*s in podset %.*s: resourceclaimtemplates.resource.k8s.io \"%.*s\" not found",
                   STR_ARG(x->template), STR_ARG(x->set_name), STR_ARG(x->template)));
}

/* The claims of one pod, until one cannot be counted. */
static void claims(struct claims *x, const struct pod_spec *p) {
    x->left = REQUESTS_MAX;
    for (x->at = 0; x->at < p->resource_claims.n && x->code == 0 && str_empty(x->why); x->at++) {
        if (x->at == CLAIMS_MAX) {
            refuse(x, "", "Invalid value: ", STR("a pod has at most 256 claims"));
            return;
        }
        claim(x, &p->resource_claims.v[x->at]);
    }
}

int queue_claims_fill(struct queue_controller *c, struct str ns, struct pod_spec *p) {
    struct claims x = {.c = c, .ns = ns, .to = p, .bytes = TEMPLATE_BYTES};
    if (c->settings->resources.n_devices > 0) {
        claims(&x, p);
    }
    return x.code;
}

bool queue_claims_refused(struct queue_controller *c, const struct workload *w,
                          struct str *ret_text) {
    struct claims x = {.c = c, .ns = w->metadata->namespace, .bytes = TEMPLATE_BYTES};
    size_t n = w->spec != NULL && c->settings->resources.n_devices > 0 ? w->spec->pod_sets.n : 0;
    for (; x.set < n && x.code == 0 && str_empty(x.why); x.set++) {
        const struct pod_template *t = w->spec->pod_sets.v[x.set].template;
        x.set_name = w->spec->pod_sets.v[x.set].name;
        if (t != NULL && t->spec != NULL) {
            claims(&x, t->spec);
        }
    }
    *ret_text = str_empty(x.why) ? *ret_text : x.why;
    return !str_empty(x.why);
}
