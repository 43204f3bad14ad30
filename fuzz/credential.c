/* fuzz/credential: any bytes as what an exec plugin answers. What is accepted has a token or a whole certificate. */
#include "fuzz.h"
#include "kube/exec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct exec_credential c;
    if (exec_credential_read(fuzz_text(data, size), STR("client.authentication.k8s.io/v1"), &c,
                             NULL) != 0) {
        return 0;
    }
    assert(c.token.n > 0 || c.cert_pem.n > 0);
    assert((c.cert_pem.n > 0) == (c.key_pem.n > 0));
    exec_credential_release(&c);
    return 0;
}
