/* zone: TZif files, local time and instants, and a store of zones. See zone.h. */
#include "wire/text/zone.h"

#include "base/limits.h"
#include "base/map.h"
#include "base/mem.h"
#include "wire/text/time.h"
#include "wire/text/zone_private.h"

struct zone {
    char name[ZONE_NAME_MAX + 1];
    size_t n_changes, n_types;
    int64_t *at;    /* n_changes, ascending */
    uint8_t *which; /* n_changes: the type from then on */
    struct zone_type *types;
    bool has_rule;
    struct zone_rule rule; /* after the last change */
};

/* ---- reading ---- */

enum { HEADER = 44 };

struct counts {
    size_t isut, isstd, leap, time, type, chars;
};

static uint32_t be32(const char *p) {
    const uint8_t *b = (const uint8_t *)p;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static int64_t be64(const char *p) {
    return (int64_t)((uint64_t)be32(p) << 32 | be32(p + 4));
}

static int broken(const char *what, struct err *err) {
    return err_set(err, ERR_SYNTAX, "not a time zone file: %s", what);
}

/* Takes a header off *s. */
static int header(struct str *s, struct counts *c, struct err *err) {
    if (s->n < HEADER || !str_starts(*s, STR("TZif"))) {
        return broken("no header", err);
    }
    if (s->p[4] < '2') {
        return broken("its version is 1", err);
    }
    const char *p = s->p + 20;
    *c = (struct counts){be32(p),      be32(p + 4),  be32(p + 8),
                         be32(p + 12), be32(p + 16), be32(p + 20)};
    *s = str_skip(*s, HEADER);
    size_t most = LIMIT_ZONE_BYTES;
    bool small = c->isut <= 256 && c->isstd <= 256 && c->leap <= most && c->time <= most &&
                 c->type <= 256 && c->chars <= most;
    return small ? 0 : broken("its counts are too large", err);
}

static size_t body_size(const struct counts *c, size_t width) {
    return c->time * (width + 1) + c->type * 6 + c->chars + c->leap * (width + 4) + c->isstd +
           c->isut;
}

static bool abbreviation(struct str chars, size_t at, char out[static ZONE_ABBR_MAX + 1]) {
    struct str all = str_skip(chars, at);
    ptrdiff_t end = str_find(all, 0);
    struct str name = str_head(all, end > 0 ? (size_t)end : 0);
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] <= ' ' || name.p[i] > '~') {
            return false;
        }
    }
    return name.n > 0 && str_copy(name, out, ZONE_ABBR_MAX + 1);
}

static int types(struct zone *z, struct str table, struct str chars, struct err *err) {
    for (size_t i = 0; i < z->n_types; i++) {
        const char *p = table.p + i * 6;
        struct zone_type *t = &z->types[i];
        t->offset = (int32_t)be32(p);
        t->dst = p[4] != 0;
        if (t->offset > ZONE_OFFSET_MAX || t->offset < -ZONE_OFFSET_MAX) {
            return broken("an offset is larger than 26 hours", err);
        }
        if (!abbreviation(chars, (uint8_t)p[5], t->abbr)) {
            return broken("an abbreviation is none", err);
        }
    }
    return 0;
}

static int changes(struct zone *z, struct str times, struct str which, struct err *err) {
    for (size_t i = 0; i < z->n_changes; i++) {
        z->at[i] = be64(times.p + i * 8);
        z->which[i] = (uint8_t)which.p[i];
        if (i > 0 && z->at[i] <= z->at[i - 1]) {
            return broken("its changes are not in order", err);
        }
        if (z->which[i] >= z->n_types) {
            return broken("a change names no type", err);
        }
    }
    return 0;
}

