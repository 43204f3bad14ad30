/* fuzz/cookie: any bytes as the headers and addresses that the dashboard reads of a browser that may be anybody. */
#include "fuzz.h"
#include "site/dashboard.h"
#include "site/way/way.h"

/* What may be sent on has plain segments only, and a known first one. */
static void check_path(struct str path) {
    struct str rest = str_skip(path, 1), part;
    if (way_path_check(path, NULL) != 0) {
        return;
    }
    assert(path.n > 0 && path.p[0] == '/');
    while (str_next(&rest, '/', &part)) {
        assert(!str_is(part, "..") && !str_is(part, "."));
        assert(part.n > 0 || rest.n == 0);
    }
}

/* What counts as a name of this machine has no more than a name and a port. */
static void check_host(struct str host) {
    static const struct str hosts[] = {{"gpu.example", 11}};
    if (dashboard_host_known(host, hosts, 1)) {
        assert(host.n <= sizeof("gpu.example:65535") + 2);
        assert(str_find(host, '/') < 0 && str_find(host, '@') < 0 && str_find(host, ' ') < 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct str text = fuzz_text(data, size), first, second, value;
    struct arena a;
    arena_init(&a, FUZZ_ARENA_BYTES);
    for (size_t i = 0; session_cookie_value(text, STR("berth-0011aabb"), i, &value); i++) {
        assert(value.p >= text.p && value.p + value.n <= text.p + text.n);
        assert(str_find(value, ';') < 0);
    }
    if (str_cut(text, '\n', &first, &second) && session_origin_is(first, second, false)) {
        assert(str_starts(first, STR("http://")) && second.n > 0);
    }
    if (dashboard_takes_gzip(text)) {
        assert(str_contains(text, STR("*")) || text.n >= 4);
    }
    if (dashboard_names_tag(text, STR("\"tag\""))) {
        assert(str_contains(text, STR("*")) || str_contains(text, STR("\"tag\"")));
    }
    check_host(text);
    check_path(text);
    assert(way_token_ends(text, &a) >= 0);
    (void)way_type_is_safe(text);
    arena_release(&a);
    return 0;
}
