/* token_page (server): the opaque `continue` of a list: which snapshot, and the last key that was
 * sent. */
#ifndef BERTH_SERVER_TOKEN_PAGE_H
#define BERTH_SERVER_TOKEN_PAGE_H

#include "base/arena.h"
#include "base/err.h"

struct page_token {
    uint64_t rv; /* 0: inconsistent continuation, from the newest state */
    struct str ns, name;
};

struct str page_token_write(struct arena *a, const struct page_token *t);
/* ERR_BAD_REQUEST "continue key is not valid: ...". */
int page_token_read(struct arena *a, struct str text, struct page_token *ret, struct err *err);

#endif
