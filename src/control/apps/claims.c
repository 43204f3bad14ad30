/* claims: adoption and release. See claims.h. */
#include "control/apps/claims.h"

#include "api/selector.h"
#include "base/map.h"
#include "base/mem.h"
#include "control/kit/edit.h"

enum {
    PATCHES_MAX = 500,    /* of one look */
    MANY = 64,            /* from here on changes of what is owned are gathered for a while ... */
    GATHER_MS = 200,      /* ... of at least this, and ... */
    GATHER_US_EACH = 200, /* ... this for each */
};

/* ---- books ---- */

int claims_init(struct claim_book *c, struct controller *of, const struct kind *owners,
                const struct kind *owned) {
    *c = (struct claim_book){.mirror = of->env.mirror,
                             .queue = of->queue,
                             .owners = owners,
                             .owned = owned,
                             .by_uid = mem_zalloc(sizeof(struct map))};
    return c->by_uid ? 0 : ERR_NOMEM;
}

static void owner_free(struct claim_owner *o) {
    if (o) {
        mem_free((char *)(uintptr_t)o->selector.p);
        mem_free((char *)(uintptr_t)o->uid.p);
        mem_free(o->fault);
        mem_free(o);
    }
}

void claims_release(struct claim_book *c) {
    const struct map_entry *e;
    for (size_t i = 0; c->by_uid && (e = map_next(c->by_uid, &i)) != NULL;) {
        owner_free(e->value);
    }
    if (c->by_uid) {
        map_release(c->by_uid);
    }
    mem_free(c->by_uid);
    c->by_uid = NULL;
}

struct claim_owner *claims_of(const struct claim_book *c, struct str uid) {
    return map_get(c->by_uid, uid);
}

void claims_fail(struct claim_book *c, struct str uid, const char *text) {
    struct claim_owner *o = claims_of(c, uid);
    if (o) {
        mem_free(o->fault);
        o->fault = text ? mem_cstr(str_of(text)) : NULL;
    }
}

/* The selector's JSON, as the object has it. */
static struct str read_selector(const struct object *o, struct arena *a) {
    yyjson_doc *d;
    struct buf b;
    struct str r = {0};
    buf_init(&b, 0);
    if (object_tree(o, a, &d, NULL) == 0) {
        json_write(&b, json_path(yyjson_doc_get_root(d), "spec.selector"));
        r = buf_ok(&b) == 0 ? buf_view(&b) : r;
    }
    r = r.n ? str_from(mem_cstr(r), r.n) : (struct str){0};
    buf_release(&b);
    return r.p ? r : (struct str){0};
}

static void remember(struct claim_book *c, const struct object *o) {
    struct arena a;
    struct claim_owner *x = claims_of(c, o->uid) ? NULL : mem_zalloc(sizeof *x);
    if (x == NULL) {
        return; /* it is there, or it is only slower without */
    }
    arena_init(&a, 64 << 20);
    x->uid = str_from(mem_cstr(o->uid), o->uid.n);
    x->selector = read_selector(o, &a);
    arena_release(&a);
    if (x->uid.p == NULL || x->selector.p == NULL || map_put(c->by_uid, x->uid, x, NULL) != 0) {
        owner_free(x);
    }
}

/* A plain selector may have changed: then orphans are looked for anew. */
static void remember_again(struct claim_book *c, const struct object *o) {
    struct claim_owner *x = claims_of(c, o->uid);
    struct arena a;
    arena_init(&a, 64 << 20);
    struct str now = x ? read_selector(o, &a) : (struct str){0};
    arena_release(&a);
    if (x && now.p && !str_eq(now, x->selector)) {
        mem_free((char *)(uintptr_t)x->selector.p);
        x->selector = now;
        x->searched = false;
    } else {
        mem_free((char *)(uintptr_t)now.p);
    }
}

/* ---- what to look at ---- */

static void look(struct claim_book *c, struct str ns, struct str name, int64_t after) {
    workqueue_look(c->queue, (struct work_key){CLAIM_OWNER, ns, name}, after);
}

void claims_owner_changed(struct claim_book *c, const struct change *ch) {
    if (ch->type == CHANGE_DELETED) {
        owner_free(map_del(c->by_uid, ch->obj->uid));
    } else {
        remember(c, ch->obj);
        if (c->plain && ch->old && ch->old->generation != ch->obj->generation) {
            remember_again(c, ch->obj);
        }
        look(c, ch->obj->ns, ch->obj->name, 0);
    }
}

