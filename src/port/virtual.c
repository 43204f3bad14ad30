/* virtual (mirror): the registry of computed resources and their sources. */
#include "port/virtual.h"

#include "base/mem.h"

struct virtual_registry {
    struct virtual_source *first; /* a handful */
};

struct virtual_registry *virtual_new(void) {
    return mem_zalloc(sizeof(struct virtual_registry));
}

void virtual_free(struct virtual_registry *r) {
    mem_free(r);
}

void virtual_add(struct virtual_registry *r, struct virtual_source *s) {
    s->next = r->first;
    r->first = s;
}

void virtual_remove(struct virtual_registry *r, struct virtual_source *s) {
    for (struct virtual_source **p = &r->first; *p != NULL; p = &(*p)->next) {
        if (*p == s) {
            *p = s->next;
            s->next = NULL;
            return;
        }
    }
}

struct virtual_source *virtual_find(const struct virtual_registry *r, struct str group,
                                    struct str resource, struct str subresource) {
    for (struct virtual_source *s = r != NULL ? r->first : NULL; s != NULL; s = s->next) {
        if (str_is(group, s->group) && str_is(resource, s->resource) &&
            str_is(subresource, s->subresource)) {
            return s;
        }
    }
    return NULL;
}

struct str virtual_param(const struct virtual_ask *q, const char *key) {
    for (size_t i = 0; i < q->n_query; i++) {
        if (str_is(q->query[i].key, key)) {
            return q->query[i].value;
        }
    }
    return (struct str){0};
}
