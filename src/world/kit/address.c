/* address: host and port of a listener. See address.h. */
#include "world/kit/address.h"

#include <arpa/inet.h>

#include "base/str.h"

static bool is_loopback(const char *host, bool *ret_valid) {
    struct in_addr v4;
    struct in6_addr v6;
    *ret_valid = true;
    if (inet_pton(AF_INET, host, &v4) == 1) {
        return (ntohl(v4.s_addr) >> 24) == 127;
    }
    *ret_valid = inet_pton(AF_INET6, host, &v6) == 1;
    return *ret_valid && IN6_IS_ADDR_LOOPBACK(&v6);
}

int address_parse(const char *option, const char *text, struct address *ret, struct err *err) {
    struct str s = str_of(text), host, port;
    ptrdiff_t at = str_find_last(s, ':');
    uint64_t number;
    struct address a = {0};
    bool valid = at > 0;
    if (valid) {
        host = str_head(s, (size_t)at);
        port = str_skip(s, (size_t)at + 1);
        if (host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']') {
            host = str_from(host.p + 1, host.n - 2);
        }
        valid =
            str_copy(host, a.host, sizeof(a.host)) && str_to_u64(port, &number) && number <= 65535;
    }
    if (valid) {
        a.loopback = is_loopback(a.host, &valid);
    }
    if (!valid) {
        return err_set(
            err, ERR_BAD_REQUEST,
            "%s: \"%s\" is not ADDRESS:PORT; expected for example 127.0.0.1:6443 or [::1]:6443",
            option, text);
    }
    a.port = (uint16_t)number;
    *ret = a;
    return 0;
}