static bool is_ours(const struct claim_book *c, const struct owner_ref *o) {
    size_t n = strlen(c->owners->group);
    if (o == NULL || !str_is(o->kind, c->owners->kind)) {
        return false;
    }
    return n == 0 ? str_find(o->api_version, '/') < 0
                  : o->api_version.n > n && o->api_version.p[n] == '/' &&
                        str_is(str_head(o->api_version, n), c->owners->group);
}

/* One with many is looked at for several changes together, since each look reads them all. */
static void look_at_owner(struct claim_book *c, const struct object *o) {
    const struct owner_ref *owner = object_controller(o);
    if (is_ours(c, owner)) {
        const struct claim_owner *x = claims_of(c, owner->uid);
        int64_t wait = GATHER_MS * NS_PER_MS + (x ? (int64_t)x->n : 0) * GATHER_US_EACH * 1000;
        look(c, o->ns, owner->name, x && x->n > MANY ? wait : 0);
    }
}

static bool same_labels(const struct object *x, const struct object *y) {
    bool same = x->labels.n == y->labels.n;
    for (size_t i = 0; same && i < x->labels.n; i++) {
        same = str_eq(x->labels.v[i].key, y->labels.v[i].key) &&
               str_eq(x->labels.v[i].value, y->labels.v[i].value);
    }
    return same;
}

static bool is_orphan(const struct object *o) {
    return object_controller(o) == NULL && !o->deleting_ns && o->labels.n > 0;
}

void claims_owned_changed(struct claim_book *c, const struct change *ch) {
    bool left = object_left(ch->old, ch->obj);
    if (left) { /* its owner misses it */
        look_at_owner(c, ch->old);
    }
    look_at_owner(c, ch->obj);
    if (ch->type != CHANGE_DELETED && is_orphan(ch->obj) &&
        (ch->old == NULL || left || !same_labels(ch->old, ch->obj))) {
        workqueue_look(c->queue, (struct work_key){CLAIM_ORPHAN, ch->obj->ns, ch->obj->name}, 0);
    }
}

struct claim_search {
    struct claim_book *c;
    const struct object *about; /* an orphan, or an owner */
    struct selector selector;   /* of the owner */
    struct arena *a;
    struct claimed *found;
    size_t cap;
    int code;
};

/* A plain map: each label of it has to be there. */
static int parse_plain(yyjson_val *map, struct arena *a, struct selector *ret) {
    size_t i, n;
    yyjson_val *key, *v;
    struct str_map m = {.v = ARENA_ARRAY(a, struct str_pair, yyjson_obj_size(map) + 1)};
    if (m.v == NULL) {
        return ERR_NOMEM;
    }
    yyjson_obj_foreach(map, i, n, key, v) {
        m.v[m.n++] = (struct str_pair){json_str(key), json_str(v)};
    }
    return selector_from_map(a, &m, ret, NULL);
}

static int parse_selector(const struct claim_book *c, struct str json, struct arena *a,
                          struct selector *ret) {
    yyjson_doc *d;
    int r = json_parse(a, json, &d, NULL);
    return r ? r
             : (c->plain ? parse_plain(yyjson_doc_get_root(d), a, ret)
                         : selector_from_json(a, yyjson_doc_get_root(d), ret, NULL));
}

static bool wake(void *ctx, const struct object *owner) {
    struct claim_search *s = ctx;
    struct claim_owner *x = owner->deleting_ns ? NULL : claims_of(s->c, owner->uid);
    struct selector sel;
    if (x && parse_selector(s->c, x->selector, s->a, &sel) == 0 && !sel.nothing && sel.n > 0 &&
        selector_matches(&sel, &s->about->labels)) {
        x->searched = false;
        look(s->c, owner->ns, owner->name, 0);
    }
    return true;
}

enum work claims_orphan(struct claim_book *c, const struct object *o, struct arena *a) {
    if (o && is_orphan(o)) {
        struct claim_search s = {.c = c, .about = o, .a = a};
        mirror_scan(c->mirror, c->owners, o->ns, wake, &s);
    }
    return WORK_OK;
}

/* ---- one look of an owner ---- */

static void note(struct claim_search *s, const struct object *o) {
    if (s->found->n == s->cap && ARENA_GROW(s->a, s->found->v, s->cap) != 0) {
        s->code = ERR_NOMEM;
        return;
    }
    s->found->v[s->found->n++] = o;
}

