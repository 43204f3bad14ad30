/* parts: see parts.h. */
#include "api/managed/parts.h"

#include "base/map.h"

enum { FEW = 12 }; /* parts that are looked through one by one; more get a table */

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

static yyjson_mut_val *default_value(struct walk_room *r, struct str text) {
    yyjson_mut_doc *d;
    if (text.n == 0 || json_parse_mut(r->arena, text, &d, NULL) != 0) {
        return NULL;
    }
    return yyjson_mut_doc_get_root(d);
}

static void key_step(struct walk_room *r, const struct form *list, yyjson_mut_val *v, size_t at,
                     struct field_step *ret) {
    struct str name, def;
    size_t n = 0;
    if (!yyjson_mut_is_obj(v)) {
        wrong(r, at,
              yyjson_mut_is_null(v) ? "associative list with keys may not have a null element"
                                    : "associative list with keys may not have non-map elements");
        return;
    }
    while (form_key(list, n, &name, r->arena, &def)) {
        n++;
    }
    struct step_key *keys = ARENA_ARRAY(r->arena, struct step_key, n + 1);
    size_t used = 0;
    for (size_t i = 0; keys != NULL && form_key(list, i, &name, r->arena, &def); i++) {
        yyjson_mut_val *member = json_mget(v, name);
        member = member != NULL ? member : default_value(r, def);
        if (member != NULL) {
            keys[used++] = (struct step_key){name, member};
        }
    }
    if (!room_goes_on(r, n + yyjson_mut_obj_size(v))) {
        return;
    }
    if (used == 0) {
        wrong(r, at, "associative list with keys has an element that omits all key fields");
    } else if (step_of_keys(r->arena, &r->scratch, keys, used, ret) != 0) {
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

/* ---- those that stand twice ---- */

static struct part *find_among(struct part *v, size_t n, const struct field_step *s) {
    for (size_t i = 0; i < n; i++) {
        if (v[i].step.type == s->type && str_eq(v[i].step.text, s->text)) {
            return &v[i];
        }
    }
    return NULL;
}

static void mark_twice(struct walk_room *r, struct part_list *p) {
    struct map seen = {0};
    for (size_t i = 0; i < p->n && room_goes_on(r, p->n <= FEW ? i + 1 : 1); i++) {
        struct part *first =
            p->n <= FEW ? find_among(p->v, i, &p->v[i].step) : map_get(&seen, p->v[i].step.text);
        if (first != NULL) {
            first = first->again ? first->first : first;
            first->twice = p->v[i].twice = p->v[i].again = true;
            p->v[i].first = first;
        } else if (p->n > FEW && map_put(&seen, p->v[i].step.text, &p->v[i], NULL) != 0) {
            r->code = ERR_NOMEM;
        }
    }
    map_release(&seen);
}

/* ---- the parts ---- */

static void take_members(struct walk_room *r, const struct form *f, yyjson_mut_val *v,
                         struct part_list *ret) {
    size_t i, n;
    yyjson_mut_val *key, *member;
    yyjson_mut_obj_foreach(v, i, n, key, member) {
        struct part *p = &ret->v[ret->n++];
        *p = (struct part){.step = {STEP_FIELD, json_mstr(key)}, .key = key, .v = member};
        p->form = form_member(f, p->step.text, &p->named);
    }
}

static void take_elements(struct walk_room *r, const struct form *f, enum form_rule rule,
                          yyjson_mut_val *v, struct part_list *ret) {
    size_t i, n;
    yyjson_mut_val *e;
    struct form element = form_element(f);
    yyjson_mut_arr_foreach(v, i, n, e) {
        if (r->code != 0) {
            return;
        }
        struct part *p = &ret->v[ret->n++];
        *p = (struct part){.v = e, .form = element};
        if (rule == RULE_KEYED) {
            key_step(r, f, e, i, &p->step);
        } else {
            value_step(r, e, i, &p->step);
        }
    }
}

void parts_of(struct walk_room *r, const struct form *f, yyjson_mut_val *v, struct part_list *ret) {
    enum form_rule rule = form_rule(f, v);
    size_t n = rule == RULE_LEAF      ? 0
               : yyjson_mut_is_obj(v) ? yyjson_mut_obj_size(v)
                                      : yyjson_mut_arr_size(v);
    *ret = (struct part_list){0};
    if (n == 0 || !room_goes_on(r, n)) {
        return;
    }
    ret->v = arena_array(r->arena, n, sizeof(*ret->v));
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

static void pair_few(struct walk_room *r, struct part_list *a, struct part_list *b) {
    size_t at = 0;
    for (size_t i = 0; i < a->n && room_goes_on(r, b->n); i++) {
        struct part *p = &a->v[i];
        struct part *o = p->again ? NULL : find_among(b->v + at, b->n - at, &p->step);
        o = o != NULL || p->again ? o : find_among(b->v, at, &p->step);
        if (o != NULL) {
            p->other = o;
            o->other = p;
            at = (size_t)(o - b->v) + 1;
        }
    }
}

void parts_pair(struct walk_room *r, struct part_list *a, struct part_list *b) {
    struct map index = {0};
    if (a->n <= FEW || b->n <= FEW) {
        pair_few(r, a, b);
        return;
    }
    for (size_t i = 0; i < b->n && room_goes_on(r, 2); i++) {
        if (!b->v[i].again && map_put(&index, b->v[i].step.text, &b->v[i], NULL) != 0) {
            r->code = ERR_NOMEM;
        }
    }
    for (size_t i = 0; i < a->n && room_goes_on(r, 2); i++) {
        struct part *o = a->v[i].again ? NULL : map_get(&index, a->v[i].step.text);
        if (o != NULL) {
            a->v[i].other = o;
            o->other = &a->v[i];
        }
    }
    map_release(&index);
}
