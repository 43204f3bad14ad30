/* controller: see controller.h. */
#include "control/kit/controller.h"

#include <assert.h>

#include "base/mem.h"

enum { STEP_ARENA = 64 << 20 };

/* The key of what is looked at by time alone. */
static void look_by_time(struct controller *c) {
    if (c->row->every_ns != 0) {
        workqueue_look(c->queue, (struct work_key){0}, c->row->every_ns);
    }
}

static enum work step(void *ctx, struct work_key key) {
    const struct controller_lane *l = ctx;
    struct controller *c = l->c;
    c->key = key;
    c->turn = l->queue;
    if (key.what == 0 && str_empty(key.name) && str_empty(key.ns)) {
        look_by_time(c);
    }
    enum work w = c->row->step(c, key);
    c->key = (struct work_key){0};
    c->turn = NULL;
    arena_reset(&c->arena);
    return w;
}

/* ---- the first look ---- */

struct first_look {
    struct controller *c;
    const struct controller_kind *row;
};

static bool found(void *ctx, const struct object *o) {
    const struct first_look *f = ctx;
    f->row->changed(f->c, &(struct change){.type = CHANGE_ADDED, .obj = o});
    return true;
}

void controller_first_look(struct controller *c, size_t i) {
    struct first_look f = {c, &c->row->kinds[i]};
    size_t n = 1;
    const struct kind *const *v = f.row->kind ? &c->kinds[i] : kinds_all(&n);
    for (size_t k = 0; k < n; k++) {
        if (!(v[k]->flags & KIND_VIRTUAL)) {
            mirror_scan(c->env.mirror, v[k], STR(""), found, &f);
        }
    }
}

static void look_at_all(void *ctx) {
    struct controller *c = ((const struct controller_lane *)ctx)->c;
    for (size_t i = 0; i < c->row->n_kinds; i++) {
        if (c->row->kinds[i].first) {
            controller_first_look(c, i);
        }
    }
    look_by_time(c);
    if (c->row->start) {
        c->row->start(c);
    }
}

/* ---- life ---- */

static int subscribe(struct controller *c) {
    for (size_t i = 0; i < c->row->n_kinds; i++) {
        const struct controller_kind *k = &c->row->kinds[i];
        assert(!k->first || k->changed);
        if (k->changed == NULL || (k->kind != NULL && c->kinds[i] == NULL)) {
            continue;
        }
        struct feed *f = mirror_feed(c->env.mirror, c->kinds[i], k->changed, c);
        if (f == NULL) {
            return ERR_NOMEM;
        }
        c->feeds[c->n_feeds++] = f;
    }
    return 0;
}

struct workqueue *controller_lane_new(struct controller *c) {
    assert(c->n_lanes < CONTROLLER_LANES);
    struct controller_lane *l = &c->lanes[c->n_lanes];
    l->c = c;
    l->queue = workqueue_new(&(struct workqueue_options){
        .clock = c->env.clock,
        .step = step,
        .resync = look_at_all,
        .ctx = l,
        .budget = c->row->budget == CONTROLLER_TURN ? c->env.turn : c->row->budget});
    c->n_lanes += l->queue != NULL;
    return l->queue;
}

static int fill(struct controller *c) {
    const struct controller_row *row = c->row;
    size_t n = row->n_kinds + 1;
    arena_init(&c->arena, row->arena ? row->arena : STEP_ARENA);
    c->kinds = mem_zalloc(n * sizeof *c->kinds);
    c->feeds = mem_zalloc(n * sizeof *c->feeds);
    if (c->kinds == NULL || c->feeds == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < row->n_kinds; i++) {
        const struct controller_kind *k = &row->kinds[i];
        c->kinds[i] = k->kind ? kind_by_name(str_of(k->group), str_of(k->kind)) : NULL;
        assert(!k->kind || k->optional || c->kinds[i]); /* declared kinds are built in */
    }
    c->queue = controller_lane_new(c);
    c->recorder = recorder_new(&c->env, row->tells ? row->tells : row->who);
    return c->queue && c->recorder ? 0 : ERR_NOMEM;
}

void *controller_new(const struct controller_row *row, const struct control_env *env,
                     struct err *err) {
    return controller_new_with(row, env, NULL, err);
}

void *controller_new_with(const struct controller_row *row, const struct control_env *env,
                          const void *args, struct err *err) {
    assert(!row->size || row->size >= sizeof(struct controller));
    struct controller *c = mem_zalloc(row->size ? row->size : sizeof *c);
    struct err why = {0};
    if (c == NULL) {
        err_set(err, ERR_NOMEM, "out of memory");
        return NULL;
    }
    c->env = *env;
    c->row = row;
    c->who = row->who;
    c->args = args;
    int r = fill(c);
    r = r == 0 && row->init ? row->init(c, &why) : r;
    c->args = NULL;
    if (r == 0) {
        r = subscribe(c);
    }
    if (r != 0) {
        controller_free(c);
        err_set(err, r, "%s", why.code != 0 ? why.text : "out of memory");
        return NULL;
    }
    look_at_all(&c->lanes[0]);
    return c;
}

void controller_free(void *self) {
    struct controller *c = self;
    if (c == NULL) {
        return;
    }
    for (size_t i = 0; i < c->n_feeds; i++) {
        feed_free(c->feeds[i]);
    }
    if (c->row->release) {
        c->row->release(c);
    }
    for (size_t i = 0; i < c->n_lanes; i++) {
        workqueue_free(c->lanes[i].queue);
    }
    recorder_free(c->recorder);
    arena_release(&c->arena);
    mem_free(c->feeds);
    mem_free(c->kinds);
    mem_free(c);
}

/* ---- what steps and feeds call ---- */

static bool may(const void *ctx, const struct kind *k, enum may verb) {
    const struct controller_row *row = ctx;
    for (size_t i = 0; i < row->n_kinds; i++) {
        const struct controller_kind *own = &row->kinds[i];
        bool same = own->kind == NULL ||
                    (strcmp(own->kind, k->kind) == 0 && strcmp(own->group, k->group) == 0);
        if (same && (own->may & verb)) {
            return true;
        }
    }
    return false;
}

static int answered(void *ctx, struct round *r, uint64_t tag, const struct write_result *res) {
    return res->code == ERR_NOT_FOUND ? 0 : res->code;
}

struct round *controller_begin(struct controller *c) {
    struct round *r = round_begin(c->turn, c->env.writer, c->who, c->key);
    if (r) {
        round_bind(r, c->env.mirror, c->env.log, may, c->row);
        round_on_done(r, answered, c);
    }
    return r;
}

enum work controller_patch(struct controller *c, const struct object *o, const char *subresource,
                           int code, struct buf *body) {
    struct round *r = code == 0 ? controller_begin(c) : NULL;
    if (r != NULL) {
        round_patch(r, o->kind, o->ns, o->name, subresource, PATCH_MERGE, buf_view(body));
    }
    buf_release(body);
    return r != NULL ? round_end(r) : code == ERR_NOT_FOUND ? WORK_OK : WORK_RETRY;
}

enum work controller_remove(struct controller *c, const struct object *o) {
    struct round *r = controller_begin(c);
    struct delete_options how = {
        .uid = o->uid, .grace_seconds = -1, .propagation = STR("Background")};
    if (r == NULL) {
        return WORK_RETRY;
    }
    round_remove(r, o->kind, o->ns, o->name, &how);
    return round_end(r);
}

void controller_changed(void *self, const struct change *ch) {
    struct controller *c = self;
    if (ch->type != CHANGE_DELETED) {
        workqueue_add(c->queue, ch->obj->ns, ch->obj->name);
    }
}
