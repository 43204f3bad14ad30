/* parts: see parts.h. */
#include "api/managed/parts.h"

#include "base/mem.h"

enum {
    FEW = 64,        /* parts that are kept in the arena */
    STEPS_EACH = 40, /* that taking a part and finding it again costs, about */
};

void room_init(struct walk_room *r, struct arena *a) {
    *r = (struct walk_room){.arena = a};
    buf_init(&r->scratch, 0);
}

int room_end(struct walk_room *r, struct err *err) {
    int code = r->code != 0 ? r->code : arena_ok(r->arena);
    buf_release(&r->scratch);
    if (code == ERR_INVALID) {
        return err_set(err, code, "%.*s", STR_ARG(r->wrong));
    }
    return code == 0 ? 0
                     : err_set(err, code,
                               code == ERR_NOMEM ? "out of memory" : "the object is too complex");
}

bool room_goes_on(struct walk_room *r, size_t n) {
    if (r->code == 0 && !arena_charge(r->arena, n)) {
        r->code = ERR_TOO_LARGE;
    } else if (r->code == 0) {
        r->code = arena_ok(r->arena);
    }
    return r->code == 0;
}

static void wrong(struct walk_room *r, size_t i, const char *why) {
    if (r->code == 0) {
        r->code = ERR_INVALID;
        r->wrong = arena_f(r->arena, "element %zu: %s", i, why);
    }
}

/* ---- steps of elements ---- */

/* The keys of a list, and what an element has that leaves one out. */
struct list_keys {
    struct step_key *v;   /* of the list */
    struct step_key *one; /* room for those of an element */
    size_t n;
};

static yyjson_mut_val *default_value(struct walk_room *r, struct str text) {
    yyjson_mut_doc *d;
    if (text.n == 0 || json_parse_mut(r->arena, text, &d, NULL) != 0) {
        return NULL;
    }
    return yyjson_mut_doc_get_root(d);
}

static void keys_of(struct walk_room *r, const struct form *list, struct list_keys *ret) {
    struct str name, def;
    size_t n = 0;
    while (form_key(list, n, &name, r->arena, &def)) {
        n++;
    }
    ret->v = ARENA_ARRAY(r->arena, struct step_key, n + 1);
    ret->one = ARENA_ARRAY(r->arena, struct step_key, n + 1);
    ret->n = n;
    if (ret->v == NULL || ret->one == NULL || !room_goes_on(r, n)) {
        r->code = r->code != 0 ? r->code : ERR_NOMEM;
        return;
    }
    for (size_t i = 0; i < n && form_key(list, i, &name, r->arena, &def); i++) {
        ret->v[i] = (struct step_key){name, default_value(r, def)};
    }
}

static void key_step(struct walk_room *r, const struct list_keys *keys, yyjson_mut_val *v,
                     size_t at, struct field_step *ret) {
    if (!yyjson_mut_is_obj(v)) {
        wrong(r, at,
              yyjson_mut_is_null(v) ? "associative list with keys may not have a null element"
                                    : "associative list with keys may not have non-map elements");
        return;
    }
    size_t used = 0;
    for (size_t i = 0; i < keys->n; i++) {
        yyjson_mut_val *member = json_mget(v, keys->v[i].name);
        member = member != NULL ? member : keys->v[i].v;
        if (member != NULL) {
            keys->one[used++] = (struct step_key){keys->v[i].name, member};
        }
    }
    if (!room_goes_on(r, keys->n + yyjson_mut_obj_size(v))) {
        return;
    }
    if (used == 0) {
        wrong(r, at, "associative list with keys has an element that omits all key fields");
    } else if (step_of_keys(r->arena, &r->scratch, keys->one, used, ret) != 0) {
        r->code = ERR_NOMEM;
    }
}

static void value_step(struct walk_room *r, yyjson_mut_val *v, size_t at, struct field_step *ret) {
    if (yyjson_mut_is_ctn(v) || yyjson_mut_is_null(v)) {
        wrong(r, at, "associative list without keys has an element that is no scalar");
    } else if (step_of_value(r->arena, &r->scratch, v, ret) != 0) {
        r->code = ERR_NOMEM;
    }
}

/* ---- by step ---- */

/* Parts by step: a table. Looking is charged, so that crafted texts make it end, not last. */
struct step_index {
    const struct part **slots;
    size_t mask;
};

static void index_release(struct step_index *x) {
    mem_free(x->slots);
}

static void index_init(struct walk_room *r, struct step_index *x, size_t n) {
    size_t size = 8;
    while (size < 2 * n) {
        size *= 2;
    }
    x->mask = size - 1;
    x->slots = mem_array(size, sizeof(const struct part *));
    if (x->slots == NULL) {
        r->code = ERR_NOMEM;
    }
}

/* The slot of the step: of the part that has it, or a free one. */
static const struct part **index_slot(struct walk_room *r, struct step_index *x,
                                      const struct part *p) {
    size_t at = p->hash & x->mask, steps = 1;
    while (x->slots[at] != NULL &&
           (x->slots[at]->hash != p->hash || !str_eq(x->slots[at]->step.text, p->step.text))) {
        at = (at + 1) & x->mask;
        steps++;
    }
    (void)room_goes_on(r, steps);
    return &x->slots[at];
}

