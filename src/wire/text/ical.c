/* ical: writes calendars. See ical.h. */
#include "wire/text/ical.h"

#include "base/limits.h"
#include "wire/text/time.h"

enum { LINE_OCTETS = 75, ZONE_CHANGES_MAX = 128 };

/* ---- lines ---- */

/* A line as it is being written: `col` octets of the present one. */
struct ical_line {
    struct buf *out;
    size_t col;
};

/* Octets that stay together. */
static void put(struct ical_line *l, const char *p, size_t n) {
    if (l->col + n > LINE_OCTETS) {
        buf_c(l->out, "\r\n ");
        l->col = 1;
    }
    buf_add(l->out, p, n);
    l->col += n;
}

/* Octets between which a line may be folded. */
static void put_ascii(struct ical_line *l, struct str s) {
    while (s.n > 0) {
        size_t left = l->col < LINE_OCTETS ? LINE_OCTETS - l->col : 0;
        size_t n = left == 0 ? 1 : s.n < left ? s.n : left;
        put(l, s.p, n);
        s = str_skip(s, n);
    }
}

static void end_line(struct ical_line *l) {
    buf_c(l->out, "\r\n");
    l->col = 0;
}

static bool is_tail(unsigned char c) {
    return (c & 0xc0) == 0x80;
}

/* Octets of the UTF-8 sequence at the start of s; 0: it is none. Longer forms than needed and surrogates are none. */
static size_t sequence(struct str s) {
    const unsigned char *p = (const unsigned char *)s.p;
    size_t n = p[0] < 0x80   ? 1
               : p[0] < 0xc2 ? 0
               : p[0] < 0xe0 ? 2
               : p[0] < 0xf0 ? 3
               : p[0] < 0xf5 ? 4
                             : 0;
    if (n == 0 || n > s.n) {
        return 0;
    }
    for (size_t i = 1; i < n; i++) {
        if (!is_tail(p[i])) {
            return 0;
        }
    }
    bool bad = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
               (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f);
    return bad ? 0 : n;
}

/* One character of a text, escaped; returns how many octets of s it was. */
static size_t put_character(struct ical_line *l, struct str s) {
    unsigned char c = (unsigned char)s.p[0];
    if (c == '\r' || c == '\n') {
        put(l, "\\n", 2);
        return c == '\r' && s.n > 1 && s.p[1] == '\n' ? 2 : 1;
    }
    if (c == '\\' || c == ';' || c == ',') {
        char escaped[2] = {'\\', (char)c};
        put(l, escaped, 2);
        return 1;
    }
    if (c < 0x20 || c == 0x7f) {
        put(l, " ", 1);
        return 1;
    }
    size_t n = sequence(s);
    if (n == 2 && c == 0xc2 && (unsigned char)s.p[1] < 0xa0) { /* more control characters */
        put(l, " ", 1);
    } else if (n > 0) {
        put(l, s.p, n);
    } else {
        put(l, "\xef\xbf\xbd", 3);
    }
    return n > 0 ? n : 1;
}

/* Stands for itself, and for one octet. */
static bool is_plain(char c) {
    return c >= ' ' && c <= '~' && c != '\\' && c != ';' && c != ',';
}

static void put_text(struct ical_line *l, struct str text) {
    bool cut = text.n > LIMIT_ICAL_TEXT;
    size_t end = cut ? LIMIT_ICAL_TEXT : text.n;
    while (cut && end > 0 && is_tail((unsigned char)text.p[end])) {
        end--;
    }
    for (struct str s = str_head(text, end); s.n > 0;) {
        size_t n = 0;
        while (n < s.n && is_plain(s.p[n])) {
            n++;
        }
        put_ascii(l, str_head(s, n));
        s = str_skip(s, n);
        s = str_skip(s, s.n > 0 ? put_character(l, s) : 0);
    }
    if (cut) {
        put(l, "\xe2\x80\xa6", 3);
    }
}

static void plain(struct ical *c, const char *name, struct str value) {
    struct ical_line l = {c->out, 0};
    put_ascii(&l, str_of(name));
    put(&l, ":", 1);
    put_ascii(&l, value);
    end_line(&l);
}

static void literal(struct ical *c, const char *text) {
    buf_c(c->out, text);
    buf_c(c->out, "\r\n");
}

void ical_text(struct ical *c, const char *name, struct str value) {
    struct ical_line l = {c->out, 0};
    put_ascii(&l, str_of(name));
    put(&l, ":", 1);
    put_text(&l, value);
    end_line(&l);
}

static void optional_text(struct ical *c, const char *name, struct str value) {
    if (value.n > 0) {
        ical_text(c, name, value);
    }
}

static void number(struct ical *c, const char *name, int64_t v) {
    buf_f(c->out, "%s:%lld\r\n", name, (long long)v);
}

