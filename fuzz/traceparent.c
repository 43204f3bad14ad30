/* Fuzz target: traceparent headers: what is read is written again as it came, but for its version and flags. */
#include "fuzz.h"

#include <string.h>

#include "gateway/see/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    struct trace_context t, again;
    char text[TRACE_TEXT + 1];
    if (!trace_parse((struct str){(const char *)data, n}, &t)) {
        return 0;
    }
    trace_text(&t, t.parent, text);
    assert(strlen(text) == TRACE_TEXT && t.parent != 0);
    assert(memcmp(text + 2, data + 2, TRACE_TEXT - 4) == 0);
    assert(trace_parse((struct str){text, TRACE_TEXT}, &again));
    assert(memcmp(again.id, t.id, sizeof t.id) == 0 && again.sampled == t.sampled);
    return 0;
}
