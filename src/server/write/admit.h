/*
 * admit (server): admission, in order: namespace, ServiceAccount, Priority, LimitRanger, StorageClass, then what the
 * world's own admission does (what Kueue's webhooks do); once it is valid, ResourceQuota.
 *
 * Each step may change w->doc (storage version, defaulted) and may refuse by filling w->failure. It reads the newest
 * state (mirror_pending) so that a manifest's objects see each other. Runs on create and update of main resources.
 */
#ifndef BERTH_SERVER_ADMIT_H
#define BERTH_SERVER_ADMIT_H

#include "server/write/pipeline.h"

/* The namespace must exist, and be Active for creates. Before defaulting, so that a 404 comes
 * first. */
int admit_namespace(struct write *w);
/* All the rest. */
int admit_object(struct write *w);

/* admit_pod.c: default ServiceAccount, priority. */
int admit_pod(struct write *w);
/* admit_service.c: addresses and node ports; what it remembers of them. */
int admit_service(struct write *w);
void admit_service_release(struct server *s);
/* certs/admit_certificate.c: who asks for a certificate, who may approve and sign; of any subresource. */
int admit_certificate(struct write *w);
/* admit_limits.c: defaults and bounds of the LimitRanges of the pod's namespace. */
int admit_limits(struct write *w);
/* admit_quota.c: the ResourceQuotas of its namespace, which are charged with the object; last of all. */
int admit_quota(struct write *w);
/* admit_ask.c: what admission policies say of it; of a deletion, too. */
int admit_policies(struct write *w, bool removes);
/* Mutating policies, before webhooks that change objects; `again`: one did, so those that want it come again. */
int admit_mutating(struct write *w, bool again);
/* The types of a policy's expressions, in its status. */
int admit_note_types(struct write *w);
/* admit_ask.c: what the world's admission (port/admission.h) makes of it, and what it says against it. The causes of
 * the second are added to `causes`; a denial fills the failure. */
int admit_mutate(struct write *w);
int admit_validate(struct write *w, struct causes *causes);
int admit_remove(struct write *w); /* the same for a deletion; causes fill the failure */

#endif
