/*
 * status_notes: annotations that come with a write of a status.
 *
 * Kubernetes lets whoever may write the status of most kinds write their annotations too. Those that steer something
 * here (of berth.dev, openshift.io and kueue.x-k8s.io) are judged when the whole object is written, and stay as they
 * were.
 */
#ifndef BERTH_SERVER_STATUS_NOTES_H
#define BERTH_SERVER_STATUS_NOTES_H

#include "wire/json/json.h"

/* Puts the annotations `now` (may be NULL: none) into `obj`, which has those of the stored object. 0 or ERR_NOMEM. */
int status_notes(yyjson_mut_doc *d, yyjson_mut_val *now, yyjson_mut_val *obj);

#endif
