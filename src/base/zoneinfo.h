/*
 * zoneinfo: this machine's time zone files (Debian's package tzdata), for wire/text/zone.h.
 *
 * `dir` is a folder laid out like /usr/share/zoneinfo; ZONEINFO_DIR is that one. Names are checked by the caller
 * (zone_name_ok): they are joined to the folder as they are. Files are small and read whole.
 */
#ifndef BERTH_BASE_ZONEINFO_H
#define BERTH_BASE_ZONEINFO_H

#include "base/buf.h"
#include "base/err.h"

#define ZONEINFO_DIR "/usr/share/zoneinfo"

/* Functions of a struct zone_source; ctx is the folder, a C string, NULL for ZONEINFO_DIR. */
int zoneinfo_read(void *ctx, struct str name, struct buf *out, struct err *err);
int zoneinfo_version(void *ctx, struct buf *out, struct err *err);

/* The name of the zone that this user's clock shows: $TZ, or what /etc/localtime points to, or /etc/timezone; "UTC"
 * when none of them names one. NUL-terminated; its name is not checked. */
enum { ZONEINFO_NAME_MAX = 64 };
struct str zoneinfo_local(char out[static ZONEINFO_NAME_MAX]);

#endif
