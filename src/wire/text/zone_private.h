/* zone_private (wire): declarations shared by the files of zone. */
#ifndef BERTH_WIRE_ZONE_PRIVATE_H
#define BERTH_WIRE_ZONE_PRIVATE_H

#include "wire/text/zone.h"

enum { ZONE_DAY = 86400, ZONE_OFFSET_MAX = 26 * 3600 };

struct zone_type {
    int32_t offset;
    bool dst;
    char abbr[ZONE_ABBR_MAX + 1];
};

/* When in a year a change is: POSIX's TZ, widened by RFC 8536. */
struct zone_date {
    enum { ZONE_DATE_MONTH, ZONE_DATE_JULIAN, ZONE_DATE_DAY } form; /* M10.5.0, J300, 299 */
    int month, week, weekday;                                       /* week 5: the last */
    int day;      /* J: 1 to 365 without 29 February; else 0 to 365 with it */
    int32_t time; /* of the clock before the change, seconds; up to a week, or negative */
};

/* The last line of a file. Without changes (no dst) it is `standard` for ever. */
struct zone_rule {
    struct zone_type standard, summer;
    struct zone_date to_summer, to_standard;
    bool changes;
};

int zone_rule_parse(struct str text, struct zone_rule *ret, struct err *err);
/* The stretch of one offset around `utc`, as if the rule had held for ever. */
struct zone_at zone_rule_at(const struct zone_rule *r, int64_t utc);

#endif
