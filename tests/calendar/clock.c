/* clock: what Berth says about time zones and recurrence, one answer a line, to be compared with Python's.
 *
 *     at ZONE INSTANT             OFFSET ABBREVIATION
 *     utc ZONE LOCAL              INSTANT
 *     rule ZONE LOCAL N RULE      N local times at most, seconds since 1970
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/zoneinfo.h"
#include "wire/text/rrule.h"

static void rule(const struct zone *z, int64_t start, long n, struct str text) {
    struct rrule r;
    struct rrule_iter it;
    struct err err = {0};
    int64_t at;
    if (rrule_parse(text, &r, &err) != 0) {
        printf("%s\n", err.text);
        return;
    }
    rrule_begin(&it, &r, z, start);
    while (n-- > 0 && rrule_next(&it, &at)) {
        printf("%lld ", (long long)at);
    }
    printf("\n");
}

static int answer(struct zones *zones, const char *line) {
    char what[8], name[64], text[600] = "";
    long long at;
    long n = 0;
    const struct zone *z;
    struct err err = {0};
    if (sscanf(line, "%7s %63s %lld %ld %599[^\n]", what, name, &at, &n, text) < 3) {
        fprintf(stderr, "cannot read %s", line);
        return 1;
    }
    if (zones_get(zones, str_of(name), &z, &err) != 0) {
        printf("%s\n", err.text);
    } else if (what[0] == 'a') {
        struct zone_at a = zone_at(z, at);
        printf("%d %.*s\n", a.offset, STR_ARG(a.abbr));
    } else if (what[0] == 'u') {
        printf("%lld\n", (long long)zone_utc(z, at, NULL));
    } else {
        rule(z, at, n, str_of(text));
    }
    return 0;
}

int main(void) {
    struct zones *zones = zones_new(&(struct zone_source){zoneinfo_read, zoneinfo_version, NULL});
    char line[1024];
    int bad = zones == NULL;
    while (!bad && fgets(line, sizeof(line), stdin)) {
        bad = answer(zones, line);
    }
    zones_free(zones);
    return bad;
}
