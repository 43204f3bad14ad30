/* flavors (core): see flavors.h. */
#include "core/queue/flavors.h"

void flavors_init(struct flavor_table *f) {
    *f = (struct flavor_table){0};
    names_init(&f->names);
}

void flavors_release(struct flavor_table *f) {
    for (size_t i = 0; i < f->all.n; i++) {
        mem_free(f->all.v[i].memory);
    }
    flavor_vec_release(&f->all);
    names_release(&f->names);
}

int flavors_slot(struct flavor_table *f, struct str name, uint32_t *ret) {
    uint32_t id;
    int r = names_intern(&f->names, name, &id);
    while (r == 0 && f->all.n <= id) {
        r = flavor_vec_push(&f->all, (struct flavor_entry){0});
    }
    if (r == 0) {
        *ret = id;
    }
    return r;
}

int flavors_set(struct flavor_table *f, uint32_t id, const struct flavor_input *in) {
    struct flavor_entry *x = &f->all.v[id];
    size_t size = flavor_input_size(in);
    struct bump b = {.p = mem_alloc(size), .cap = size};
    if (b.p == NULL) {
        return ERR_NOMEM;
    }
    char *memory = b.p, *old = x->memory;
    flavor_input_copy(&b, in, &x->spec);
    x->memory = memory;
    mem_free(old);
    return 0;
}

void flavors_unset(struct flavor_table *f, uint32_t id) {
    struct flavor_entry *x = &f->all.v[id];
    mem_free(x->memory);
    *x = (struct flavor_entry){.named = x->named};
}
