/*
 * webhook_review: AdmissionReview and ConversionReview, bytes to bytes, without I/O.
 *
 * A review that can be answered gives the whole answer, also when the answer is no. What is no review, or of another
 * resource than the webhook is for, is ERR_SYNTAX or ERR_BAD_REQUEST; ERR_UNAVAILABLE, ERR_NOMEM: not now.
 */
#ifndef BERTH_SITE_WEBHOOK_REVIEW_H
#define BERTH_SITE_WEBHOOK_REVIEW_H

#include "api/webhooks.h"
#include "port/admission.h"

/* What came of it, for counting. */
enum webhook_verdict { WEBHOOK_ALLOWED, WEBHOOK_PATCHED, WEBHOOK_DENIED, WEBHOOK_CONVERTED };

/* admission may be NULL: the tables of Kueue's kinds alone. `body` may hold anything; a is for one review. */
int webhook_review(const struct webhook *w, struct admission *admission, struct str body,
                   struct arena *a, struct buf *out, enum webhook_verdict *ret, struct err *err);
int webhook_convert(struct str body, struct arena *a, struct buf *out, enum webhook_verdict *ret,
                    struct err *err);

#endif
