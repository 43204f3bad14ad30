/* meta: see meta.h. */
#include "api/meta.h"

#include "base/err.h"

static const struct str_pair *pair_of(const struct str_map *m, struct str key) {
    for (size_t i = 0; m && i < m->n; i++) {
        if (str_eq(m->v[i].key, key)) {
            return &m->v[i];
        }
    }
    return NULL;
}

struct str meta_value(const struct str_map *m, struct str key) {
    const struct str_pair *p = pair_of(m, key);
    return p ? p->value : (struct str){0};
}

struct str meta_annotation(const struct meta *m, const char *key) {
    return meta_value(m ? &m->annotations : NULL, str_of(key));
}

struct str meta_label(const struct meta *m, const char *key) {
    return meta_value(m ? &m->labels : NULL, str_of(key));
}

int meta_set(struct str_map *m, struct arena *a, const char *key, struct str value) {
    const struct str_pair *old = pair_of(m, str_of(key));
    if (old == NULL && value.p == NULL) {
        return 0;
    }
    struct str_pair *v = ARENA_ARRAY(a, struct str_pair, m->n + 1);
    size_t n = 0;
    if (v == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < m->n; i++) {
        if (&m->v[i] != old) {
            v[n++] = m->v[i];
        } else if (value.p) {
            v[n++] = (struct str_pair){old->key, arena_str(a, value)};
        }
    }
    if (old == NULL) {
        v[n++] = (struct str_pair){arena_str(a, str_of(key)), arena_str(a, value)};
    }
    *m = (struct str_map){v, n};
    return arena_ok(a);
}

bool meta_has_finalizer(const struct meta *m, const char *finalizer) {
    for (size_t i = 0; m && i < m->finalizers.n; i++) {
        if (str_is(m->finalizers.v[i], finalizer)) {
            return true;
        }
    }
    return false;
}

/* The finalizers without this one, and room for one more at the end. */
static int others(const struct meta *m, struct arena *a, const char *finalizer,
                  struct str_list *ret) {
    *ret = (struct str_list){ARENA_ARRAY(a, struct str, m->finalizers.n + 1), 0};
    for (size_t i = 0; ret->v && i < m->finalizers.n; i++) {
        if (!str_is(m->finalizers.v[i], finalizer)) {
            ret->v[ret->n++] = m->finalizers.v[i];
        }
    }
    return ret->v ? 0 : ERR_NOMEM;
}

int meta_add_finalizer(struct meta *m, struct arena *a, const char *finalizer) {
    struct str_list l;
    if (meta_has_finalizer(m, finalizer)) {
        return 0;
    }
    if (others(m, a, finalizer, &l) != 0) {
        return ERR_NOMEM;
    }
    l.v[l.n++] = arena_str(a, str_of(finalizer));
    m->finalizers = l;
    return arena_ok(a);
}

int meta_remove_finalizer(struct meta *m, struct arena *a, const char *finalizer) {
    struct str_list l;
    if (!meta_has_finalizer(m, finalizer)) {
        return 0;
    }
    if (others(m, a, finalizer, &l) != 0) {
        return ERR_NOMEM;
    }
    m->finalizers = l;
    return 0;
}

int meta_add_owner(struct meta *m, struct arena *a, const struct owner_reference *owner) {
    size_t n = m->owner_references.n;
    struct owner_reference *v = ARENA_ARRAY(a, struct owner_reference, n + 1);
    if (v == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        v[i] = m->owner_references.v[i];
    }
    v[n] = *owner;
    m->owner_references.v = v;
    m->owner_references.n = n + 1;
    return 0;
}
