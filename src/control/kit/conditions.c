/* conditions: see conditions.h. */
#include "control/kit/conditions.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/limits.h"

static struct condition *find(const struct condition_list *l, const char *type) {
    for (size_t i = 0; i < l->n; i++) {
        if (str_is(l->v[i].type, type)) {
            return &l->v[i];
        }
    }
    return NULL;
}

const struct condition *conditions_find(const struct condition_list *l, const char *type) {
    return find(l, type);
}

bool conditions_true(const struct condition_list *l, const char *type) {
    const struct condition *c = find(l, type);
    return c && str_is(c->status, "True");
}

static struct str cut(struct arena *a, struct str message) {
    if (message.n <= LIMIT_CONDITION_MESSAGE) {
        return arena_str(a, message);
    }
    return arena_f(a, "%.*s ...", STR_ARG(str_head(message, LIMIT_CONDITION_MESSAGE - 4)));
}

int conditions_set(struct condition_list *l, struct arena *a, const char *type, bool truth,
                   const char *reason, struct str message, int64_t now_ns, int64_t generation,
                   bool *changed) {
    struct condition *c = find(l, type);
    struct str status = truth ? STR("True") : STR("False");
    message = cut(a, message);
    struct str why = arena_str(a, str_of(reason));
    if (c && str_eq(c->status, status) && str_eq(c->reason, why) && str_eq(c->message, message)) {
        return arena_ok(a);
    }
    if (!c) {
        struct condition *v = ARENA_ARRAY(a, struct condition, l->n + 1);
        if (!v) {
            return ERR_NOMEM;
        }
        if (l->n) {
            memcpy(v, l->v, l->n * sizeof *v);
        }
        l->v = v;
        c = &l->v[l->n++];
        *c = (struct condition){.type = arena_str(a, str_of(type))};
    }
    if (!str_eq(c->status, status)) {
        c->last_transition_ns = now_ns - now_ns % NS_PER_SEC;
    }
    c->status = status;
    c->reason = why;
    c->message = message;
    c->observed_generation = generation;
    if (changed) {
        *changed = true;
    }
    return arena_ok(a);
}

void conditions_remove(struct condition_list *l, const char *type, bool *changed) {
    struct condition *c = find(l, type);
    if (!c) {
        return;
    }
    size_t at = (size_t)(c - l->v);
    memmove(c, c + 1, (l->n - at - 1) * sizeof *c);
    l->n--;
    if (changed) {
        *changed = true;
    }
}
