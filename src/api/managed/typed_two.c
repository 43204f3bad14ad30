/*
 * typed_two: two values of one form side by side: how they differ, and one laid over the other.
 *
 * Where they are of different kinds (a map and a scalar, which only what no schema describes can be), the value is
 * another one, and the parts of each have come or gone. Two that are both without parts are compared as a whole, so
 * that an empty list differs from none.
 */
#include "api/managed/parts.h"
#include "api/managed/typed.h"

/* ---- compare ---- */

enum { ADDED, MODIFIED, REMOVED, CHANGES };
enum { VALUE_STEPS = 16 }; /* that copying and comparing a value of a whole takes */

static void compare(struct walk_room *r, const struct form *f, yyjson_mut_val *was,
                    yyjson_mut_val *now, struct fields node[CHANGES]);

/* One step of the two: each of them may be NULL. */
static void compare_step(struct walk_room *r, const struct part *was, const struct part *now,
                         struct fields node[CHANGES]) {
    const struct part *one = was != NULL ? was : now;
    bool twice_was = was != NULL && was->twice, twice_now = now != NULL && now->twice;
    struct fields kid[CHANGES];
    for (int i = 0; i < CHANGES; i++) {
        kid[i] = (struct fields){.step = one->step};
    }
    if (twice_was && twice_now) {
        kid[MODIFIED].member = !json_mequal(was->v, now->v);
    } else if (twice_was ||
               twice_now) { /* elements of one name became one, or one became several */
        compare(r, &one->form,
                twice_was     ? NULL
                : was != NULL ? was->v
                              : NULL,
                twice_now     ? NULL
                : now != NULL ? now->v
                              : NULL,
                kid);
        kid[twice_was ? REMOVED : ADDED].member = true;
    } else {
        compare(r, &one->form, was != NULL ? was->v : NULL, now != NULL ? now->v : NULL, kid);
    }
    for (int i = 0; i < CHANGES; i++) {
        fields_add(r->arena, &node[i], &kid[i]);
    }
}

static void compare_parts(struct walk_room *r, const struct form *f, yyjson_mut_val *was,
                          yyjson_mut_val *now, struct fields node[CHANGES]) {
    struct part_list a, b;
    parts_of(r, f, was, &a);
    parts_of(r, f, now, &b);
    parts_pair(r, &a, &b);
    for (size_t i = 0; i < a.n && r->code == 0; i++) {
        if (!a.v[i].again) {
            compare_step(r, &a.v[i], a.v[i].other, node);
        }
    }
    for (size_t i = 0; i < b.n && r->code == 0; i++) {
        if (!b.v[i].again && b.v[i].other == NULL) {
            compare_step(r, NULL, &b.v[i], node);
        }
    }
    for (int i = 0; i < CHANGES; i++) {
        fields_order(r->arena, &node[i]);
    }
    parts_release(&a);
    parts_release(&b);
}

static size_t values_in(yyjson_mut_val *v) {
    return yyjson_mut_is_ctn(v) ? yyjson_mut_get_len(v) : 0;
}

/* A value without parts, or one that is taken as a whole. */
static void compare_leaf(struct walk_room *r, yyjson_mut_val *was, yyjson_mut_val *now,
                         struct fields node[CHANGES]) {
    (void)room_goes_on(r, 1 + VALUE_STEPS * (values_in(was) + values_in(now)));
    node[ADDED].member = was == NULL;
    node[REMOVED].member = now == NULL;
    node[MODIFIED].member = was != NULL && now != NULL && !json_mequal(was, now);
}

