/* review (server): the client's side of ConversionReview: builds the question and reads the answer. No I/O. */
#ifndef BERTH_SERVER_REVIEW_OF_CONVERSION_H
#define BERTH_SERVER_REVIEW_OF_CONVERSION_H

#include "net/http_client.h"
#include "wire/json/json.h"

/* The first supported entry of conversionReviewVersions, "v1" or "v1beta1"; NULL: none. */
const char *review_version(yyjson_val *webhook);
/* The whole body. `objects` is their JSON, joined with commas. */
void review_body(const char *version, struct str uid, struct str want, struct str objects,
                 struct buf *out);
/* The converted objects, in the arena. ERR_INTERNAL: why they are not there, without "conversion webhook for ...". */
int review_answer(struct arena *a, const char *version, struct str uid, struct str url,
                  const struct http_reply *r, yyjson_val **ret, struct err *err);
/* One of them, with the metadata of what was sent but for labels and annotations, as text. ERR_INTERNAL, ERR_NOMEM. */
int review_settle(struct arena *a, struct str sent, yyjson_val *got, struct str want,
                  struct buf *out, struct err *err);

#endif