static bool find_owned(void *ctx, const struct object *o) {
    struct claim_search *s = ctx;
    const struct owner_ref *ref = object_controller(o);
    if (o->kind == s->c->owned && ref && object_named_by(s->about, o->ns, ref)) {
        note(s, o);
    }
    return s->code == 0;
}

static bool find_orphan(void *ctx, const struct object *o) {
    struct claim_search *s = ctx;
    if (is_orphan(o) && selector_matches(&s->selector, &o->labels) &&
        (s->c->fits == NULL || s->c->fits(s->about, o))) {
        note(s, o);
    }
    return s->code == 0 && s->found->n < PATCHES_MAX;
}

/* Writes the references of o with the owner in them, or without. */
static void rewrite(struct round *r, const struct object *o, const struct object *owner, bool with,
                    struct arena *a) {
    struct meta *was, want;
    if (edit_read_meta(o, a, &was) != 0) {
        round_fail(r, ERR_NOMEM);
        return;
    }
    want = *was;
    want.owner_references.v = ARENA_ARRAY(a, struct owner_reference, was->owner_references.n + 1);
    want.owner_references.n = 0;
    if (want.owner_references.v == NULL) {
        round_fail(r, ERR_NOMEM);
        return;
    }
    for (size_t i = 0; i < was->owner_references.n; i++) {
        if (with || !str_eq(was->owner_references.v[i].uid, owner->uid)) {
            want.owner_references.v[want.owner_references.n++] = was->owner_references.v[i];
        }
    }
    if (with) {
        want.owner_references.v[want.owner_references.n++] =
            (struct owner_reference){.api_version = str_of(kind_api_version(owner->kind)),
                                     .kind = str_of(owner->kind->kind),
                                     .name = owner->name,
                                     .uid = owner->uid,
                                     .controller = {true, true},
                                     .block_owner_deletion = {true, true}};
    }
    (void)edit_send_meta(r, o, EDIT_VERSION | EDIT_UID, was, &want);
}

/* Takes those that the selector matches no more out of the list, into `gone`. */
static void part(const struct selector *s, struct claimed *list, struct claimed *gone) {
    size_t kept = 0;
    for (size_t i = 0; i < list->n; i++) {
        const struct object *o = list->v[i];
        if (selector_matches(s, &o->labels)) {
            list->v[kept++] = o;
        } else {
            gone->v[gone->n++] = o;
        }
    }
    list->n = kept;
}

int claims_collect(struct claim_book *c, struct controller *of, const struct object *owner,
                   struct arena *a, struct claimed *ret, enum work *w) {
    struct claim_owner *x = claims_of(c, owner->uid);
    struct claim_search owned = {.c = c, .about = owner, .a = a, .found = ret}, lost = owned;
    struct claimed orphans = {0}, gone = {0};
    *ret = gone;
    lost.found = &orphans;
    struct str selector = x ? x->selector : read_selector(owner, a);
    int r = selector.p ? parse_selector(c, arena_str(a, selector), a, &lost.selector) : ERR_NOMEM;
    if (x == NULL) {
        mem_free((char *)(uintptr_t)selector.p);
    }
    mirror_owned(c->mirror, owner, find_owned, &owned);
    gone.v = ARENA_ARRAY(a, const struct object *, ret->n + 1);
    if (r != 0 || owned.code != 0 || gone.v == NULL) {
        return r == ERR_INVALID ? r : ERR_NOMEM;
    }
    part(&lost.selector, ret, &gone);
    if (x) {
        x->n = ret->n;
    }
    if (owner->deleting_ns) {
        return 0;
    }
    if (x == NULL || !x->searched) {
        mirror_scan(c->mirror, c->owned, owner->ns, find_orphan, &lost);
    }
    if (x && lost.code == 0 && orphans.n == 0) {
        x->searched = true;
    }
    if (lost.code != 0 || orphans.n + gone.n == 0) {
        return lost.code;
    }
    struct round *round = controller_begin(of);
    for (size_t i = 0; i < orphans.n; i++) {
        rewrite(round, orphans.v[i], owner, true, a);
    }
    for (size_t i = 0; i < gone.n && i < PATCHES_MAX; i++) {
        rewrite(round, gone.v[i], owner, false, a);
    }
    *w = round ? round_end(round) : WORK_RETRY;
    return 1;
}