/* Addresses are no texts: what could not stand in one is left out rather than changed. */
static void address(struct ical *c, const char *name, struct str url) {
    for (size_t i = 0; i < url.n; i++) {
        if (url.p[i] <= ' ' || url.p[i] > '~' || strchr("\"<>\\^`{|}", url.p[i])) {
            return;
        }
    }
    if (url.n > 0 && url.n <= LIMIT_ICAL_TEXT) {
        plain(c, name, url);
    }
}

/* ---- times ---- */

/* "20261123T090000" */
static void put_time(struct buf *out, int64_t seconds) {
    const int64_t most = INT64_C(7258118399); /* 2199; years have four digits */
    seconds = seconds > most ? most : seconds < 0 ? 0 : seconds;
    struct time_parts t = time_split(seconds * INT64_C(1000000000));
    buf_f(out, "%04d%02d%02dT%02d%02d%02d", t.year, t.month, t.day, t.hour, t.minute, t.second);
}

static void utc_time(struct ical *c, const char *name, int64_t utc) {
    buf_f(c->out, "%s:", name);
    put_time(c->out, utc);
    literal(c, "Z");
}

static void local_time(struct ical *c, const char *name, const struct zone *z, int64_t local) {
    struct ical_line l = {c->out, 0};
    char text[32];
    struct buf b;
    buf_init(&b, sizeof(text));
    put_ascii(&l, str_of(name));
    put_ascii(&l, STR(";TZID="));
    put_ascii(&l, zone_name(z));
    put(&l, ":", 1);
    put_time(&b, local);
    put_ascii(&l, buf_view(&b));
    c->out->failed = c->out->failed ? c->out->failed : buf_ok(&b);
    buf_release(&b);
    end_line(&l);
}

/* An instant on the zone's clock, unless the clock shows that reading earlier as well: then nobody could tell. */
static void instant(struct ical *c, const char *name, const struct zone *z, int64_t utc) {
    int64_t local = z ? zone_local(z, utc) : 0;
    if (z && zone_utc(z, local, NULL) == utc) {
        local_time(c, name, z, local);
    } else {
        utc_time(c, name, utc);
    }
}

/* ---- the calendar ---- */

static bool is_word(struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        if (!((s.p[i] | 0x20) >= 'a' && (s.p[i] | 0x20) <= 'z')) {
            return false;
        }
    }
    return s.n > 0 && s.n <= 32;
}

void ical_begin(struct ical *c, struct buf *out, const struct ical_calendar *calendar) {
    *c = (struct ical){.out = out};
    literal(c, "BEGIN:VCALENDAR");
    literal(c, "VERSION:2.0");
    literal(c, "PRODID:-//Berth//Berth " BERTH_VERSION "//EN");
    literal(c, "CALSCALE:GREGORIAN");
    if (is_word(calendar->method)) {
        plain(c, "METHOD", calendar->method);
    }
    optional_text(c, "NAME", calendar->name);
    optional_text(c, "X-WR-CALNAME", calendar->name); /* for programs older than RFC 7986 */
    optional_text(c, "DESCRIPTION", calendar->description);
    optional_text(c, "X-WR-CALDESC", calendar->description);
    if (calendar->refresh_minutes > 0) {
        buf_f(out, "REFRESH-INTERVAL;VALUE=DURATION:PT%dM\r\n", calendar->refresh_minutes);
        buf_f(out, "X-PUBLISHED-TTL:PT%dM\r\n", calendar->refresh_minutes);
    }
    if (is_word(calendar->color)) {
        plain(c, "COLOR", calendar->color);
    }
    address(c, "URL", calendar->url);
}

/* Whether there is room for one more component. */
static bool room(struct ical *c) {
    if (c->events >= LIMIT_ICAL_EVENTS || c->out->n > LIMIT_ICAL_BYTES) {
        c->cut = true;
        return false;
    }
    c->events++;
    return true;
}

int ical_end(struct ical *c) {
    literal(c, "END:VCALENDAR");
    int code = buf_ok(c->out);
    return code ? code : c->cut ? ERR_TOO_LARGE : 0;
}

/* ---- VTIMEZONE ---- */

static void put_offset(struct ical *c, const char *name, int32_t offset) {
    int32_t v = offset < 0 ? -offset : offset;
    buf_f(c->out, "%s:%c%02d%02d", name, offset < 0 ? '-' : '+', v / 3600, v / 60 % 60);
    if (v % 60 != 0) {
        buf_f(c->out, "%02d", v % 60);
    }
    literal(c, "");
}

/* One stretch; it begins at `local` of the clock before it. */
static void observance(struct ical *c, const struct zone_at *at, int32_t before, int64_t local) {
    const char *kind = at->dst ? "DAYLIGHT" : "STANDARD";
    buf_f(c->out, "BEGIN:%s\r\nDTSTART:", kind);
    put_time(c->out, local);
    literal(c, "");
    put_offset(c, "TZOFFSETFROM", before);
    put_offset(c, "TZOFFSETTO", at->offset);
    ical_text(c, "TZNAME", at->abbr);
    buf_f(c->out, "END:%s\r\n", kind);
}

