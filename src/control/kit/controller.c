/* controller: see controller.h. */
#include "control/kit/controller.h"

enum { WORK_ARENA = 64 << 20 };

int controller_init(struct controller *c, const struct control_env *env, const char *who,
                    enum work (*work)(void *ctx, struct str ns, struct str name),
                    void (*resync)(void *ctx), void *ctx, struct err *err) {
    *c = (struct controller){.env = *env, .who = who};
    arena_init(&c->arena, WORK_ARENA);
    c->queue = workqueue_new(&(struct workqueue_options){
        .clock = env->clock, .work = work, .resync = resync, .ctx = ctx});
    c->recorder = recorder_new(env, who);
    if (!c->queue || !c->recorder) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    return 0;
}

int controller_feed(struct controller *c, const struct kind *k,
                    void (*each)(void *ctx, const struct change *ch), void *ctx, struct err *err) {
    struct feed *f = mirror_feed(c->env.mirror, k, each, ctx);
    if (!f) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    c->feeds[c->n_feeds++] = f;
    return 0;
}

void controller_release(struct controller *c) {
    for (size_t i = 0; i < c->n_feeds; i++) {
        feed_free(c->feeds[i]);
    }
    workqueue_free(c->queue);
    recorder_free(c->recorder);
    arena_release(&c->arena);
}

static int answered(void *ctx, struct round *r, uint64_t tag, const struct write_result *res) {
    return res->code == ERR_NOT_FOUND ? 0 : res->code;
}

struct round *controller_round(struct controller *c, struct str ns, struct str name) {
    struct round *r = round_new(c->queue, c->env.writer, c->who, ns, name);
    if (r) {
        round_on_done(r, answered, c);
    }
    return r;
}

enum work controller_done(struct controller *c, enum work w) {
    arena_reset(&c->arena);
    return w;
}