static void compare(struct walk_room *r, const struct form *f, yyjson_mut_val *was,
                    yyjson_mut_val *now, struct fields node[CHANGES]) {
    enum form_rule a = form_rule(f, was), b = form_rule(f, now);
    bool parts_was = a != RULE_LEAF && values_in(was) > 0;
    bool parts_now = b != RULE_LEAF && values_in(now) > 0;
    if (was == NULL && now == NULL) {
        return;
    }
    if (!parts_was && !parts_now) {
        compare_leaf(r, was, now, node);
        return;
    }
    compare_parts(r, f, was, now, node);
    bool scalar_was = was != NULL && !yyjson_mut_is_ctn(was) && !yyjson_mut_is_null(was);
    bool scalar_now = now != NULL && !yyjson_mut_is_ctn(now) && !yyjson_mut_is_null(now);
    node[ADDED].member = was == NULL;
    node[REMOVED].member = now == NULL;
    node[MODIFIED].member = scalar_was || scalar_now;
}

int typed_compare(struct arena *a, const struct form *f, yyjson_mut_val *was, yyjson_mut_val *now,
                  struct typed_change *ret, struct err *err) {
    struct walk_room r;
    struct fields node[CHANGES] = {0};
    room_init(&r, a);
    compare(&r, f, was, now, node);
    for (int i = 0; i < CHANGES; i++) {
        node[i].member = false;
    }
    int code = room_end(&r, err);
    if (code == 0) {
        *ret = (struct typed_change){node[ADDED], node[MODIFIED], node[REMOVED]};
    }
    return code;
}

int typed_compare_member(struct arena *a, const struct form *f, const char *name,
                         yyjson_mut_val *was, yyjson_mut_val *now, struct typed_change *ret,
                         struct err *err) {
    struct walk_room r;
    struct fields root[CHANGES] = {0}, node[CHANGES];
    size_t hint = 0;
    bool named;
    struct form below = form_member(f, str_of(name), &hint, &named);
    for (int i = 0; i < CHANGES; i++) {
        node[i] = (struct fields){.step = {STEP_FIELD, str_of(name)}};
    }
    room_init(&r, a);
    compare(&r, &below, json_mget(was, str_of(name)), json_mget(now, str_of(name)), node);
    for (int i = 0; i < CHANGES; i++) {
        fields_add(a, &root[i], &node[i]);
    }
    int code = room_end(&r, err);
    if (code == 0) {
        *ret = (struct typed_change){root[ADDED], root[MODIFIED], root[REMOVED]};
    }
    return code;
}

/* ---- merge ---- */

/* A merge under way. */
struct merging {
    struct walk_room room;
    yyjson_mut_doc *d;
    bool inexact; /* elements that stood twice had a part in it */
};

static yyjson_mut_val *merge(struct merging *m, const struct form *f, yyjson_mut_val *live,
                             yyjson_mut_val *config, struct fields node[CHANGES]);

/* What becomes of one step; either may be NULL. */
static yyjson_mut_val *merge_part(struct merging *m, const struct part *live,
                                  const struct part *config, struct fields node[CHANGES]) {
    struct fields kid[CHANGES];
    if (config == NULL) {
        return live->v;
    }
    for (int i = 0; i < CHANGES; i++) {
        kid[i] = (struct fields){.step = config->step};
    }
    bool twice = live != NULL && live->twice;
    m->inexact = m->inexact || twice;
    yyjson_mut_val *v =
        merge(m, &config->form, live != NULL && !twice ? live->v : NULL, config->v, kid);
    for (int i = 0; i < CHANGES; i++) {
        fields_add(m->room.arena, &node[i], &kid[i]);
    }
    return v;
}

static void put(struct merging *m, yyjson_mut_val *to, yyjson_mut_val *key, yyjson_mut_val *v) {
    bool ok = v == NULL     ? m->room.code != 0
              : key != NULL ? yyjson_mut_obj_add(to, key, v)
                            : yyjson_mut_arr_append(to, v);
    if (!ok && m->room.code == 0) {
        m->room.code = ERR_NOMEM;
    }
}

