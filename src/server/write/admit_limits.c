/*
 * admit_limits: LimitRanges of the pod's namespace: amounts that its containers leave out, and
 * bounds on what they ask.
 *
 * Defaults of all ranges come first, then the bounds; every violated bound is named in one refusal. Ranges of type
 * Container apply to each container, those of type Pod to the sum of the containers (init containers run one by one and
 * are left to the scheduler's arithmetic).
 */
#include "server/write/admit.h"

#include "wire/json/json.h"
#include "wire/text/quantity.h"

struct limits {
    struct write *w;
    yyjson_mut_val *spec;
    bool defaults;    /* this pass fills in; the other checks */
    struct buf texts; /* violated bounds, comma-separated */
    size_t n;
    int failed;
};

static void violate(struct limits *l, const char *bound, struct str resource, const char *type,
                    struct str limit, const char *what, const struct quantity *used) {
    char text[QUANTITY_TEXT_MAX];
    buf_c(&l->texts, l->n++ ? ", " : "");
    buf_f(&l->texts, "%s %.*s usage per %s is %.*s", bound, STR_ARG(resource), type,
          STR_ARG(limit));
    if (used == NULL) {
        buf_f(&l->texts, ".  No %s is specified", what);
    } else {
        struct str u = quantity_text(*used, text);
        buf_f(&l->texts, ", but %s is %.*s", what, STR_ARG(u));
    }
}

static void check_bounds(struct limits *l, yyjson_val *item, const char *type,
                         bool (*get)(void *ctx, const char *list, struct str resource,
                                     struct quantity *ret),
                         void *ctx) {
    size_t i, n;
    yyjson_val *key, *v;
    struct quantity bound, used;
    yyjson_obj_foreach(json_path(item, "min"), i, n, key, v) {
        if (quantity_parse(json_str(v), &bound, NULL) != 0) {
            continue;
        }
        bool has = get(ctx, "requests", json_str(key), &used);
        if (!has || quantity_cmp(used, bound) < 0) {
            violate(l, "minimum", json_str(key), type, json_str(v), "request", has ? &used : NULL);
        }
    }
    yyjson_obj_foreach(json_path(item, "max"), i, n, key, v) {
        if (quantity_parse(json_str(v), &bound, NULL) != 0) {
            continue;
        }
        bool has = get(ctx, "limits", json_str(key), &used);
        if (!has || quantity_cmp(used, bound) > 0) {
            violate(l, "maximum", json_str(key), type, json_str(v), "limit", has ? &used : NULL);
        } else if (get(ctx, "requests", json_str(key), &used) && quantity_cmp(used, bound) > 0) {
            violate(l, "maximum", json_str(key), type, json_str(v), "request", &used);
        }
    }
}

static bool container_amount(void *ctx, const char *list, struct str resource,
                             struct quantity *ret) {
    yyjson_mut_val *amounts = json_mget(json_mget(ctx, STR("resources")), str_of(list));
    struct str text = json_mstr(json_mget(amounts, resource));
    return text.n > 0 && quantity_parse(text, ret, NULL) == 0;
}

static bool pod_amount(void *ctx, const char *list, struct str resource, struct quantity *ret) {
    struct limits *l = ctx;
    struct quantity sum = {0}, one;
    size_t i, n;
    yyjson_mut_val *c;
    bool any = false;
    yyjson_mut_arr_foreach(json_mget(l->spec, STR("containers")), i, n, c) {
        if (container_amount(c, list, resource, &one) && quantity_add(&sum, one) == 0) {
            any = true;
        }
    }
    *ret = sum;
    return any;
}

/* resources.<list>[key] = value where it is absent. */
static void fill(struct limits *l, yyjson_mut_val *container, const char *list, yyjson_val *from) {
    size_t i, n;
    yyjson_val *key, *v;
    yyjson_obj_foreach(from, i, n, key, v) {
        char path[32];
        (void)snprintf(path, sizeof(path), "resources.%s", list);
        yyjson_mut_val *to = json_mensure(l->w->doc, container, path);
        if (to == NULL) {
            l->failed = ERR_NOMEM;
        } else if (json_mget(to, json_str(key)) == NULL) {
            yyjson_mut_val *copy = yyjson_val_mut_copy(l->w->doc, v);
            if (copy == NULL || json_mset(l->w->doc, to, json_str(key), copy) != 0) {
                l->failed = ERR_NOMEM;
            }
        }
    }
}

static void fill_defaults(struct limits *l, yyjson_val *item, yyjson_mut_val *container) {
    fill(l, container, "limits", json_path(item, "default"));
    fill(l, container, "limits", json_path(item, "max"));
    fill(l, container, "requests", json_path(item, "defaultRequest"));
    fill(l, container, "requests", json_path(item, "default"));
    fill(l, container, "requests", json_path(item, "min"));
}

static void apply_item(struct limits *l, yyjson_val *item) {
    struct str type = json_str_at(item, "type");
    size_t i, n;
    yyjson_mut_val *c;
    if (str_is(type, "Pod") && !l->defaults) {
        check_bounds(l, item, "Pod", pod_amount, l);
    }
    if (!str_is(type, "Container")) {
        return;
    }
    static const char *const lists[] = {"initContainers", "containers"};
    for (size_t k = 0; k < 2; k++) {
        yyjson_mut_arr_foreach(json_mget(l->spec, str_of(lists[k])), i, n, c) {
            if (l->defaults) {
                fill_defaults(l, item, c);
            } else {
                check_bounds(l, item, "Container", container_amount, c);
            }
        }
    }
}

static bool apply_range(void *ctx, const struct object *o) {
    struct limits *l = ctx;
    yyjson_doc *doc;
    if (object_tree(o, l->w->arena, &doc, NULL) != 0) {
        l->failed = ERR_NOMEM;
        return false;
    }
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(json_path(yyjson_doc_get_root(doc), "spec.limits"), i, n, item) {
        apply_item(l, item);
    }
    return true;
}

int admit_limits(struct write *w) {
    const struct kind *k = kind_by_name(STR(""), STR("LimitRange"));
    if (k == NULL || mirror_count(w->s->o.mirror, k) == 0) {
        return 0;
    }
    yyjson_mut_val *root = yyjson_mut_doc_get_root(w->doc);
    struct limits l = {.w = w, .spec = json_mget(root, STR("spec")), .defaults = true};
    buf_init(&l.texts, 64 << 10);
    mirror_scan(w->s->o.mirror, k, w->req->ns, apply_range, &l);
    l.defaults = false;
    mirror_scan(w->s->o.mirror, k, w->req->ns, apply_range, &l);
    int r = 0;
    if (l.failed != 0) {
        r = failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
    } else if (l.n > 0) {
        const char *open = l.n > 1 ? "[" : "", *close = l.n > 1 ? "]" : "";
        r = failure_forbidden(&w->failure, w->arena, w->req->kind,
                              json_mstr_at(root, "metadata.name"), "%s%s%s", open,
                              buf_cstr(&l.texts), close);
    }
    buf_release(&l.texts);
    return r;
}
