/*
 * exec (kube): credentials from a program, as a kubeconfig's user.exec describes it (client.authentication.k8s.io, v1
 * and v1beta1).
 *
 * The program gets what it needs to know as JSON in KUBERNETES_EXEC_INFO and writes an ExecCredential to its standard
 * output, of which at most EXEC_OUTPUT_MAX bytes are taken. It has a minute; ten when a person may be typing at it. It
 * is executed directly, never through a shell.
 */
#ifndef BERTH_KUBE_EXEC_H
#define BERTH_KUBE_EXEC_H

#include "base/buf.h"
#include "kube/config.h"
#include "net/loop.h"

enum { EXEC_OUTPUT_MAX = 1 << 20 };

struct exec_credential {
    struct arena arena; /* everything below lives here */
    struct str token, cert_pem, key_pem;
    int64_t expires_ns; /* wall time; 0: never */
};
void exec_credential_release(struct exec_credential *c);

/* What a program wrote. ERR_SYNTAX, ERR_INVALID (what is missing), ERR_NOMEM. */
int exec_credential_read(struct str text, struct str api_version, struct exec_credential *ret,
                         struct err *err);
/* KUBERNETES_EXEC_INFO: the ExecCredential that the program is asked with. */
void exec_info(struct buf *out, const struct kube_exec_config *c, bool interactive);

struct exec_run;
/* done comes once, never inside this call; on success the credential is taken over by it. Errors name user.exec, end
 * with what the program said to its standard error, and carry the kubeconfig's installHint when there is no program. */
int exec_start(struct loop *l, const struct kube_exec_config *c,
               void (*done)(void *ctx, int code, struct exec_credential *cred,
                            const struct err *err),
               void *ctx, struct exec_run **ret, struct err *err);
void exec_cancel(struct exec_run *r); /* ends the program; done is not called. NULL is a no-op */

#endif