static void mark_twice(struct walk_room *r, struct part_list *p) {
    struct step_index x;
    index_init(r, &x, p->n);
    for (size_t i = 0; i < p->n && r->code == 0; i++) {
        const struct part **slot = index_slot(r, &x, &p->v[i]);
        if (*slot == NULL) {
            *slot = &p->v[i];
            continue;
        }
        struct part *first = &p->v[*slot - p->v];
        first->twice = p->v[i].twice = p->v[i].again = true;
        p->v[i].first = first;
    }
    index_release(&x);
}

/* ---- the parts ---- */

static void take_members(struct walk_room *r, const struct form *f, yyjson_mut_val *v,
                         struct part_list *ret) {
    size_t i, n, hint = 0;
    yyjson_mut_val *key, *member;
    yyjson_mut_obj_foreach(v, i, n, key, member) {
        struct part *p = &ret->v[ret->n++];
        *p = (struct part){.step = {STEP_FIELD, json_mstr(key)}, .key = key, .v = member};
        p->hash = (uint32_t)str_hash(p->step.text);
        p->form = form_member(f, p->step.text, &hint, &p->named);
    }
}

static void take_elements(struct walk_room *r, const struct form *f, enum form_rule rule,
                          yyjson_mut_val *v, struct part_list *ret) {
    size_t i, n;
    yyjson_mut_val *e;
    struct form element = form_element(f);
    struct list_keys keys = {0};
    if (rule == RULE_KEYED) {
        keys_of(r, f, &keys);
    }
    yyjson_mut_arr_foreach(v, i, n, e) {
        if (r->code != 0) {
            return;
        }
        struct part *p = &ret->v[ret->n++];
        *p = (struct part){.v = e, .form = element};
        if (rule == RULE_KEYED) {
            key_step(r, &keys, e, i, &p->step);
        } else {
            value_step(r, e, i, &p->step);
        }
        p->hash = (uint32_t)str_hash(p->step.text);
    }
}

void parts_release(struct part_list *p) {
    if (p->on_heap) {
        mem_free(p->v);
    }
    *p = (struct part_list){0};
}

void parts_of(struct walk_room *r, const struct form *f, yyjson_mut_val *v, struct part_list *ret) {
    enum form_rule rule = form_rule(f, v);
    size_t n = rule == RULE_LEAF      ? 0
               : yyjson_mut_is_obj(v) ? yyjson_mut_obj_size(v)
                                      : yyjson_mut_arr_size(v);
    *ret = (struct part_list){.on_heap = n > FEW};
    if (n == 0 || !room_goes_on(r, STEPS_EACH * n)) {
        return;
    }
    ret->v =
        ret->on_heap ? mem_array(n, sizeof(*ret->v)) : arena_array(r->arena, n, sizeof(*ret->v));
    if (ret->v == NULL) {
        r->code = ERR_NOMEM;
        return;
    }
    if (rule == RULE_MEMBERS) {
        take_members(r, f, v, ret);
    } else {
        take_elements(r, f, rule, v, ret);
        mark_twice(r, ret);
    }
}

static bool same_step(const struct part *a, const struct part *b) {
    return a->hash == b->hash && a->step.type == b->step.type && str_eq(a->step.text, b->step.text);
}

/* Those that stand in the same order in both, which is nearly always all of them; how many of b were found. */
static size_t pair_in_order(struct part_list *a, struct part_list *b) {
    size_t at = 0, found = 0;
    for (size_t i = 0; i < a->n && at < b->n; i++) {
        struct part *p = &a->v[i];
        while (at < b->n && b->v[at].again) {
            at++;
        }
        if (at < b->n && !p->again && same_step(p, &b->v[at])) {
            p->other = &b->v[at];
            b->v[at++].other = p;
            found++;
        }
    }
    return found;
}

void parts_pair(struct walk_room *r, struct part_list *a, struct part_list *b) {
    struct step_index x;
    if (a->n == 0 || b->n == 0 || !room_goes_on(r, a->n + b->n)) {
        return;
    }
    size_t found = pair_in_order(a, b);
    if (found == a->n || found == b->n) {
        return;
    }
    index_init(r, &x, b->n);
    for (size_t i = 0; i < b->n && r->code == 0; i++) {
        if (!b->v[i].again && b->v[i].other == NULL) {
            *index_slot(r, &x, &b->v[i]) = &b->v[i];
        }
    }
    for (size_t i = 0; i < a->n && r->code == 0; i++) {
        if (a->v[i].again || a->v[i].other != NULL) {
            continue;
        }
        const struct part *o = *index_slot(r, &x, &a->v[i]);
        if (o != NULL) {
            a->v[i].other = &b->v[o - b->v];
            a->v[i].other->other = &a->v[i];
        }
    }
    index_release(&x);
}
