/* image_hosts: see image_hosts.h. */
#include "node/images/image_hosts.h"

/* "!*.example.org:5000": whether it refuses, and the rest. */
static struct str pattern(struct str entry, bool *ret_refuses) {
    *ret_refuses = str_starts(entry, STR("!"));
    return str_skip(entry, *ret_refuses);
}

static bool is_host(struct str s) {
    bool wild = str_starts(s, STR("*.")), port = false;

    s = str_skip(s, wild ? 2 : 0);
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool digit = c >= '0' && c <= '9';
        if (c == ':' && !port && i > 0 && i + 1 < s.n) {
            port = true;
        } else if (port ? !digit
                        : !(digit || (c >= 'a' && c <= 'z') || (i > 0 && (c == '.' || c == '-')))) {
            return false;
        }
    }
    return s.n > 0;
}

int image_hosts_check(struct str list, struct err *err) {
    struct str rest = list, entry;
    bool refuses;

    if (list.n > IMAGE_HOSTS_MAX || str_empty(list) || str_ends(list, STR(","))) {
        return err_set(err, ERR_BAD_REQUEST,
                       "expected hosts with commas between them, in %d characters",
                       IMAGE_HOSTS_MAX);
    }
    while (str_next(&rest, ',', &entry)) {
        if (!is_host(pattern(entry, &refuses))) {
            return err_set(err, ERR_BAD_REQUEST,
                           "\"%.*s\": expected a host in lower case like docker.io, "
                           "registry.example.org:5000 or *.example.org, or !HOST to refuse one",
                           STR_ARG(str_head(entry, 200)));
        }
    }
    return 0;
}

/* Names of one registry: what is refused by one is not reached by another. */
static struct str plain_name(struct str name) {
    static const char *const of_docker[] = {"registry-1.docker.io", "index.docker.io"};

    for (size_t i = 0; i < sizeof(of_docker) / sizeof(*of_docker); i++) {
        if (str_eq_nocase(name, str_of(of_docker[i]))) {
            return STR("docker.io");
        }
    }
    return name;
}

static bool name_matches(struct str p, struct str name) {
    if (!str_starts(p, STR("*."))) {
        return str_eq_nocase(plain_name(p), plain_name(name));
    }
    struct str tail = str_skip(p, 1); /* ".example.org" */
    return name.n > tail.n && str_eq_nocase(str_skip(name, name.n - tail.n), tail);
}

/* A pattern without a port is for all of them; a host without one has that of https. */
static bool matches(struct str p, struct str host) {
    struct str p_name, p_port, name, port;
    bool has_port = str_cut(p, ':', &p_name, &p_port);

    port = str_cut(host, ':', &name, &port) ? port : STR("443");
    return name_matches(p_name, name) && (!has_port || str_eq(p_port, port));
}

int image_hosts_allow(struct str list, struct str host, struct err *err) {
    struct str rest = list, entry;
    bool allowed = true, refused = false, refuses, chosen = false;

    while (str_next(&rest, ',', &entry)) {
        struct str p = pattern(entry, &refuses);
        bool is = matches(p, host);
        refused |= refuses && is;
        allowed = refuses || chosen ? allowed : false; /* the first that allows: no others are */
        chosen |= !refuses;
        allowed |= !refuses && is;
    }
    return allowed && !refused
               ? 0
               : err_set(err, ERR_FORBIDDEN,
                         "images may not be pulled from %.*s here: the node's --image-registries "
                         "%s it",
                         STR_ARG(str_head(host, 200)), refused ? "refuses" : "does not name");
}
