/* subresource: see subresource.h. */
#include "api/openapi/subresource.h"

#include "api/tables/table.h"

static const struct subresource status = {
    "status", "", "", NULL, "[\"get\",\"patch\",\"update\"]",
};
/* Of one that nothing more is known of. */
static const struct subresource unknown = {
    "", "", "", NULL, "[\"get\",\"patch\",\"update\"]",
};
static const struct subresource known[] = {
    {"log", "", "v1", NULL, "[\"get\"]"},
    {"binding", "", "v1", "Binding", "[\"create\"]"},
    {"approval", "certificates.k8s.io", "v1", "CertificateSigningRequest",
     "[\"get\",\"patch\",\"update\"]"},
    {"ephemeralcontainers", "", "v1", NULL, "[\"get\",\"patch\",\"update\"]"},
    {"eviction", "policy", "v1", "Eviction", "[\"create\"]"},
    {"token", "authentication.k8s.io", "v1", "TokenRequest", "[\"create\"]"},
    {"finalize", "", "v1", NULL, "[\"update\"]"},
    {"pendingworkloads", "", "", "PendingWorkloadsSummary", "[\"get\"]"},
    {"scale", "autoscaling", "v1", "Scale", "[\"get\",\"patch\",\"update\"]"},
    {"exec", "", "v1", "PodExecOptions", "[\"create\",\"get\"]"},
    {"attach", "", "v1", "PodAttachOptions", "[\"create\",\"get\"]"},
    {"portforward", "", "v1", "PodPortForwardOptions", "[\"create\",\"get\"]"},
};

const struct subresource *subresource_at(const struct kind *k, size_t i) {
    if (k->flags & KIND_STATUS) {
        if (i == 0) {
            return &status;
        }
        i--;
    }
    for (size_t j = 0; k->subresources != NULL && k->subresources[j] != NULL; j++) {
        if (j != i) {
            continue;
        }
        for (size_t n = 0; n < COUNT(known); n++) {
            if (strcmp(known[n].name, k->subresources[j]) == 0) {
                return &known[n];
            }
        }
        return &unknown;
    }
    return NULL;
}
