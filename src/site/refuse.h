/* refuse: an answer that says no, as a Status of Kubernetes, which its clients and our pages read alike. */
#ifndef BERTH_SITE_REFUSE_H
#define BERTH_SITE_REFUSE_H

#include "net/http_server.h"

/* code: of base/err.h, which gives the HTTP status and the reason. Headers that were added go out as well. */
/* That Status as JSON. */
void refuse_status(int code, const char *text, struct buf *out);
void refuse(struct http_request *r, int code, const char *text);

#endif
