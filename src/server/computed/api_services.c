/* api_services: see api_services.h. Made from the group-versions at each request. */
#include "server/computed/api_services.h"

#include "base/buf.h"
#include "server/kit/groups.h"

/* Orders of kube-aggregator: core before all others, its own groups before those of definitions. */
enum { PRIORITY_CORE = 18000, PRIORITY_BUILT_IN = 17000, PRIORITY_CUSTOM = 1000 };

static bool is_custom(const struct group_version *gv) {
    size_t n;
    const struct kind *const *kinds = groups_kinds(gv->group, &n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(kinds[i]->group, gv->group) == 0) {
            const struct kind_version *kv = kind_version(kinds[i], str_of(gv->version));
            if (kv != NULL && kv->schema->custom == NULL) {
                return false;
            }
        }
    }
    return true;
}

static void write_one(struct buf *b, const struct group_version *gv, int rank) {
    int priority = gv->group[0] == '\0' ? PRIORITY_CORE
                   : is_custom(gv)      ? PRIORITY_CUSTOM
                                        : PRIORITY_BUILT_IN;
    buf_c(b,
          "{\"kind\":\"APIService\",\"apiVersion\":\"apiregistration.k8s.io/v1\",\"metadata\":{");
    buf_f(b,
          "\"name\":\"%s.%s\",\"labels\":{\"kube-aggregator.kubernetes.io/automanaged\":\"%s\"}},",
          gv->version, gv->group, priority == PRIORITY_CUSTOM ? "true" : "onstart");
    buf_c(b, "\"spec\":{");
    if (gv->group[0] != '\0') {
        buf_f(b, "\"group\":\"%s\",", gv->group);
    }
    buf_f(b, "\"groupPriorityMinimum\":%d,\"version\":\"%s\",\"versionPriority\":%d},", priority,
          gv->version, rank > 90 ? 10 : 100 - rank);
    buf_c(b, "\"status\":{\"conditions\":[{\"type\":\"Available\",\"status\":\"True\",\"reason\":"
             "\"Local\",\"message\":\"Local APIServices are always available\"}]}}");
}

static void write_list(struct buf *b) {
    size_t n;
    const struct group_version *v = groups_all(&n);
    int rank = 0;
    buf_c(b, "{\"kind\":\"APIServiceList\",\"apiVersion\":\"apiregistration.k8s.io/v1\","
             "\"metadata\":{},\"items\":[");
    for (size_t i = 0; i < n; i++) {
        rank = i > 0 && strcmp(v[i - 1].group, v[i].group) == 0 ? rank + 1 : 0;
        buf_c(b, i ? "," : "");
        write_one(b, &v[i], rank);
    }
    buf_c(b, "]}");
}

/* "v1.apps", "v1.": the group-version that it is of. */
static const struct group_version *find(struct str name, int *ret_rank) {
    size_t n;
    const struct group_version *v = groups_all(&n);
    struct str version, group;
    if (!str_cut(name, '.', &version, &group)) {
        return NULL;
    }
    *ret_rank = 0;
    for (size_t i = 0; i < n; i++) {
        if (str_is(group, v[i].group)) {
            if (str_is(version, v[i].version)) {
                return &v[i];
            }
            ++*ret_rank;
        }
    }
    return NULL;
}

static int ask(struct virtual_source *s, const struct virtual_ask *q, virtual_done *done, void *ctx,
               struct virtual_call **ret, struct err *err) {
    int rank = 0;
    const struct group_version *gv = q->name.n > 0 ? find(q->name, &rank) : NULL;
    struct buf b;
    if (q->name.n > 0 && gv == NULL) {
        return ERR_NOT_FOUND;
    }
    buf_init(&b, 0);
    if (gv != NULL) {
        write_one(&b, gv, rank);
    } else {
        write_list(&b);
    }
    int r = buf_ok(&b) != 0 ? err_set(err, ERR_NOMEM, "out of memory") : 0;
    if (r == 0) {
        done(ctx, 0, buf_view(&b), NULL);
    }
    buf_release(&b);
    return r;
}

static void cancel(struct virtual_source *s, struct virtual_call *c) {
    (void)s; /* all is answered at once */
    (void)c;
}

struct virtual_source *api_services_find(const struct kind *k) {
    static struct virtual_source source = {.group = "apiregistration.k8s.io",
                                           .resource = "apiservices",
                                           .subresource = "",
                                           .ask = ask,
                                           .cancel = cancel};
    bool mine = k == kind_by_name(STR("apiregistration.k8s.io"), STR("APIService"));
    return mine ? &source : NULL;
}
