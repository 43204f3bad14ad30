/* cel_access: see cel_access.h. Selectors of a check change nothing: rights by roles know none, as upstream. */
#include "api/cel/cel_access.h"

#include "base/limits.h"
#include "wire/json/json.h"

enum { ASK_STEPS = 2000 }; /* of a decision, [k8s: 350,000 of 1,000,000] */

char cel_access_letter(const struct cel_access *x) {
    return x->letter;
}

static struct cel_value make(struct cel_run *r, const struct cel_access *from, char letter,
                             struct cel_access **ret) {
    struct cel_access *x = ARENA_NEW(r->in->arena, struct cel_access);
    if (x == NULL || !cel_spend(r, 1)) {
        *ret = NULL;
        return cel_error(r, "out of memory");
    }
    if (from != NULL) {
        *x = *from;
    }
    x->letter = letter;
    *ret = x;
    return (struct cel_value){.type = CEL_V_ACCESS, .access = x};
}

struct cel_value cel_access_of(struct cel_run *r) {
    struct cel_access *x;
    return make(r, NULL, 'Z', &x);
}

struct cel_value cel_access_member(struct cel_run *r, struct cel_value v, struct str name) {
    struct cel_access *x;
    yyjson_val *q = r->in->request_access;
    if (v.access->letter != 'Z' || !str_is(name, "requestResource") || q == NULL) {
        return cel_error(r, "no such key: %.*s", STR_ARG(str_head(name, 256)));
    }
    struct cel_value out = make(r, v.access, 'R', &x);
    if (x != NULL) {
        x->ask.group = json_str_at(q, "resource.group");
        x->ask.resource = json_str_at(q, "resource.resource");
        x->ask.subresource = json_str_at(q, "subResource");
        x->ask.ns = json_str_at(q, "namespace");
        x->ask.name = json_str_at(q, "name");
    }
    return out;
}

/* The value before the dot with one member of its question set. */
static struct cel_value with(struct cel_run *r, struct cel_value *v, char letter, size_t offset) {
    struct cel_access *x;
    struct cel_value out = make(r, v[0].access, letter, &x);
    if (x != NULL) {
        memcpy((char *)&x->ask + offset, &v[1].s, sizeof(struct str));
    }
    return out;
}

CEL_CALL(call_path) {
    (void)e;
    (void)n;
    return v[1].s.n > 0 ? with(r, v, 'H', offsetof(struct cel_access_ask, path))
                        : cel_error(r, "path must not be empty");
}

CEL_CALL(call_group) {
    (void)e;
    (void)n;
    return with(r, v, 'G', offsetof(struct cel_access_ask, group));
}

CEL_CALL(call_resource) {
    (void)e;
    (void)n;
    return v[1].s.n > 0 ? with(r, v, 'R', offsetof(struct cel_access_ask, resource))
                        : cel_error(r, "resource must not be empty");
}

CEL_CALL(call_subresource) {
    (void)e;
    (void)n;
    return with(r, v, 'R', offsetof(struct cel_access_ask, subresource));
}

CEL_CALL(call_namespace) {
    (void)e;
    (void)n;
    return with(r, v, 'R', offsetof(struct cel_access_ask, ns));
}

CEL_CALL(call_name) {
    (void)e;
    (void)n;
    return with(r, v, 'R', offsetof(struct cel_access_ask, name));
}

/* A right that is limited to some objects would be looked for; none is, so the whole right is asked about. */
CEL_CALL(call_selector) {
    (void)r;
    (void)e;
    (void)n;
    return v[0];
}

CEL_CALL(call_account) {
    (void)e;
    (void)n;
    struct cel_access *x;
    struct cel_value out = make(r, v[0].access, 'Z', &x);
    if (x != NULL) {
        x->ask.account_ns = v[1].s;
        x->ask.account = v[2].s;
    }
    return v[1].s.n > 0 && v[2].s.n > 0
               ? out
               : cel_error(r, "a service account has a namespace and a name");
}

CEL_CALL(call_check) {
    (void)e;
    (void)n;
    struct cel_access *x;
    struct cel_value out = make(r, v[0].access, 'W', &x);
    if (x == NULL || !cel_spend(r, ASK_STEPS)) {
        return out;
    }
    x->ask.verb = v[1].s;
    if (r->in->access == NULL) {
        return cel_error(r, "there is no authorizer here");
    }
    r->in->access(r->in->access_ctx, &x->ask, r->in->arena, &x->answer);
    return out;
}

CEL_CALL(call_allowed) {
    (void)r;
    (void)e;
    (void)n;
    return cel_bool(v[0].access->answer.allowed);
}

CEL_CALL(call_reason) {
    (void)r;
    (void)e;
    (void)n;
    return cel_str(v[0].access->answer.reason);
}

CEL_CALL(call_errored) {
    (void)r;
    (void)e;
    (void)n;
    return cel_bool(v[0].access->answer.error.n > 0);
}

CEL_CALL(call_error) {
    (void)r;
    (void)e;
    (void)n;
    return cel_str(v[0].access->answer.error);
}

static const struct cel_function functions[] = {
    {"path", true, "Zs>H", call_path},
    {"group", true, "Zs>G", call_group},
    {"serviceAccount", true, "Zss>Z", call_account},
    {"resource", true, "Gs>R", call_resource},
    {"subresource", true, "Rs>R", call_subresource},
    {"namespace", true, "Rs>R", call_namespace},
    {"name", true, "Rs>R", call_name},
    {"fieldSelector", true, "Rs>R", call_selector},
    {"labelSelector", true, "Rs>R", call_selector},
    {"check", true, "Hs>W Rs>W", call_check},
    {"allowed", true, "W>b", call_allowed},
    {"reason", true, "W>s", call_reason},
    {"errored", true, "W>b", call_errored},
    {"error", true, "W>s", call_error},
};
CEL_FUNCTIONS(cel_access_functions, functions);
