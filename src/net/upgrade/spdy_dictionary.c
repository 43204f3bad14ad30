/*
 * spdy_dictionary: the text that both ends of SPDY/3 set as their compression
 * dictionary before the first header: the names that HTTP messages often have,
 * each after its length in four bytes, and then text without lengths. It is a
 * part of the protocol; its Adler-32, e3c6a7c2, stands at the front of every
 * connection's headers.
 */
#include <pthread.h>

#include "net/upgrade/spdy.h"

static const char names[] =
    "options head post put delete trace accept accept-charset accept-encoding "
    "accept-language "
    "accept-ranges age allow authorization cache-control connection "
    "content-base content-encoding "
    "content-language content-length content-location content-md5 "
    "content-range content-type date "
    "etag expect expires from host if-match if-modified-since if-none-match "
    "if-range "
    "if-unmodified-since last-modified location max-forwards pragma "
    "proxy-authenticate "
    "proxy-authorization range referer retry-after server te trailer "
    "transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status 200|OK "
    "version HTTP/1.1 url "
    "public set-cookie keep-alive origin";

static const char tail[] =
    "10010120120220520630030230330430530630740240540640740840941041141241341441"
    "5416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 "
    "Bad Request401 "
    "Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not "
    "Implemented503 Service "
    "UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, "
    "Tue, Wed, Thu, Fri, "
    "Sat, Sun, "
    "GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,"
    "application/xhtml+xml,text/plain,text/"
    "javascript,publicprivatemax-age=gzip,deflate,"
    "sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.";

enum { DICTIONARY_BYTES = 1423 };

static char dictionary[DICTIONARY_BYTES];

static void make(void) {
    struct str rest = str_of(names), name;
    size_t n = 0;

    while (str_next(&rest, ' ', &name)) {
        n += 3; /* no name is longer than a byte can say */
        dictionary[n++] = (char)name.n;
        for (size_t i = 0; i < name.n; i++) {
            dictionary[n++] = name.p[i] == '|' ? ' ' : name.p[i];
        }
    }
    memcpy(dictionary + n, tail, sizeof(tail) - 1);
}

struct str spdy_dictionary(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make);
    return str_from(dictionary, sizeof(dictionary));
}