/* The data block with 64-bit times, and the line after it. */
static int body(struct zone *z, struct str s, const struct counts *c, struct err *err) {
    size_t size = body_size(c, 8);
    struct str times = str_head(s, c->time * 8);
    struct str which = str_head(str_skip(s, c->time * 8), c->time);
    struct str table = str_head(str_skip(s, c->time * 9), c->type * 6);
    struct str chars = str_head(str_skip(s, c->time * 9 + c->type * 6), c->chars);
    int code = types(z, table, chars, err);
    if (code == 0) {
        code = changes(z, times, which, err);
    }
    struct str foot = str_skip(s, size), line, rest;
    if (code != 0) {
        return code;
    }
    if (foot.n < 2 || foot.p[0] != '\n' || !str_cut(str_skip(foot, 1), '\n', &line, &rest)) {
        return broken("its last line is missing", err);
    }
    z->has_rule = line.n > 0;
    return z->has_rule ? zone_rule_parse(line, &z->rule, err) : 0;
}

static struct zone *allocate(struct str name, const struct counts *c) {
    struct zone *z = mem_zalloc(sizeof(*z));
    if (z == NULL) {
        return NULL;
    }
    z->n_changes = c->time;
    z->n_types = c->type;
    z->at = mem_array(c->time + 1, sizeof(*z->at));
    z->which = mem_array(c->time + 1, sizeof(*z->which));
    z->types = mem_array(c->type, sizeof(*z->types));
    if (z->at == NULL || z->which == NULL || z->types == NULL ||
        !str_copy(name, z->name, sizeof(z->name))) {
        zone_free(z);
        return NULL;
    }
    return z;
}

int zone_parse(struct str name, struct str bytes, struct zone **ret, struct err *err) {
    struct str s = bytes;
    struct counts c;
    if (!zone_name_ok(name)) {
        return err_set(err, ERR_INVALID, "\"%.*s\" is no name of a time zone",
                       STR_ARG(str_head(name, ZONE_NAME_MAX)));
    }
    int code = header(&s, &c, err);
    if (code == 0 && body_size(&c, 4) > s.n) { /* the block with 32-bit times is skipped */
        code = broken("it is cut short", err);
    }
    if (code == 0) {
        s = str_skip(s, body_size(&c, 4));
        code = header(&s, &c, err);
    }
    if (code == 0 && (c.type == 0 || body_size(&c, 8) > s.n)) {
        code = broken("it is cut short", err);
    }
    if (code == 0 && c.leap > 0) {
        code = err_set(err, ERR_UNSUPPORTED, "the time zone file counts leap seconds");
    }
    if (code != 0) {
        return code;
    }
    struct zone *z = allocate(name, &c);
    if (z == NULL) {
        return err_set(err, ERR_NOMEM, "no memory for a time zone");
    }
    code = body(z, s, &c, err);
    if (code != 0) {
        zone_free(z);
        return code;
    }
    *ret = z;
    return 0;
}

void zone_free(struct zone *z) {
    if (z) {
        mem_free(z->at);
        mem_free(z->which);
        mem_free(z->types);
        mem_free(z);
    }
}

struct str zone_name(const struct zone *z) {
    return str_of(z->name);
}

const struct zone *zone_of_utc(void) {
    static struct zone_type type = {.abbr = "UTC"};
    static const struct zone utc = {.name = "UTC", .n_types = 1, .types = &type};
    return &utc;
}

/* Parts of letters, digits, '_', '-' and '+', with '/' between them. A folder may hold other copies of the data, and
 * files that are no zone of the IANA's: they have no name here. */
bool zone_name_ok(struct str name) {
    static const char *const others[] = {"posix", "right", "localtime", "posixrules", "Factory"};
    struct str rest = name, part;
    size_t parts = 0, length = 0;
    if (name.n == 0 || name.n > ZONE_NAME_MAX) {
        return false;
    }
    for (; str_next(&rest, '/', &part); parts++) {
        bool first = part.n > 0 && ((part.p[0] | 0x20) >= 'a' && (part.p[0] | 0x20) <= 'z');
        for (size_t i = 0; i < part.n; i++) {
            char c = part.p[i], low = (char)(c | 0x20);
            if (!(low >= 'a' && low <= 'z') && !(c >= '0' && c <= '9') && c != '_' && c != '-' &&
                c != '+') {
                return false;
            }
        }
        if (!first || parts > 2) {
            return false;
        }
        length += part.n + 1;
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (str_is(name, others[i]) || (str_starts(name, str_of(others[i])) &&
                                        str_starts(str_skip(name, strlen(others[i])), STR("/")))) {
            return false;
        }
    }
    return length == name.n + 1; /* no '/' at the end */
}

