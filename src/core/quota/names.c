/* names (core): interned names. */
#include "core/quota/names.h"

void names_init(struct names *n) {
    *n = (struct names){0};
}

void names_release(struct names *n) {
    for (size_t i = 0; i < n->v.n; i++) {
        mem_free(n->v.v[i]);
    }
    name_vec_release(&n->v);
    map_release(&n->by_text);
}

int names_intern(struct names *n, struct str text, uint32_t *ret) {
    struct name_entry *e = map_get(&n->by_text, text);
    if (e != NULL) {
        *ret = e->id;
        return 0;
    }
    if (n->v.n >= NAMES_MAX) {
        return ERR_TOO_MANY;
    }
    e = mem_alloc(sizeof(*e) + text.n);
    if (e == NULL) {
        return ERR_NOMEM;
    }
    char *copy = (char *)(e + 1);
    if (text.n > 0) {
        memcpy(copy, text.p, text.n);
    }
    *e = (struct name_entry){.text = {copy, text.n}, .id = (uint32_t)n->v.n};
    if (name_vec_room(&n->v, 1) != 0 || map_put(&n->by_text, e->text, e, NULL) != 0) {
        mem_free(e);
        return ERR_NOMEM;
    }
    n->v.v[n->v.n++] = e;
    *ret = e->id;
    return 0;
}

int names_intern_guest(struct names *n, struct str text, uint32_t *ret) {
    uint32_t id = names_find(n, text);
    if (id == NAME_ABSENT) {
        return n->v.n < NAMES_GUESTS_MAX ? names_intern(n, text, ret) : ERR_TOO_MANY;
    }
    *ret = id;
    return 0;
}

uint32_t names_find(const struct names *n, struct str text) {
    const struct name_entry *e = map_get(&n->by_text, text);
    return e == NULL ? NAME_ABSENT : e->id;
}

struct str names_text(const struct names *n, uint32_t id) {
    return id < n->v.n ? n->v.v[id]->text : (struct str){0};
}
