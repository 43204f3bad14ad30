/* image_name: see image_name.h. */
#include "node/images/image_name.h"

#include <stdio.h>

enum { TAG_MAX = 128, DIGEST_HEX = 64 };

static bool is_low(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_word(char c) {
    return is_low(c) || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Letters and digits, with `more` between them. */
static bool holds(struct str s, bool (*is)(char c), const char *more) {
    for (size_t i = 0; i < s.n; i++) {
        bool inside = i > 0 && i + 1 < s.n;
        if (!is(s.p[i]) && !(inside && s.p[i] && strchr(more, s.p[i]))) {
            return false;
        }
    }
    return s.n > 0;
}

static bool is_host(struct str part) {
    return str_find(part, '.') >= 0 || str_find(part, ':') >= 0 || str_is(part, "localhost");
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* HOST[:PORT], where HOST is none of podman's words for its own store: every namespace's images are there. */
static bool host_ok(struct str host) {
    struct str name, port;
    bool has_port = str_cut(host, ':', &name, &port);

    return holds(name, is_word, ".-") && (!has_port || holds(port, is_digit, "")) &&
           !str_is(name, "containers-storage");
}

static bool path_ok(struct str path) {
    struct str part;

    if (path.n == 0 || path.p[path.n - 1] == '/') {
        return false;
    }
    while (str_next(&path, '/', &part)) {
        if (!holds(part, is_low, "._-")) {
            return false;
        }
    }
    return true;
}

static bool tag_ok(struct str tag) {
    for (size_t i = 0; i < tag.n; i++) {
        if (!is_word(tag.p[i]) && !(i > 0 && (tag.p[i] == '.' || tag.p[i] == '-'))) {
            return false;
        }
    }
    return tag.n > 0 && tag.n <= TAG_MAX;
}

static bool digest_ok(struct str digest) {
    struct str hex = str_skip(digest, STR("sha256:").n);

    return str_starts(digest, STR("sha256:")) && hex.n == DIGEST_HEX && holds(hex, is_low, "");
}

int image_name_full(struct str name, char out[IMAGE_NAME_MAX], struct err *err) {
    struct str rest = name, digest = {NULL, 0}, tag = {NULL, 0}, host = STR("docker.io"), first,
               path;
    bool has_digest = str_cut(name, '@', &rest, &digest);
    ptrdiff_t colon = str_find_last(rest, ':');
    bool has_tag = colon >= 0 && colon > str_find_last(rest, '/');

    if (has_tag) {
        tag = str_skip(rest, (size_t)colon + 1);
        rest = str_head(rest, (size_t)colon);
    }
    if (str_cut(rest, '/', &first, &path) && is_host(first)) {
        host = str_eq_nocase(first, STR("index.docker.io")) ? host : first; /* its old name */
        rest = path;
    }
    if (!path_ok(rest) || !host_ok(host) || (has_tag && !tag_ok(tag)) ||
        (has_digest && !digest_ok(digest))) {
        return err_set(
            err, ERR_INVALID,
            "\"%.*s\" is no name of an image: expected [HOST/]PATH[:TAG][@sha256:DIGEST]",
            STR_ARG(str_head(name, IMAGE_NAME_MAX)));
    }
    bool library = str_is(host, "docker.io") && str_find(rest, '/') < 0;
    int n = snprintf(out, IMAGE_NAME_MAX, "%.*s/%s%.*s%s%.*s", STR_ARG(host),
                     library ? "library/" : "", STR_ARG(rest), has_digest ? "@" : ":",
                     STR_ARG(has_digest ? digest
                             : has_tag  ? tag
                                        : STR("latest")));
    return n < IMAGE_NAME_MAX
               ? 0
               : err_set(err, ERR_INVALID,
                         "the name of image \"%.*s...\" is longer than %d characters",
                         STR_ARG(str_head(name, 60)), IMAGE_NAME_MAX - 1);
}

struct str image_name_host(struct str full) {
    struct str host, rest;

    str_cut(full, '/', &host, &rest);
    return host;
}

bool image_name_local(struct str full) {
    return str_is(image_name_host(full), "localhost");
}

bool image_name_loopback(struct str full) {
    struct str host = image_name_host(full);

    return str_starts(host, STR("localhost:")) ||
           (str_starts(host, STR("127.")) && holds(host, is_digit, ".:"));
}
