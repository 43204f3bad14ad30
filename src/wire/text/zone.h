/*
 * zone: the rules of a time zone (TZif, RFC 8536), and time on its clocks.
 *
 * Instants are seconds since 1970 UTC. A *local* time is what the clock on the wall shows, as the seconds since 1970
 * that the same reading would be in UTC (time_join of its parts), so that adding days and hours to it is plain
 * arithmetic. The rules reach as far as int64 does: a file's last line is followed for the years after its table.
 *
 * The room does no I/O: bytes come from a struct zone_source, which is base/zoneinfo.h outside tests. A
 * `struct zones` keeps what was read; its zones live as long as it does. UTC is always known, without a source.
 *
 *     struct zones *zones = zones_new(&(struct zone_source){zoneinfo_read, zoneinfo_version, NULL});
 *     const struct zone *z;
 *     if (zones_get(zones, STR("Europe/Warsaw"), &z, &err) == 0) {
 *         int64_t at = zone_utc(z, time_join(2026, 11, 23, 9, 0, 0), NULL);
 *     }
 */
#ifndef BERTH_WIRE_ZONE_H
#define BERTH_WIRE_ZONE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum { ZONE_TEXT_MAX = 48, ZONE_OFFSET_TEXT_MAX = 16, ZONE_NAME_MAX = 63, ZONE_ABBR_MAX = 15 };

struct zone;

/* Where the bytes come from. Both append to `out`. */
struct zone_source {
    /* The TZif file of a checked name. ERR_NOT_FOUND when there is none. */
    int (*read)(void *ctx, struct str name, struct buf *out, struct err *err);
    /* The release of the data ("2025b"); NULL, or nothing appended: not known. */
    int (*version)(void *ctx, struct buf *out, struct err *err);
    void *ctx;
};

/* ---- a world's zones ---- */

struct zones *
zones_new(const struct zone_source *source); /* copied; NULL: UTC alone. NULL: out of memory */
void zones_free(struct zones *z);            /* NULL is a no-op */
/* ERR_INVALID: the name is none, or this machine does not know it; the text quotes it. The empty name is UTC. */
int zones_get(struct zones *z, struct str name, const struct zone **ret, struct err *err);
/* "2025b", or empty when not known; asked once. */
struct str zones_version(struct zones *z);

/* ---- one zone ---- */

/* Whether it is spelled like an IANA name ("America/Argentina/Ushuaia"); no path escapes by it. */
bool zone_name_ok(struct str name);
const struct zone *zone_of_utc(void);
/* From the bytes of a TZif file of version 2 or later. Free with zone_free. ERR_SYNTAX, ERR_UNSUPPORTED (leap
 * seconds). */
int zone_parse(struct str name, struct str bytes, struct zone **ret, struct err *err);
void zone_free(struct zone *z); /* NULL is a no-op */
struct str zone_name(const struct zone *z);

struct zone_at {
    int32_t offset; /* seconds east of UTC */
    bool dst;
    struct str abbr; /* "CEST"; lives as long as the zone */
    int64_t from;    /* since when at the latest, INT64_MIN: always */
    int64_t until; /* the next change, INT64_MAX: none. Changes of the abbreviation alone count. */
};
struct zone_at zone_at(const struct zone *z, int64_t utc);

static inline int64_t zone_local(const struct zone *z, int64_t utc) {
    return utc + zone_at(z, utc).offset;
}

enum zone_fit {
    ZONE_ONCE,
    ZONE_GAP, /* clocks never show it: read with the offset before the gap, so it moves on by the gap's length */
    ZONE_TWICE, /* clocks show it twice: the first time */
};
/* RFC 5545, 3.3.5. ret_fit may be NULL. */
int64_t zone_utc(const struct zone *z, int64_t local, enum zone_fit *ret_fit);

/* ---- texts ---- */

/* "2026-11-23T09:00:00", "2026-11-23T09:00" or "2026-11-23 09:00": a local time without offset. ERR_SYNTAX. */
int zone_parse_local(struct str text, int64_t *ret_local, struct err *err);
/* "2026-11-23T09:00:00". Years 0 to 9999. Views of `out`, NUL-terminated. */
struct str zone_local_text(int64_t local, char out[static ZONE_TEXT_MAX]);
/* "2026-11-23T09:00:00+01:00"; seconds of an offset are cut. */
struct str zone_text(const struct zone *z, int64_t utc, char out[static ZONE_TEXT_MAX]);
/* "+01:00", "-03:30"; "+00:00" for UTC. */
struct str zone_offset_text(int32_t offset, char out[static ZONE_OFFSET_TEXT_MAX]);

#endif
