/* queue_notes: gates of admission by name, as the annotation kueue.x-k8s.io/admission-gated-by lists them. */
#ifndef BERTH_API_QUEUE_NOTES_H
#define BERTH_API_QUEUE_NOTES_H

#include <stdbool.h>

#include "base/str.h"

/* Is each gate of `now` one of `was`? Gates may be opened, never closed. */
bool queue_gates_within(struct str now, struct str was);

#endif
