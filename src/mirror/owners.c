/*
 * owners: which objects name a uid in their ownerReferences.
 *
 * Each version with owners has a block of links, found by the object's address; each link hangs in the list of
 * one owner's uid. Adding and removing cost the same however many objects one owner has.
 */
#include <assert.h>

#include "base/mem.h"
#include "mirror/mirror_private.h"

struct owner_head;

struct owned_link {
    struct owned_link *prev, *next;
    struct owner_head *head;
    const struct object *obj;
};

struct owned {
    const struct object *obj;
    size_t n;
    struct owned_link links[];
};

struct owner_head {
    struct owned_link *first, *last;
    uint64_t hash;
    struct str uid; /* the bytes lie behind */
};

static struct owner_head *find_head(const struct owners *x, uint64_t hash, struct str uid) {
    struct owner_head *h;
    for (size_t i = pset_first(&x->heads, hash); (h = pset_next(&x->heads, hash, &i));) {
        if (str_eq(h->uid, uid)) {
            return h;
        }
    }
    return NULL;
}

static struct owner_head *get_head(struct owners *x, struct str uid) {
    uint64_t hash = pset_hash(0, uid.p, uid.n);
    struct owner_head *h = find_head(x, hash, uid);
    if (h) {
        return h;
    }
    h = mem_alloc(sizeof(*h) + uid.n);
    if (h == NULL) {
        return NULL;
    }
    memcpy(h + 1, uid.p, uid.n);
    *h = (struct owner_head){.hash = hash, .uid = {(char *)(h + 1), uid.n}};
    if (pset_add(&x->heads, hash, h) != 0) {
        mem_free(h);
        return NULL;
    }
    return h;
}

static void unlink_all(struct owners *x, struct owned *owned) {
    for (size_t i = 0; i < owned->n; i++) {
        struct owned_link *l = &owned->links[i];
        *(l->prev ? &l->prev->next : &l->head->first) = l->next;
        *(l->next ? &l->next->prev : &l->head->last) = l->prev;
        if (l->head->first == NULL) {
            pset_del(&x->heads, l->head->hash, l->head);
            mem_free(l->head);
        }
    }
    mem_free(owned);
}

int owners_add(struct owners *x, const struct object *o) {
    if (o->n_owners == 0) {
        return 0;
    }
    struct owned *owned = mem_alloc(sizeof(*owned) + o->n_owners * sizeof(owned->links[0]));
    if (owned == NULL) {
        return ERR_NOMEM;
    }
    *owned = (struct owned){.obj = o};
    for (size_t i = 0; i < o->n_owners; i++) {
        struct owner_head *h = o->owners[i].uid.n ? get_head(x, o->owners[i].uid) : NULL;
        if (h == NULL && o->owners[i].uid.n) {
            unlink_all(x, owned);
            return ERR_NOMEM;
        }
        if (h == NULL || (h->last && h->last->obj == o)) {
            continue; /* no uid, or one that an earlier owner of the object has, whose link is then the last */
        }
        struct owned_link *l = &owned->links[owned->n++];
        *l = (struct owned_link){.prev = h->last, .head = h, .obj = o};
        *(h->last ? &h->last->next : &h->first) = l;
        h->last = l;
    }
    if (pset_add(&x->objects, pset_hash_ptr(o), owned) != 0) {
        unlink_all(x, owned);
        return ERR_NOMEM;
    }
    return 0;
}

void owners_del(struct owners *x, const struct object *o) {
    if (o->n_owners == 0) {
        return;
    }
    uint64_t hash = pset_hash_ptr(o);
    struct owned *owned;
    for (size_t i = pset_first(&x->objects, hash); (owned = pset_next(&x->objects, hash, &i));) {
        if (owned->obj == o) {
            pset_del(&x->objects, hash, owned);
            unlink_all(x, owned);
            return;
        }
    }
    assert(!"an owned object is in the index");
}

void owners_release(struct owners *x) {
    for (size_t i = 0; x->objects.slots && i <= x->objects.mask; i++) {
        if (x->objects.slots[i].item) {
            unlink_all(x, x->objects.slots[i].item);
        }
    }
    pset_release(&x->objects);
    pset_release(&x->heads);
}

void owners_each(const struct owners *x, struct str uid,
                 bool (*each)(void *ctx, const struct object *o), void *ctx) {
    struct owner_head *h = find_head(x, pset_hash(0, uid.p, uid.n), uid);
    for (struct owned_link *l = h ? h->first : NULL; l; l = l->next) {
        if (!each(ctx, l->obj)) {
            return;
        }
    }
}
