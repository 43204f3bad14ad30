/* typed: the walks over one value; two at a time are in typed_two.c. */
#include "api/managed/typed.h"

#include "api/managed/parts.h"
#include "api/walk/walk.h"

/* ---- what does not fit ---- */

/* A frame of the path to a value. */
struct trail {
    const struct trail *up;
    const struct field_step *step;
};

static void write_trail(const struct trail *t, struct arena *a, struct buf *b) {
    if (t != NULL) {
        write_trail(t->up, a, b);
        step_write(t->step, a, b);
    }
}

static void refuse(struct walk_room *r, const struct trail *at, struct str why) {
    struct buf b;
    buf_init(&b, 0);
    write_trail(at, r->arena, &b);
    buf_c(&b, at != NULL ? ": " : "");
    buf_str(&b, why);
    r->code = buf_ok(&b) != 0 ? ERR_NOMEM : ERR_INVALID;
    r->wrong = arena_str(r->arena, buf_view(&b));
    buf_release(&b);
}

/* What of a config does not fit: the parts of one value. */
static bool part_fits(struct walk_room *r, const struct form *f, const struct part *p,
                      const struct trail *at) {
    struct trail here = {at, &p->step};
    if (p->again) {
        struct buf b;
        buf_init(&b, 0);
        step_write(&p->step, r->arena, &b);
        refuse(r, at, arena_f(r->arena, "duplicate entries for key %.*s", STR_ARG(buf_view(&b))));
        buf_release(&b);
    } else if (p->key != NULL && !p->named && !form_allows(f, p->step.text)) {
        refuse(r, &here, STR("field not declared in schema"));
    }
    return r->code == 0;
}

static void check_inside(struct walk_room *r, const struct form *f, yyjson_mut_val *v,
                         const struct trail *at);

/* Elements of a list or values of a map that are one value by the schema. */
static void check_values(struct walk_room *r, const struct form *f, yyjson_mut_val *v,
                         const struct trail *at) {
    struct form one = form_element(f);
    size_t i, n;
    yyjson_mut_val *e, *k;
    one.atomic = false;
    if (yyjson_mut_is_arr(v)) {
        yyjson_mut_arr_foreach(v, i, n, e) {
            char number[24];
            int len = snprintf(number, sizeof(number), "%zu", i);
            struct field_step step = {.type = STEP_INDEX, .text = str_from(number, (size_t)len)};
            struct trail here = {at, &step};
            if (r->code == 0 && room_goes_on(r, 1)) {
                check_inside(r, &one, e, &here);
            }
        }
    } else if (yyjson_mut_is_obj(v)) {
        yyjson_mut_obj_foreach(v, i, n, k, e) {
            struct field_step step = {.type = STEP_FIELD, .text = json_mstr(k)};
            struct trail here = {at, &step};
            if (r->code == 0 && room_goes_on(r, 1)) {
                check_inside(r, &one, e, &here);
            }
        }
    }
}

/* Inside what is one value nothing is owned, but what it has must be the schema's all the same. */
static void check_inside(struct walk_room *r, const struct form *f, yyjson_mut_val *v,
                         const struct trail *at) {
    struct part_list p;
    struct form inside = *f;
    const char *why = form_mismatch(f, v);
    if (why != NULL) {
        refuse(r, at, str_of(why));
        return;
    }
    inside.atomic = false;
    if (f->how == FORM_LIST || f->how == FORM_MAP) {
        check_values(r, f, v, at);
        return;
    }
    if (f->how != FORM_OBJECT) {
        return;
    }
    parts_of(r, &inside, v, &p);
    for (size_t i = 0; i < p.n && r->code == 0; i++) {
        struct trail here = {at, &p.v[i].step};
        if (part_fits(r, f, &p.v[i], at)) {
            check_inside(r, &p.v[i].form, p.v[i].v, &here);
        }
    }
    parts_release(&p);
}

/* ---- fields ---- */

static bool is_empty_obj(yyjson_mut_val *v) {
    return yyjson_mut_is_obj(v) && yyjson_mut_obj_size(v) == 0;
}

static void gather(struct walk_room *r, const struct form *f, yyjson_mut_val *v, bool strict,
                   const struct trail *at, struct fields *node);

static void gather_part(struct walk_room *r, const struct form *f, const struct part *e,
                        bool strict, const struct trail *at, struct fields *node) {
    struct fields kid = {.step = e->step};
    struct trail here = {at, &e->step};
    if ((strict && !part_fits(r, f, e, at)) || e->again) {
        return;
    }
    if (!e->twice) {
        gather(r, &e->form, e->v, strict, &here, &kid);
    }
    kid.member = kid.member || e->key == NULL || !e->named || is_empty_obj(e->v);
    fields_add(r->arena, node, &kid);
}

/* Fills what is below the node of a value; a strict one looks for what does not fit. */
static void gather(struct walk_room *r, const struct form *f, yyjson_mut_val *v, bool strict,
                   const struct trail *at, struct fields *node) {
    struct part_list p;
    const char *why = strict ? form_mismatch(f, v) : NULL;
    if (why != NULL) {
        refuse(r, at, str_of(why));
        return;
    }
    if (form_rule(f, v) == RULE_LEAF) {
        node->member = true;
        if (strict && yyjson_mut_is_ctn(v)) {
            check_inside(r, f, v, at);
        }
        return;
    }
    parts_of(r, f, v, &p);
    if (strict && r->code == ERR_INVALID) {
        refuse(r, at, r->wrong);
    }
    fields_reserve(r->arena, node, p.n);
    for (size_t i = 0; i < p.n && r->code == 0; i++) {
        gather_part(r, f, &p.v[i], strict, at, node);
    }
    fields_order(r->arena, node);
    parts_release(&p);
}

