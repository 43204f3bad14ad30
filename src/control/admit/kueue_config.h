/*
 * kueue_config: Kueue's Configuration file (config.kueue.x-k8s.io/v1beta2, v1beta1 too) as Berth's settings.
 *
 * The whole document is checked before anything of it counts: a member that Kueue does not know, a wrong type or a
 * broken rule is an error that names the field and what was expected. What Kueue would act on and Berth does not is
 * accepted, checked the same, and named in one warning each, for the caller to log; nothing is ignored in silence.
 *
 * One thing is ours: the annotation berth.dev/break-alternation: "true" in its metadata (queue_settings.h).
 *
 * Everything lives in the config's own arena; settings point into it.
 */
#ifndef BERTH_CONTROL_KUEUE_CONFIG_H
#define BERTH_CONTROL_KUEUE_CONFIG_H

#include "base/arena.h"
#include "base/err.h"
#include "control/load/queue_settings.h"

enum { KUEUE_CONFIG_BYTES = 1 << 20 }; /* of the file */

struct kueue_config {
    struct arena arena;
    struct queue_settings settings;
    struct str *warnings; /* "leaderElection: ..." */
    size_t n_warnings, cap_warnings;
};

/* YAML or JSON, one document. ERR_SYNTAX, ERR_INVALID, ERR_TOO_LARGE, ERR_NOMEM; then *ret need not be released. */
int kueue_config_read(struct str text, struct kueue_config *ret, struct err *err);
void kueue_config_release(struct kueue_config *c);

#endif
