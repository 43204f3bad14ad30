/* fuzz/serverlog: any lines as a server's log. Numbers stay within what a machine can have. */
#include "core/model/serverlog.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct serverlog s = {0};
    struct str rest = fuzz_text(data, size), line;

    while (str_next(&rest, '\n', &line)) {
        serverlog_line(&s, line);
    }
    assert(s.weights < INT64_C(1) << 61 && s.cache < INT64_C(1) << 61 &&
           s.compute < INT64_C(1) << 61);
    assert(s.tokens >= 0 && s.blocks >= 0 && s.longest >= 0 && s.utilization <= 1000000);
    assert(serverlog_overhead(&s, INT64_C(1) << 40, 131072) >= -1);
    return 0;
}
