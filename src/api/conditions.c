/* conditions: see conditions.h. */
#include "api/conditions.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/limits.h"

static struct condition *find(const struct condition_list *l, const char *type) {
    for (size_t i = 0; l && i < l->n; i++) {
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

int conditions_copy(const struct condition_list *l, struct arena *a, struct condition_list *ret) {
    size_t n = l ? l->n : 0;
    struct condition *v = ARENA_ARRAY(a, struct condition, n + 1);
    if (v == NULL) {
        *ret = (struct condition_list){0};
        return ERR_NOMEM;
    }
    if (n) {
        memcpy(v, l->v, n * sizeof *l->v);
    }
    *ret = (struct condition_list){.v = v, .n = n};
    return 0;
}

/* At most the limit, cut between two characters: half of one would be stored as another, and differ for ever. */
static struct str cut(struct arena *a, struct str message) {
    size_t n = LIMIT_CONDITION_MESSAGE - 4;
    if (message.n <= LIMIT_CONDITION_MESSAGE) {
        return arena_str(a, message);
    }
    while (n > 0 && ((unsigned char)message.p[n] & 0xc0) == 0x80) {
        n--;
    }
    return arena_f(a, "%.*s ...", STR_ARG(str_head(message, n)));
}

/* A new one at the end, without a status; NULL: no memory. */
static struct condition *append(struct condition_list *l, struct arena *a, const char *type) {
    struct condition *v = ARENA_ARRAY(a, struct condition, l->n + 1);
    if (v == NULL) {
        return NULL;
    }
    if (l->n) {
        memcpy(v, l->v, l->n * sizeof *v);
    }
    l->v = v;
    v[l->n] = (struct condition){.type = arena_str(a, str_of(type))};
    return &v[l->n++];
}

int conditions_put(struct condition_list *l, struct arena *a, const struct condition_want *want,
                   int64_t now_ns, int64_t generation, bool *changed) {
    struct condition *c = find(l, want->type);
    struct str message = cut(a, want->message);
    if (c && str_is(c->status, want->status) && str_is(c->reason, want->reason) &&
        str_eq(c->message, message)) {
        return arena_ok(a);
    }
    c = c ? c : append(l, a, want->type);
    if (c == NULL) {
        return ERR_NOMEM;
    }
    if (!str_is(c->status, want->status)) {
        c->last_transition_ns = now_ns - now_ns % NS_PER_SEC;
    }
    c->status = arena_str(a, str_of(want->status));
    c->reason = arena_str(a, str_of(want->reason));
    c->message = message;
    if (generation) {
        c->observed_generation = generation;
    }
    if (changed) {
        *changed = true;
    }
    return arena_ok(a);
}

int conditions_set(struct condition_list *l, struct arena *a, const char *type, bool truth,
                   const char *reason, struct str message, int64_t now_ns, int64_t generation,
                   bool *changed) {
    struct condition_want want = {type, truth ? "True" : "False", reason, message};
    return conditions_put(l, a, &want, now_ns, generation, changed);
}

void conditions_remove(struct condition_list *l, const char *type, bool *changed) {
    struct condition *c = find(l, type);
    if (c == NULL) {
        return;
    }
    size_t at = (size_t)(c - l->v);
    memmove(c, c + 1, (l->n - at - 1) * sizeof *c);
    l->n--;
    if (changed) {
        *changed = true;
    }
}
