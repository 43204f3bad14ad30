/* crd_status: see crd_status.h. */
#include "server/write/crd_status.h"

#include "base/clock.h"
#include "wire/json/json.h"
#include "wire/text/time.h"

static struct str condition(yyjson_val *crd, const char *type) {
    size_t i, n;
    yyjson_val *c, *list = json_path(crd, "status.conditions");
    if (list == NULL) {
        return (struct str){0};
    }
    yyjson_arr_foreach(list, i, n, c) {
        if (str_is(json_str_at(c, "type"), type)) {
            return json_str_at(c, "status");
        }
    }
    return (struct str){0};
}

bool crd_is_established(yyjson_val *crd) {
    return str_is(condition(crd, "Established"), "True");
}

static bool among(yyjson_val *list, struct str s) {
    size_t i, n;
    yyjson_val *v;
    if (list == NULL) {
        return false;
    }
    yyjson_arr_foreach(list, i, n, v) {
        if (str_eq(json_str(v), s)) {
            return true;
        }
    }
    return false;
}

static void conflict(struct crd_names *n, struct str name, const char *reason) {
    if (n->n_conflicts < CRD_CONFLICTS) {
        n->conflicts[n->n_conflicts] = name;
        n->reasons[n->n_conflicts++] = str_of(reason);
    }
}

/* A name of resources: plural, singular, short names share one space. */
static bool takes(yyjson_val *accepted, struct str name) {
    return name.n > 0 && (str_eq(json_str_at(accepted, "plural"), name) ||
                          str_eq(json_str_at(accepted, "singular"), name) ||
                          among(json_path(accepted, "shortNames"), name));
}

void crd_names_take(struct crd_names *n, yyjson_val *other) {
    yyjson_val *want = json_path(n->self, "spec.names");
    yyjson_val *have = json_path(other, "status.acceptedNames");
    if (!str_eq(json_str_at(n->self, "spec.group"), json_str_at(other, "spec.group"))) {
        return;
    }
    struct str plural = json_str_at(want, "plural"), singular = json_str_at(want, "singular");
    struct str kind = json_str_at(want, "kind"), list = json_str_at(want, "listKind");
    if (takes(have, plural)) {
        conflict(n, plural, "PluralConflict");
    }
    if (takes(have, singular)) {
        conflict(n, singular, "SingularConflict");
    }
    size_t i, count;
    yyjson_val *v, *shorts = json_path(want, "shortNames");
    if (shorts != NULL) {
        yyjson_arr_foreach(shorts, i, count, v) {
            if (takes(have, json_str(v))) {
                conflict(n, json_str(v), "ShortNamesConflict");
            }
        }
    }
    struct str their_kind = json_str_at(have, "kind"), their_list = json_str_at(have, "listKind");
    if (kind.n > 0 && (str_eq(kind, their_kind) || str_eq(kind, their_list))) {
        conflict(n, kind, "KindConflict");
    }
    if (list.n > 0 && (str_eq(list, their_kind) || str_eq(list, their_list))) {
        conflict(n, list, "ListKindConflict");
    }
}

static bool set_text(yyjson_mut_doc *d, yyjson_mut_val *o, const char *key, struct str v) {
    if (str_eq(json_mstr(json_mget(o, str_of(key))), v)) {
        return false;
    }
    (void)json_mset_str(d, o, key, v);
    return true;
}

bool crd_set_condition(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *type, const char *status,
                       const char *reason, struct str message, int64_t now) {
    yyjson_mut_val *st = json_mensure(d, obj, "status"), *c = NULL;
    yyjson_mut_val *list = json_mget(st, STR("conditions"));
    char time[TIME_TEXT_MAX];
    if (!yyjson_mut_is_arr(list)) {
        list = yyjson_mut_arr(d);
        if (st == NULL || list == NULL || json_mset(d, st, STR("conditions"), list) != 0) {
            return false;
        }
    }
    yyjson_mut_arr_iter it = yyjson_mut_arr_iter_with(list);
    yyjson_mut_val *e;
    while ((e = yyjson_mut_arr_iter_next(&it)) != NULL) {
        c = str_is(json_mstr(json_mget(e, STR("type"))), type) ? e : c;
    }
    if (c == NULL) {
        c = yyjson_mut_obj(d);
        if (c == NULL || !yyjson_mut_arr_append(list, c)) {
            return false;
        }
    }
    bool moved = set_text(d, c, "status", str_of(status));
    bool any = moved;
    if (moved) {
        (void)json_mset_str(d, c, "lastTransitionTime", time_text(now, time));
    }
    any |= set_text(d, c, "type", str_of(type));
    any |= set_text(d, c, "reason", str_of(reason));
    any |= set_text(d, c, "message", message);
    return any;
}