/* The live members in their order, then those that are new. */
static void merge_members(struct merging *m, struct part_list *live, struct part_list *config,
                          yyjson_mut_val *to, struct fields node[CHANGES]) {
    for (size_t i = 0; i < live->n && m->room.code == 0; i++) {
        put(m, to, live->v[i].key, merge_part(m, &live->v[i], live->v[i].other, node));
    }
    for (size_t i = 0; i < config->n && m->room.code == 0; i++) {
        if (config->v[i].other == NULL) {
            put(m, to, config->v[i].key, merge_part(m, NULL, &config->v[i], node));
        }
    }
}

/* The next element of the config, from i on, that the live list has as well. */
static const struct part *next_shared(const struct part_list *config, size_t i) {
    while (i < config->n && config->v[i].other == NULL) {
        i++;
    }
    return i < config->n ? &config->v[i] : NULL;
}

/*
 * The elements of both lists in one order: that of the config among its own, and that of the live list among those that
 * only it has. An element that only the live list has comes before the shared one that it stood before, as far as the
 * config's order lets it.
 */
static void merge_elements(struct merging *m, struct part_list *live, struct part_list *config,
                           yyjson_mut_val *to, struct fields node[CHANGES]) {
    size_t i = 0, j = 0; /* next of live; next of config, all before it are placed */
    const struct part *shared = next_shared(config, 0); /* the first of them from j on */
    while ((i < live->n || j < config->n) && room_goes_on(&m->room, 1)) {
        const struct part *e = i < live->n ? &live->v[i] : NULL;
        const struct part *own = e == NULL ? NULL : e->again ? e->first->other : e->other;
        bool placed = own != NULL && (size_t)(own - config->v) < j;
        if (e != NULL && own == NULL) {
            put(m, to, NULL, live->v[i++].v);
        } else if (e != NULL && (placed || own != shared)) {
            i++; /* it stands already, or stands where the config has it */
        } else {
            const struct part *c = &config->v[j++];
            put(m, to, NULL, merge_part(m, c->other, c, node));
            shared = shared == c ? next_shared(config, j) : shared;
        }
    }
}

static yyjson_mut_val *merge(struct merging *m, const struct form *f, yyjson_mut_val *live,
                             yyjson_mut_val *config, struct fields node[CHANGES]) {
    struct part_list a, b;
    struct walk_room *r = &m->room;
    enum form_rule rule = form_rule(f, config);
    bool both = live != NULL && rule != RULE_LEAF && form_rule(f, live) == rule;
    if (!room_goes_on(r, 1)) {
        return NULL;
    }
    if (!both) {
        compare(r, f, live, config, node);
        return config;
    }
    parts_of(r, f, live, &a);
    parts_of(r, f, config, &b);
    parts_pair(r, &a, &b);
    yyjson_mut_val *to = rule == RULE_MEMBERS ? yyjson_mut_obj(m->d) : yyjson_mut_arr(m->d);
    if (to == NULL) {
        r->code = r->code != 0 ? r->code : ERR_NOMEM;
    } else if (rule == RULE_MEMBERS) {
        merge_members(m, &a, &b, to, node);
    } else {
        merge_elements(m, &a, &b, to, node);
    }
    for (int i = 0; i < CHANGES; i++) {
        fields_order(r->arena, &node[i]);
    }
    parts_release(&a);
    parts_release(&b);
    return to;
}

int typed_merge(yyjson_mut_doc *d, const struct form *f, yyjson_mut_val *live,
                yyjson_mut_val *config, yyjson_mut_val **ret, struct typed_change *ret_change,
                bool *ret_exact, struct err *err) {
    struct merging m = {.d = d};
    struct fields node[CHANGES] = {0};
    room_init(&m.room, json_arena(d));
    yyjson_mut_val *merged = merge(&m, f, live, config, node);
    int code = room_end(&m.room, err);
    if (code == 0) {
        *ret = merged;
        *ret_change = (struct typed_change){node[ADDED], node[MODIFIED], node[REMOVED]};
        *ret_exact = !m.inexact;
    }
    return code;
}