/* ---- instants and clocks ---- */

/* Changes at or before utc. */
static size_t before(const struct zone *z, int64_t utc) {
    size_t low = 0, high = z->n_changes;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (z->at[mid] <= utc) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

static struct zone_at stretch(const struct zone *z, int64_t utc) {
    size_t i = before(z, utc);
    int64_t from = i > 0 ? z->at[i - 1] : INT64_MIN;
    if (i == z->n_changes && z->has_rule) {
        struct zone_at at = zone_rule_at(&z->rule, utc);
        at.from = at.from > from ? at.from : from;
        return at;
    }
    const struct zone_type *t = &z->types[i > 0 ? z->which[i - 1] : 0];
    int64_t until = i < z->n_changes ? z->at[i] : INT64_MAX;
    return (struct zone_at){t->offset, t->dst, str_of(t->abbr), from, until};
}

/* Files have changes that change nothing, for readers with 32 bits; they are passed over. */
struct zone_at zone_at(const struct zone *z, int64_t utc) {
    struct zone_at at = stretch(z, utc);
    for (int i = 0; i < 4 && at.until != INT64_MAX; i++) {
        struct zone_at next = stretch(z, at.until);
        if (next.offset != at.offset || next.dst != at.dst || !str_eq(next.abbr, at.abbr)) {
            break;
        }
        at.until = next.until;
    }
    return at;
}

/* Every stretch that could hold this reading is looked at, in order: few, as no offset is larger than 26 hours. */
int64_t zone_utc(const struct zone *z, int64_t local, enum zone_fit *ret_fit) {
    int64_t found = 0, gap = local;
    size_t n = 0;
    for (struct zone_at at = stretch(z, local - ZONE_OFFSET_MAX);;) {
        int64_t utc = local - at.offset;
        if (utc >= at.from && utc < at.until) {
            found = n++ == 0 ? utc : found;
        }
        if (at.until == INT64_MAX || at.until > local + ZONE_OFFSET_MAX) {
            break;
        }
        struct zone_at next = stretch(z, at.until);
        if (local >= at.until + at.offset && local < at.until + next.offset) {
            gap = utc; /* clocks jumped over it: read with the offset before */
        }
        at = next;
    }
    if (ret_fit) {
        *ret_fit = n == 0 ? ZONE_GAP : n == 1 ? ZONE_ONCE : ZONE_TWICE;
    }
    return n > 0 ? found : gap;
}

/* ---- texts ---- */

int zone_parse_local(struct str text, int64_t *ret_local, struct err *err) {
    char full[TIME_TEXT_MAX];
    int64_t ns;
    size_t n = text.n;
    bool ok = (n == 16 || n == 19) && (text.p[10] == 'T' || text.p[10] == ' ');
    if (ok) {
        snprintf(full, sizeof(full), "%.10sT%.*s%sZ", text.p, (int)(n - 11), text.p + 11,
                 n == 16 ? ":00" : "");
    }
    if (!ok || time_parse(str_of(full), &ns, NULL) != 0) {
        return err_set(err, ERR_SYNTAX,
                       "cannot parse \"%.*s\" as a local time like 2006-01-02T15:04:05",
                       STR_ARG(str_head(text, 64)));
    }
    *ret_local = ns / INT64_C(1000000000) - (ns % INT64_C(1000000000) < 0);
    return 0;
}

struct str zone_local_text(int64_t local, char out[static ZONE_TEXT_MAX]) {
    char text[TIME_TEXT_MAX];
    int64_t ns;
    if (__builtin_mul_overflow(local, INT64_C(1000000000), &ns)) {
        ns = local < 0 ? INT64_MIN : INT64_MAX;
    }
    struct str s = time_text(ns, text);
    int n = snprintf(out, ZONE_TEXT_MAX, "%.*s", STR_ARG(str_head(s, s.n - 1)));
    return str_from(out, (size_t)n);
}

struct str zone_offset_text(int32_t offset, char out[static ZONE_OFFSET_TEXT_MAX]) {
    int minutes = (offset < 0 ? -offset : offset) / 60;
    int n = snprintf(out, ZONE_OFFSET_TEXT_MAX, "%c%02d:%02d", offset < 0 ? '-' : '+',
                     minutes / 60 % 100, minutes % 60);
    return str_from(out, (size_t)n);
}

struct str zone_text(const struct zone *z, int64_t utc, char out[static ZONE_TEXT_MAX]) {
    int32_t offset = zone_at(z, utc).offset;
    char text[ZONE_OFFSET_TEXT_MAX];
    struct str local = zone_local_text(utc + offset, out);
    struct str tail = zone_offset_text(offset, text);
    int n = snprintf(out + local.n, ZONE_TEXT_MAX - local.n, "%.*s", STR_ARG(tail));
    return str_from(out, local.n + (size_t)n);
}

/* ---- a world's zones ---- */

struct zones {
    struct zone_source source;
    struct map by_name; /* of struct zone, keyed by its own name */
    bool asked;
    char version[32];
};

struct zones *zones_new(const struct zone_source *source) {
    struct zones *z = mem_zalloc(sizeof(*z));
    if (z && source) {
        z->source = *source;
    }
    return z;
}

void zones_free(struct zones *z) {
    if (z == NULL) {
        return;
    }
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&z->by_name, &i));) {
        zone_free(e->value);
    }
    map_release(&z->by_name);
    mem_free(z);
}