void ical_zone(struct ical *c, const struct zone *z, int64_t from, int64_t until) {
    struct zone_at at = zone_at(z, from);
    literal(c, "BEGIN:VTIMEZONE");
    plain(c, "TZID", zone_name(z));
    if (at.from > 0) {
        int32_t before = zone_at(z, at.from - 1).offset;
        observance(c, &at, before, at.from + before);
    } else {
        observance(c, &at, at.offset, 0);
    }
    for (int i = 0; i < ZONE_CHANGES_MAX && at.until != INT64_MAX && at.until <= until; i++) {
        struct zone_at next = zone_at(z, at.until);
        observance(c, &next, at.offset, at.until + at.offset);
        at = next;
    }
    literal(c, "END:VTIMEZONE");
}

/* ---- VEVENT ---- */

static void categories(struct ical *c, const struct ical_event *e) {
    struct ical_line l = {c->out, 0};
    if (e->n_categories == 0) {
        return;
    }
    put_ascii(&l, STR("CATEGORIES:"));
    for (size_t i = 0; i < e->n_categories; i++) {
        put(&l, ",", i > 0);
        put_text(&l, e->categories[i]);
    }
    end_line(&l);
}

static void recurrence(struct ical *c, const struct ical_event *e) {
    if (e->rrule.n > 0 && e->zone) {
        plain(c, "RRULE", e->rrule);
    }
    for (size_t i = 0; i < e->n_exdates && e->zone; i++) {
        local_time(c, "EXDATE", e->zone, e->exdates[i]);
    }
    if (e->has_recurrence_id && e->zone) {
        local_time(c, "RECURRENCE-ID", e->zone, e->recurrence_id);
    } else if (e->has_recurrence_id) {
        utc_time(c, "RECURRENCE-ID", e->recurrence_id);
    }
}

static void alarm_before(struct ical *c, const struct ical_event *e) {
    if (e->alarm_minutes > 0) {
        literal(c, "BEGIN:VALARM");
        literal(c, "ACTION:DISPLAY");
        ical_text(c, "DESCRIPTION", e->summary);
        buf_f(c->out, "TRIGGER:-PT%dM\r\n", e->alarm_minutes);
        literal(c, "END:VALARM");
    }
}

void ical_event(struct ical *c, const struct ical_event *e) {
    static const char *const status[] = {[ICAL_CONFIRMED] = "CONFIRMED",
                                         [ICAL_TENTATIVE] = "TENTATIVE",
                                         [ICAL_CANCELLED] = "CANCELLED"};
    if (!room(c)) {
        return;
    }
    literal(c, "BEGIN:VEVENT");
    ical_text(c, "UID", e->uid);
    utc_time(c, "DTSTAMP", e->stamp);
    if (e->created > 0) {
        utc_time(c, "CREATED", e->created);
    }
    if (e->modified > 0) {
        utc_time(c, "LAST-MODIFIED", e->modified);
    }
    number(c, "SEQUENCE", e->sequence);
    instant(c, "DTSTART", e->zone, e->start);
    instant(c, "DTEND", e->zone, e->end);
    recurrence(c, e);
    buf_f(c->out, "STATUS:%s\r\n", status[e->status]);
    literal(c,
            e->transparent || e->status == ICAL_CANCELLED ? "TRANSP:TRANSPARENT" : "TRANSP:OPAQUE");
    ical_text(c, "SUMMARY", e->summary);
    optional_text(c, "DESCRIPTION", e->description);
    optional_text(c, "LOCATION", e->location);
    optional_text(c, "CONTACT", e->contact);
    categories(c, e);
    address(c, "URL", e->url);
    alarm_before(c, e);
    literal(c, "END:VEVENT");
}

/* ---- VFREEBUSY ---- */

void ical_freebusy(struct ical *c, struct str uid, int64_t stamp, int64_t start, int64_t end,
                   const struct ical_busy *busy, size_t n) {
    if (!room(c)) {
        return;
    }
    literal(c, "BEGIN:VFREEBUSY");
    ical_text(c, "UID", uid);
    utc_time(c, "DTSTAMP", stamp);
    utc_time(c, "DTSTART", start);
    utc_time(c, "DTEND", end);
    for (size_t i = 0; i < n; i++) {
        if (i >= LIMIT_ICAL_EVENTS) {
            c->cut = true;
            break;
        }
        buf_c(c->out,
              busy[i].tentative ? "FREEBUSY;FBTYPE=BUSY-TENTATIVE:" : "FREEBUSY;FBTYPE=BUSY:");
        put_time(c->out, busy[i].start);
        buf_c(c->out, "Z/");
        put_time(c->out, busy[i].end);
        literal(c, "Z");
    }
    literal(c, "END:VFREEBUSY");
}
