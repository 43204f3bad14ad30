/* asker: see asker.h. */
#include "server/kit/asker.h"

void asker_may(void *ctx, const struct cel_access_ask *ask, struct arena *a,
               struct cel_access_answer *ret) {
    const struct rights_asker *x = ctx;
    struct guard *g = x->s->o.guard;
    struct api_request want = {.method = STR("GET"), .path = ask->path, .user = *x->user};
    struct str groups[3] = {STR("system:serviceaccounts"), STR(""), STR("system:authenticated")};
    struct err err = {0};
    if (ask->account.n > 0) {
        groups[1] = arena_f(a, "system:serviceaccounts:%.*s", STR_ARG(ask->account_ns));
        want.user = (struct user){
            .name = arena_f(a, "system:serviceaccount:%.*s:%.*s", STR_ARG(ask->account_ns),
                            STR_ARG(ask->account)),
            .groups = {groups, 3},
        };
    }
    want.verb_name = ask->verb;
    want.verb = str_is(ask->verb, "get") || str_is(ask->verb, "list") || str_is(ask->verb, "watch")
                    ? VERB_GET
                    : VERB_UPDATE;
    if (ask->path.n == 0) {
        want.resource = true;
        want.group = ask->group;
        want.plural = ask->resource;
        want.subresource = ask->subresource;
        want.ns = ask->ns;
        want.name = want.authz_name = ask->name;
        want.kind = kind_by_resource(ask->group, STR(""), ask->resource);
    }
    ret->allowed =
        g == NULL || g->authorize == NULL || g->authorize(g, &want, a, &ret->reason, &err) == 0;
}
