/* await: writes that wait for a conversion. See server/kit/convert.h. */
#include "base/mem.h"
#include "server/kit/convert.h"
#include "server/write/pipeline.h"

struct write_wait {
    struct convert_wait wait;
    struct write *w;
};

static void ready(struct convert_wait *c) {
    write_again(((struct write_wait *)(void *)c)->w);
}

static void drop(struct convert_wait *c) {
    write_free(((struct write_wait *)(void *)c)->w);
}

bool convert_await_write(struct write *w) {
    if (w->converting == NULL && (w->converting = mem_zalloc(sizeof(*w->converting))) != NULL) {
        w->converting->w = w;
        w->converting->wait.ready = ready;
        w->converting->wait.drop = drop;
    }
    if (w->converting != NULL && convert_await(w->s, &w->converting->wait)) {
        return true;
    }
    (void)failure_set(&w->failure, w->arena, ERR_UNAVAILABLE,
                      "the object cannot be converted: too much is asked of its webhook");
    return false;
}

bool convert_forget_write(struct write *w) {
    bool waited = w->converting != NULL && w->converting->wait.at != NULL;
    if (w->converting != NULL) {
        convert_forget(&w->converting->wait);
        mem_free(w->converting);
        w->converting = NULL;
    }
    return waited;
}
