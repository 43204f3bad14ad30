/* asker (server): the other rights of a request's user, for expressions that check them (`authorizer`). */
#ifndef BERTH_SERVER_ASKER_H
#define BERTH_SERVER_ASKER_H

#include "api/cel/cel.h"
#include "server/kit/context.h"

struct rights_asker {
    struct server *s;
    const struct user *user;
};

/* struct cel_input's access; ctx is the struct rights_asker. */
void asker_may(void *ctx, const struct cel_access_ask *ask, struct arena *a,
               struct cel_access_answer *ret);

#endif
