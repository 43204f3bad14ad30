/* refuse: an answer that says no, as a Status of Kubernetes, which its clients and our pages read alike. */
#ifndef BERTH_SITE_REFUSE_H
#define BERTH_SITE_REFUSE_H

#include "net/http_server.h"

/* A Status as JSON; code: of base/err.h, which gives the HTTP status and the reason. */
void refuse_status(int code, const char *text, struct buf *out);
/* The same as the answer. Headers that were added go out as well. */
void refuse(struct http_request *r, int code, const char *text);

#endif