static int fields_of(struct arena *a, const struct form *f, yyjson_mut_val *v, bool strict,
                     struct fields *ret, struct err *err) {
    struct walk_room r;
    struct fields root = {0};
    room_init(&r, a);
    gather(&r, f, v, strict, NULL, &root);
    root.member = false;
    int code = room_end(&r, err);
    if (code == 0) {
        *ret = root;
    }
    return code;
}

int typed_fields(struct arena *a, const struct form *f, yyjson_mut_val *v, struct fields *ret,
                 struct err *err) {
    return fields_of(a, f, v, false, ret, err);
}

int typed_config(struct arena *a, const struct form *f, yyjson_mut_val *v, struct fields *ret,
                 struct err *err) {
    return fields_of(a, f, v, true, ret, err);
}

/* ---- remove ---- */

static void take_out(struct walk_room *r, const struct form *f, yyjson_mut_val *v,
                     const struct fields *set, const struct fields *keep);

/* Whether the part stays, after what the set has below it was taken out. */
static bool stays(struct walk_room *r, const struct part *p, const struct fields *set,
                  const struct fields *keep) {
    const struct fields *node = fields_find(set, &p->step);
    keep = keep != NULL ? fields_find(keep, &p->step) : NULL;
    if (node == NULL) {
        return true;
    }
    if (node->member) {
        return false;
    }
    if (!yyjson_mut_is_ctn(p->v) || form_rule(&p->form, p->v) == RULE_LEAF) {
        return !yyjson_mut_is_ctn(p->v); /* a part of what is one value goes with the whole */
    }
    take_out(r, &p->form, p->v, node, keep);
    return p->key == NULL || yyjson_mut_get_len(p->v) > 0 || (keep != NULL && keep->member);
}

static void take_out(struct walk_room *r, const struct form *f, yyjson_mut_val *v,
                     const struct fields *set, const struct fields *keep) {
    struct part_list p;
    parts_of(r, f, v, &p);
    if (r->code != 0 || p.n == 0) {
        parts_release(&p);
        return;
    }
    bool obj = yyjson_mut_is_obj(v);
    (void)(obj ? yyjson_mut_obj_clear(v) : yyjson_mut_arr_clear(v));
    for (size_t i = 0; i < p.n && room_goes_on(r, 1); i++) {
        if (stays(r, &p.v[i], set, keep)) {
            (void)(obj ? yyjson_mut_obj_add(v, p.v[i].key, p.v[i].v)
                       : yyjson_mut_arr_append(v, p.v[i].v));
        }
    }
    parts_release(&p);
}

int typed_remove(struct arena *a, const struct form *f, yyjson_mut_val *v, const struct fields *set,
                 const struct fields *keep, struct err *err) {
    struct walk_room r;
    room_init(&r, a);
    if (set->n > 0) {
        take_out(&r, f, v, set, keep);
    }
    return room_end(&r, err);
}

/* ---- sets and schemas ---- */

static struct form form_at(const struct form *f, const struct field_step *step, size_t *hint,
                           bool *named) {
    *named = false;
    return step->type == STEP_FIELD ? form_member(f, step->text, hint, named) : form_element(f);
}

struct fields typed_named(struct arena *a, const struct form *f, const struct fields *set) {
    struct fields r = {.step = set->step, .member = set->member};
    size_t hint = 0;
    for (uint32_t i = 0; i < set->n && arena_charge(a, 1); i++) {
        bool named;
        struct form below = form_at(f, &set->v[i].step, &hint, &named);
        struct fields kid = set->v[i].n > 0 ? typed_named(a, &below, &set->v[i]) : set->v[i];
        kid.member = kid.member || (named && kid.n > 0);
        fields_add(a, &r, &kid);
    }
    return r;
}

/* Whether what is at this form, and has parts by the set, is one value by the schema. */
static bool became_whole(const struct form *f, const struct fields *set) {
    if (f->how == FORM_UNKNOWN || f->how == FORM_VALUE) {
        return false; /* nothing is said about it */
    }
    return set->v[0].step.type == STEP_FIELD ? f->atomic : form_list_rule(f) == RULE_LEAF;
}

static bool needs_reconciling(struct arena *a, const struct form *f, const struct fields *set) {
    size_t hint = 0;
    bool needs = set->n > 0 && became_whole(f, set);
    for (uint32_t i = 0; i < set->n && !needs && arena_charge(a, 1); i++) {
        bool named;
        if (set->v[i].n > 0) {
            struct form below = form_at(f, &set->v[i].step, &hint, &named);
            needs = needs_reconciling(a, &below, &set->v[i]);
        }
    }
    return needs;
}

static struct fields reconcile(struct arena *a, const struct form *f, const struct fields *set) {
    struct fields r = {.step = set->step, .member = set->member};
    size_t hint = 0;
    if (set->n > 0 && became_whole(f, set)) {
        r.member = true;
        return r;
    }
    for (uint32_t i = 0; i < set->n && arena_charge(a, 1); i++) {
        bool named;
        struct form below = form_at(f, &set->v[i].step, &hint, &named);
        struct fields kid = reconcile(a, &below, &set->v[i]);
        fields_add(a, &r, &kid);
    }
    return r;
}

struct fields typed_reconciled(struct arena *a, const struct form *f, const struct fields *set,
                               bool *ret_changed) {
    if (!needs_reconciling(a, f, set)) {
        return *set;
    }
    *ret_changed = true;
    return reconcile(a, f, set);
}
