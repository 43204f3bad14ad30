/* fuzz/dns: any bytes as a question. What is read is a name in lower case within its limits, and its answer fits the
 * room that the asker has, with counts that are so. */
#include "wire/text/dns.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct dns_question q;
    struct dns_answer a;
    struct buf out;
    int code = dns_read(fuzz_text(data, size), &q);
    uint32_t ips[4];

    assert(dns_read_addresses(fuzz_text(data, size), ips, 4) <= 4);

    if (code == ERR_SYNTAX) {
        return 0;
    }
    assert(code == 0 || (q.name_n == 0 && (code == ERR_INVALID || code == ERR_UNSUPPORTED)));
    assert(q.name_n <= DNS_NAME_MAX && strlen(q.name) == q.name_n && q.room >= DNS_UDP_PLAIN);
    for (size_t i = 0; i < q.name_n; i++) {
        assert(q.name[i] > ' ' && !(q.name[i] >= 'A' && q.name[i] <= 'Z'));
    }
    buf_init(&out, 0);
    dns_begin(&a, &out, &q, code ? DNS_FORMERR : DNS_OK, true, q.room);
    for (uint32_t i = 0; code == 0 && i < size; i++) {
        dns_a(&a, str_from(q.name, q.name_n), 5, i);
        dns_srv(&a, str_from(q.name, q.name_n), 5, 80, STR("a.b"));
    }
    dns_soa(&a, STR("cluster.local"), 5);
    assert(dns_end(&a, &q) == 0);
    assert(out.n <= q.room && out.n >= 12);
    assert((unsigned char)out.p[0] == q.id >> 8 && (unsigned char)out.p[1] == (q.id & 255));
    assert((((unsigned char)out.p[6] << 8) | (unsigned char)out.p[7]) == (int)a.answers);
    buf_release(&out);
    return 0;
}
