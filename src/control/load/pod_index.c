/* pod_index: see pod_index.h. A group is there as long as it has members. */
#include "control/load/pod_index.h"

#include <stdio.h>

#include "base/limits.h"
#include "base/mem.h"

struct pod_index_group {
    struct map members; /* uid to struct gated_pod, which is that of the index */
    size_t n_key;
    char key[];
};

enum { KEY_MAX = 2 * LIMIT_NAME + 2 };

static struct str key_of(char *text, struct str ns, struct str name) {
    int n = snprintf(text, KEY_MAX, "%.*s/%.*s", STR_ARG(ns), STR_ARG(name));
    return n > 0 && n < KEY_MAX ? str_from(text, (size_t)n) : (struct str){0};
}

static void group_free(struct pod_index_group *g) {
    if (g) {
        map_release(&g->members);
        mem_free(g);
    }
}

void pod_index_init(struct pod_index *x) {
    map_init(&x->pods);
    map_init(&x->groups);
}

void pod_index_release(struct pod_index *x) {
    size_t i = 0;
    for (const struct map_entry *e; (e = map_next(&x->groups, &i)) != NULL;) {
        group_free(e->value);
    }
    i = 0;
    for (const struct map_entry *e; (e = map_next(&x->pods, &i)) != NULL;) {
        gated_pod_free(e->value);
    }
    map_release(&x->groups);
    map_release(&x->pods);
}

static int join(struct pod_index *x, struct gated_pod *p) {
    char text[KEY_MAX];
    struct str key = key_of(text, p->obj->ns, p->group);
    if (str_empty(key) || str_empty(p->group)) {
        return 0; /* a name that nothing can have: no Workload either */
    }
    struct pod_index_group *g = map_get(&x->groups, key), *fresh = NULL;
    if (g == NULL) {
        g = fresh = mem_zalloc(sizeof *g + key.n);
        if (g == NULL) {
            return ERR_NOMEM;
        }
        g->n_key = key.n;
        memcpy(g->key, key.p, key.n);
        if (map_put(&x->groups, str_from(g->key, g->n_key), g, NULL) != 0) {
            group_free(g);
            return ERR_NOMEM;
        }
    }
    int r = map_put(&g->members, p->obj->uid, p, NULL);
    if (r != 0 && fresh) {
        map_del(&x->groups, key);
        group_free(fresh);
    }
    return r;
}

static void leave(struct pod_index *x, const struct gated_pod *p) {
    char text[KEY_MAX];
    struct str key = key_of(text, p->obj->ns, p->group);
    struct pod_index_group *g = map_get(&x->groups, key);
    if (g && map_get(&g->members, p->obj->uid) == p) {
        map_del(&g->members, p->obj->uid);
    }
    if (g && map_count(&g->members) == 0) {
        map_del(&x->groups, key);
        group_free(g);
    }
}

int pod_index_put(struct pod_index *x, const struct object *o, struct arena *a,
                  struct str *ret_left) {
    struct gated_pod *p = gated_pod_new(o, a), *was = NULL;
    *ret_left = (struct str){0};
    if (p == NULL) {
        return ERR_NOMEM;
    }
    was = map_get(&x->pods, o->uid);
    if (was && !str_eq(was->group, p->group)) {
        *ret_left = arena_str(a, was->group);
    }
    /* Keys lie in the version that is held: the new one's come before the old one goes. */
    if (join(x, p) != 0) {
        gated_pod_free(p);
        return ERR_NOMEM;
    }
    if (map_put(&x->pods, p->obj->uid, p, NULL) != 0) {
        leave(x, p); /* replacing needs no memory: there was none before */
        gated_pod_free(p);
        return ERR_NOMEM;
    }
    if (was && !str_eq(was->group, p->group)) {
        leave(x, was);
    }
    gated_pod_free(was);
    return 0;
}

void pod_index_drop(struct pod_index *x, const struct object *o) {
    struct gated_pod *p = map_del(&x->pods, o->uid);
    if (p) {
        leave(x, p);
        gated_pod_free(p);
    }
}

const struct gated_pod *pod_index_get(const struct pod_index *x, struct str uid) {
    return map_get(&x->pods, uid);
}

int pod_index_group(const struct pod_index *x, struct str ns, struct str name, struct arena *a,
                    const struct gated_pod ***ret, size_t *ret_n) {
    char text[KEY_MAX];
    const struct pod_index_group *g = map_get(&x->groups, key_of(text, ns, name));
    size_t n = g ? map_count(&g->members) : 0, i = 0, at = 0;
    const struct gated_pod **v = ARENA_ARRAY(a, const struct gated_pod *, n + 1);
    if (v == NULL) {
        return ERR_NOMEM;
    }
    for (const struct map_entry *e; g && (e = map_next(&g->members, &i)) != NULL;) {
        v[at++] = e->value;
    }
    *ret = v;
    *ret_n = at;
    return 0;
}

size_t pod_index_groups(const struct pod_index *x) {
    return map_count(&x->groups);
}
