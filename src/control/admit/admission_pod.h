/* admission_pod (header): what the rows of pods and of what serves share. */
#ifndef BERTH_CONTROL_ADMISSION_POD_H
#define BERTH_CONTROL_ADMISSION_POD_H

#include "control/admit/admission.h"

/* Is the object of this request queued itself: in a managed namespace, without a queued ancestor, and with a queue, its
 * namespace's default one, or where all are? It gets its default queue and class then. ERR_UNAVAILABLE: its owner is
 * not known here yet. */
int admission_queued(const struct admission_context *c, struct admission_ask *q, bool *ret,
                     struct err *err);

/* Each adds causes. `held`: nothing of it runs. */
void admission_check_queue(struct admission_ask *q, const struct admission_context *c, bool held);
void admission_check_class(struct admission_ask *q, bool held);
void admission_check_name(struct admission_ask *q, const char *map, const char *key);

/* admission_serving.c */
int admission_deployment_mutate(const struct admission_context *c, struct admission_ask *q,
                                struct err *err);
int admission_statefulset_mutate(const struct admission_context *c, struct admission_ask *q,
                                 struct err *err);
int admission_lws_mutate(const struct admission_context *c, struct admission_ask *q,
                         struct err *err);
int admission_deployment_validate(const struct admission_context *c, struct admission_ask *q,
                                  struct err *err);
int admission_statefulset_validate(const struct admission_context *c, struct admission_ask *q,
                                   struct err *err);
int admission_lws_validate(const struct admission_context *c, struct admission_ask *q,
                           struct err *err);

#endif
