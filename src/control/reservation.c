/* reservation: see reservation.h. */
#include "control/reservation.h"

#include "base/mem.h"
#include "control/controller.h"

struct reservation_controller {
    struct controller base;
};

static enum work work(void *ctx, struct str ns, struct str name) {
    (void)ctx;
    (void)ns;
    (void)name;
    return WORK_OK;
}

static void resync(void *ctx) {
    (void)ctx;
}

struct reservation_controller *reservation_controller_new(const struct control_env *env,
                                                          struct err *err) {
    struct reservation_controller *c = mem_zalloc(sizeof *c);
    if (!c) {
        err_set(err, ERR_NOMEM, "out of memory");
        return NULL;
    }
    if (controller_init(&c->base, env, "berth-reservation-controller", work, resync, c, err) != 0) {
        reservation_controller_free(c);
        return NULL;
    }
    return c;
}

void reservation_controller_free(struct reservation_controller *c) {
    if (c) {
        controller_release(&c->base);
        mem_free(c);
    }
}
