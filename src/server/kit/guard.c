/* guard: calls the policy and puts refusals in the words that clients know. */
#include "server/kit/guard.h"

#include "server/kit/status.h"

void guard_forbidden(const struct api_request *q, struct arena *a, struct str reason,
                     struct failure *f) {
    const char *colon = reason.n > 0 ? ": " : "";
    if (!q->resource) {
        (void)failure_set(
            f, a, ERR_FORBIDDEN, "forbidden: User \"%.*s\" cannot %.*s path \"%.*s\"%s%.*s",
            STR_ARG(q->user.name), STR_ARG(q->verb_name), STR_ARG(q->path), colon, STR_ARG(reason));
        return;
    }
    struct str label =
        q->group.n > 0 ? arena_f(a, "%.*s.%.*s", STR_ARG(q->plural), STR_ARG(q->group)) : q->plural;
    struct str who = q->name.n > 0 ? arena_f(a, " \"%.*s\"", STR_ARG(q->name)) : (struct str){0};
    struct str where = q->ns.n > 0 ? arena_f(a, "in the namespace \"%.*s\"", STR_ARG(q->ns))
                                   : STR("at the cluster scope");
    (void)failure_set(f, a, ERR_FORBIDDEN,
                      "%.*s%.*s is forbidden: User \"%.*s\" cannot %.*s resource \"%.*s%s%.*s\" in "
                      "API group \"%.*s\" %.*s%s%.*s",
                      STR_ARG(label), STR_ARG(who), STR_ARG(q->user.name), STR_ARG(q->verb_name),
                      STR_ARG(q->plural), q->subresource.n > 0 ? "/" : "", STR_ARG(q->subresource),
                      STR_ARG(q->group), STR_ARG(where), colon, STR_ARG(reason));
    f->name = q->name;
    f->group = q->group;
    f->kind = q->plural;
}

int guard_allow(struct guard *g, const struct api_request *q, struct arena *a,
                struct str *ret_decision, struct failure *f) {
    if (g == NULL || g->authorize == NULL) {
        return 0;
    }
    struct err err = {0};
    struct str reason = {0};
    int r = g->authorize(g, q, a, &reason, &err);
    *ret_decision = reason;
    if (r == 0) {
        return 0;
    }
    if (r == ERR_FORBIDDEN) {
        guard_forbidden(q, a, reason, f);
    } else {
        (void)failure_err(f, a, &err);
    }
    return f->code;
}

int guard_enter(struct guard *g, struct http_request *r, struct api_request *q, struct arena *a,
                struct str *ret_decision, struct failure *f) {
    static const struct str everyone[] = {{"system:unauthenticated", 22}};
    q->user = (struct user){.name = STR("system:anonymous"),
                            .groups = {(struct str *)(uintptr_t)everyone, 1}};
    if (g != NULL && g->authenticate != NULL) {
        struct err err = {0};
        int code = g->authenticate(g, r, q, a, &q->user, &err);
        if (code == ERR_UNAUTHORIZED || code == ERR_AGAIN) {
            *ret_decision = arena_str(a, str_of(err.text)); /* for the audit log alone */
            (void)failure_set(f, a, ERR_UNAUTHORIZED, "Unauthorized");
            return code;
        }
        if (code != 0) {
            return failure_err(f, a, &err);
        }
    }
    return guard_allow(g, q, a, ret_decision, f);
}
