/* fuzz/kubeconfig: any bytes as a kubeconfig. What is accepted sends nothing secret over plain http. */
#include "fuzz.h"
#include "kube/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct kube_config c;
    if (kube_config_read(&c, fuzz_text(data, size), STR("/nowhere"), NULL, NULL) != 0) {
        return 0;
    }
    bool tls = str_starts(c.server, STR("https://"));
    assert(tls || str_starts(c.server, STR("http://")));
    assert(tls || (c.token.n + c.token_file.n + c.username.n + c.password.n == 0));
    assert(tls || (c.cert_pem.n + c.cert_file.n + c.exec.command.n == 0));
    assert(c.ns.n > 0);
    for (size_t i = 0; i < c.exec.n_env; i++) {
        assert(str_find(c.exec.env[i], '=') > 0);
    }
    kube_config_release(&c);
    return 0;
}
