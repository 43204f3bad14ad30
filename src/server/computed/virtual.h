/* virtual (server): what virtual.c (an answer) and virtual_stream.c (a watch) share. */
#ifndef BERTH_SERVER_VIRTUAL_H
#define BERTH_SERVER_VIRTUAL_H

#include "server/kit/handlers.h"

/* may_ctx of a virtual_ask: who asks, and where it is thought about. */
struct virtual_asker {
    struct call *call;
    struct arena *arena;
};

/* virtual_ask.may, by the guard. */
bool virtual_may(const struct virtual_ask *q, const char *verb, const char *group,
                 const char *resource, struct str ns, struct str name);
/* The question that the request is, of this verb; views of the request. false: out of memory. */
bool virtual_question(struct call *c, const char *verb, const struct virtual_asker *who,
                      struct virtual_ask *ret);
/* Who answers it; NULL: c->failure says why nobody does. */
struct virtual_source *virtual_answerer(struct call *c);
bool virtual_is_table(const struct call *c);
/* An object, or a list of them, as a Table. */
int virtual_table(struct call *c, struct arena *a, struct str json, struct buf *out,
                  struct err *err);

/* virtual_stream.c */
void virtual_watch_request(struct call *c);

#endif
