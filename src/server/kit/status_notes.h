/*
 * status_notes: annotations that are sent with a write of a status.
 *
 * In Kubernetes, whoever may write the status of most kinds may also write their annotations. Annotations that control
 * Berth (of berth.dev, openshift.io and kueue.x-k8s.io) are only judged in writes of the whole object, so a write of
 * the status leaves them unchanged.
 */
#ifndef BERTH_SERVER_STATUS_NOTES_H
#define BERTH_SERVER_STATUS_NOTES_H

#include "wire/json/json.h"

/* Puts the annotations `now` (may be NULL: none) into `obj`, which has those of the stored object. 0 or ERR_NOMEM. */
int status_notes(yyjson_mut_doc *d, yyjson_mut_val *now, yyjson_mut_val *obj);

#endif
