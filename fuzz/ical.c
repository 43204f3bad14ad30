/* fuzz/ical: any bytes as the texts of an event. Lines are at most 75 octets, end in CRLF, hold no control character
 * and only whole UTF-8 sequences; each is one of the properties that were meant, or goes on with one. */
#include "wire/text/ical.h"
#include "fuzz.h"

static const char *const meant[] = {
    "BEGIN:",     "VERSION:",      "PRODID:",   "CALSCALE:",    "NAME:",    "X-WR-CALNAME:",
    "UID:",       "DTSTAMP:",      "SEQUENCE:", "DTSTART:",     "DTEND:",   "STATUS:",
    "TRANSP:",    "SUMMARY:",      "LOCATION:", "DESCRIPTION:", "CONTACT:", "CATEGORIES:",
    "END:VEVENT", "END:VCALENDAR", "URL:",      "METHOD:",      "COLOR:",
};

static void check_line(struct str line) {
    assert(line.n <= 75);
    for (size_t i = 0; i < line.n; i++) {
        unsigned char c = (unsigned char)line.p[i];
        assert(c >= 0x20 && c != 0x7f);
    }
    assert(line.n == 0 || ((unsigned char)line.p[0] & 0xc0) != 0x80);
    for (size_t i = 0; i < sizeof(meant) / sizeof(meant[0]); i++) {
        if (str_starts(line, str_of(meant[i]))) {
            return;
        }
    }
    assert(line.n > 1 && line.p[0] == ' ' && ((unsigned char)line.p[1] & 0xc0) != 0x80);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct str all = fuzz_text(data, size), a, b;
    struct buf out;
    struct ical c;
    (void)str_cut(all, '|', &a, &b);
    buf_init(&out, 0);
    ical_begin(&c, &out, &(struct ical_calendar){.name = a, .method = a, .color = a, .url = b});
    ical_event(&c, &(struct ical_event){.uid = a,
                                        .start = 1774746000,
                                        .end = 1774749600,
                                        .stamp = 1774746000,
                                        .summary = a,
                                        .description = all,
                                        .location = b,
                                        .contact = b,
                                        .url = b,
                                        .categories = (struct str[]){a, b},
                                        .n_categories = 2});
    assert(ical_end(&c) == 0);
    struct str rest = buf_view(&out);
    while (rest.n > 0) {
        ptrdiff_t end = str_find(rest, '\r');
        assert(end >= 0 && (size_t)end + 1 < rest.n && rest.p[end + 1] == '\n');
        check_line(str_head(rest, (size_t)end));
        rest = str_skip(rest, (size_t)end + 2);
    }
    buf_release(&out);
    return 0;
}
