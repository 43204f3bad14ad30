/* admission_pod: what Kueue's webhooks of pods and of what serves do. */
#include "control/admission.h"

const struct admission_row admission_pod_rows[] = {
    {0},
};
