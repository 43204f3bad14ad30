/* status (kube): answers of an API server to codes of base/err.h. */
#ifndef BERTH_KUBE_STATUS_H
#define BERTH_KUBE_STATUS_H

#include "base/err.h"
#include "wire/json/json.h"

/* 0 for 2xx; else the code and, in err, the Status' message (or the body's start when it is no Status). */
int kube_status(int http_status, struct str body, struct err *err);
/* Of a parsed Status object, as in the ERROR event of a watch. */
int kube_status_value(yyjson_val *status, struct err *err);
bool kube_status_too_new(struct str body); /* the resourceVersion asked for is in the future */

#endif