static bool accept_names(yyjson_mut_doc *d, yyjson_mut_val *obj) {
    yyjson_mut_val *names = json_mpath(obj, "spec.names"), *status = json_mget(obj, STR("status"));
    yyjson_mut_val *now = json_mget(status, STR("acceptedNames"));
    if (now != NULL && json_mequal(names, now)) {
        return false;
    }
    yyjson_mut_val *copy = yyjson_mut_val_mut_copy(d, names);
    return copy != NULL && json_mset(d, status, STR("acceptedNames"), copy) == 0;
}

/* The groups of Kubernetes' community need its leave. */
static bool approve(yyjson_mut_doc *d, yyjson_mut_val *obj, int64_t now, struct arena *a) {
    struct str group = json_mstr_at(obj, "spec.group");
    bool theirs = str_is(group, "k8s.io") || str_ends(group, STR(".k8s.io")) ||
                  str_is(group, "kubernetes.io") || str_ends(group, STR(".kubernetes.io"));
    yyjson_mut_val *notes = json_mpath(obj, "metadata.annotations");
    struct str by = json_mstr(json_mget(notes, STR("api-approved.kubernetes.io")));
    if (!theirs) {
        return false;
    }
    if (str_starts(by, STR("unapproved"))) {
        return crd_set_condition(d, obj, "KubernetesAPIApprovalPolicyConformant", "False",
                                 "UnapprovedAnnotation",
                                 arena_f(a, "not approved: \"%.*s\"", STR_ARG(by)), now);
    }
    return crd_set_condition(d, obj, "KubernetesAPIApprovalPolicyConformant", "True",
                             "ApprovedAnnotation", arena_f(a, "approved in %.*s", STR_ARG(by)),
                             now);
}

static bool set_names(yyjson_mut_doc *d, yyjson_mut_val *obj, const struct crd_names *names,
                      bool established, int64_t now, struct arena *a) {
    bool any;
    if (names->n_conflicts > 0) {
        struct str text = arena_f(a, "\"%.*s\" is already in use", STR_ARG(names->conflicts[0]));
        struct str reason = arena_str(a, names->reasons[0]);
        any = crd_set_condition(d, obj, "NamesAccepted", "False", reason.p ? reason.p : "", text,
                                now);
        if (!established) {
            any |= crd_set_condition(d, obj, "Established", "False", "NotAccepted",
                                     STR("not all names are accepted"), now);
        }
        return any;
    }
    any = accept_names(d, obj);
    any |= crd_set_condition(d, obj, "NamesAccepted", "True", "NoConflicts",
                             STR("no conflicts found"), now);
    if (!established) {
        any |= crd_set_condition(d, obj, "Established", "True", "InitialNamesAccepted",
                                 STR("the initial names have been accepted"), now);
    }
    return any;
}

bool crd_status_patch(yyjson_val *crd, uint64_t rv, const struct crd_names *names, int64_t now,
                      struct buf *out) {
    struct arena a;
    arena_init(&a, 64 << 20);
    yyjson_mut_doc *d = json_mut_copy(&a, crd);
    yyjson_mut_val *obj = d != NULL ? yyjson_mut_doc_get_root(d) : NULL;
    bool any = false;
    if (obj != NULL && json_mensure(d, obj, "status") != NULL) {
        any = set_names(d, obj, names, crd_is_established(crd), now, &a);
        any |= approve(d, obj, now, &a);
    }
    if (any) {
        buf_f(out,
              "{\"metadata\":{\"resourceVersion\":\"%llu\"},\"status\":", (unsigned long long)rv);
        json_write_mut(out, json_mget(obj, STR("status")));
        buf_ch(out, '}');
    }
    any = any && arena_ok(&a) == 0 && buf_ok(out) == 0;
    arena_release(&a);
    return any;
}

void crd_finalizer_patch(const struct object *crd, struct arena *a, const char *finalizer,
                         struct buf *out) {
    yyjson_doc *doc;
    size_t i, n, written = 0;
    yyjson_val *v;
    arena_reset(a);
    buf_f(out, "{\"metadata\":{\"resourceVersion\":\"%llu\",\"finalizers\":[",
          (unsigned long long)crd->rv);
    if (object_tree(crd, a, &doc, NULL) == 0) {
        yyjson_val *list = json_path(yyjson_doc_get_root(doc), "metadata.finalizers");
        if (list != NULL) {
            yyjson_arr_foreach(list, i, n, v) {
                if (!str_is(json_str(v), finalizer)) {
                    buf_c(out, written++ ? "," : "");
                    buf_json(out, json_str(v));
                }
            }
        }
    }
    buf_c(out, "]}}");
}
