/*
 * nvml_client: asks the helper process (nvml_helper.c), never waits for it.
 *
 * Requests are sent one at a time, in order; each is answered exactly once, on the loop thread,
 * never inside nvml_ask. A request that takes longer than its time limit has its helper killed and
 * fails with ERR_TIMEOUT, as do those a dying helper leaves behind (ERR_GONE): what the driver did, or will still
 * do, is not known then, and there is no answer. A request that never reached a helper fails with
 * ERR_UNAVAILABLE, or with why the library could not be opened. The next request
 * starts a new helper, after a pause that doubles. A helper that does not even die (stuck in the
 * kernel) is counted and left; after NVML_STUCK_MAX of them no more are started and every request
 * fails with ERR_UNAVAILABLE: a broken driver must not fill the machine with processes.
 */
#ifndef BERTH_NODE_NVML_CLIENT_H
#define BERTH_NODE_NVML_CLIENT_H

#include "net/loop.h"
#include "wire/json/json.h"

enum { NVML_STUCK_MAX = 3, NVML_REQUEST_MS = 30000, NVML_DIE_MS = 5000, NVML_QUEUE_MAX = 4096 };

struct nvml_client;

struct nvml_client_options {
    struct loop *loop;
    const char *program;     /* has the verb nvml-helper */
    const char *library;     /* or NULL */
    const char *const *envp; /* of the helper; NULL: ours */
    int64_t request_ms;      /* 0: NVML_REQUEST_MS */
};

/* code 0 and the answer; or the driver refused (ERR_UNSUPPORTED, ERR_CONFLICT: insufficient
 * resources, ERR_TOO_MANY: in use, ERR_GONE: GPU lost or no helper, ERR_NOT_FOUND, ERR_IO ...) with
 * what it said, and the answer. Without an answer (NULL): as above. answer lives during the call. */
typedef void nvml_answer(void *ctx, int code, yyjson_val *answer, const struct err *err);

struct nvml_client *nvml_client_new(const struct nvml_client_options *o, struct err *err);
void nvml_client_free(struct nvml_client *c); /* pending requests are forgotten, the helper ended */
int nvml_ask(struct nvml_client *c, nvml_answer *done, void *ctx, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* The next request begins with a new helper, and so with a library that looks at the hardware anew; without the pause
 * after failures. The request that is with the helper is answered before. */
void nvml_client_renew(struct nvml_client *c);
bool nvml_client_opened(const struct nvml_client *c); /* the last helper could open the library */
bool nvml_client_simulated(const struct nvml_client *c); /* known after the first answer */
int nvml_client_stuck(const struct nvml_client *c);      /* helpers that did not die */

#endif