static int unknown(struct str name, struct err *err) {
    return err_set(err, ERR_INVALID,
                   "\"%.*s\" is no time zone known here; one is named like Europe/Warsaw or UTC",
                   STR_ARG(str_head(name, ZONE_NAME_MAX)));
}

static int load(struct zones *z, struct str name, struct zone **ret, struct err *err) {
    struct buf bytes;
    struct err why = {0};
    buf_init(&bytes, LIMIT_ZONE_BYTES + 1);
    int code = z->source.read(z->source.ctx, name, &bytes, &why);
    if (code == 0) {
        code = zone_parse(name, buf_view(&bytes), ret, &why);
    }
    buf_release(&bytes);
    if (code == ERR_NOT_FOUND) {
        return unknown(name, err);
    }
    return code == 0 ? 0 : err_set(err, code, "time zone \"%.*s\": %s", STR_ARG(name), why.text);
}

int zones_get(struct zones *z, struct str name, const struct zone **ret, struct err *err) {
    if (name.n == 0 || str_is(name, "UTC") || str_is(name, "Etc/UTC")) {
        *ret = zone_of_utc();
        return 0;
    }
    struct zone *zone = map_get(&z->by_name, name);
    if (zone == NULL) {
        if (!zone_name_ok(name) || z->source.read == NULL) {
            return unknown(name, err);
        }
        if (map_count(&z->by_name) >= LIMIT_ZONES) {
            return err_set(err, ERR_TOO_MANY, "more than %d time zones are in use", LIMIT_ZONES);
        }
        int code = load(z, name, &zone, err);
        if (code != 0) {
            return code;
        }
        if (map_put(&z->by_name, zone_name(zone), zone, NULL) != 0) {
            zone_free(zone);
            return err_set(err, ERR_NOMEM, "no memory for a time zone");
        }
    }
    *ret = zone;
    return 0;
}

struct str zones_version(struct zones *z) {
    if (!z->asked && z->source.version) {
        struct buf b;
        buf_init(&b, 0);
        if (z->source.version(z->source.ctx, &b, NULL) == 0 && buf_ok(&b) == 0) {
            (void)str_copy(buf_view(&b), z->version, sizeof(z->version));
        }
        buf_release(&b);
    }
    z->asked = true;
    return str_of(z->version);
}
