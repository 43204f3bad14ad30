/* pod_files: see pod_files.h. */
#include "node/spec/pod_files.h"

#define ZONE "cluster.local"

static void add_own_name(yyjson_val *pod, struct str ip, struct buf *out) {
    struct str host = json_str_at(pod, "spec.hostname"), sub = json_str_at(pod, "spec.subdomain");

    if (str_empty(host)) {
        host = json_str_at(pod, "metadata.name");
    }
    buf_f(out, "%.*s\t", STR_ARG(ip));
    if (sub.n) {
        buf_f(out, "%.*s.%.*s.%.*s.svc." ZONE "\t", STR_ARG(host), STR_ARG(sub),
              STR_ARG(json_str_at(pod, "metadata.namespace")));
    }
    buf_f(out, "%.*s\n", STR_ARG(host));
}

void pod_hosts_write(yyjson_val *pod, struct str ip, struct buf *out) {
    yyjson_arr_iter it = yyjson_arr_iter_with(json_path(pod, "spec.hostAliases"));

    buf_c(out, "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n");
    add_own_name(pod, ip, out);
    for (yyjson_val *e; (e = yyjson_arr_iter_next(&it));) {
        yyjson_arr_iter names = yyjson_arr_iter_with(json_get(e, STR("hostnames")));
        buf_str(out, json_str_at(e, "ip"));
        for (yyjson_val *n; (n = yyjson_arr_iter_next(&names));) {
            buf_ch(out, '\t');
            buf_str(out, json_str(n));
        }
        buf_ch(out, '\n');
    }
}

struct resolv {
    struct buf servers, searches, options;
    int n_servers, n_searches;
};

static bool has_word(const struct buf *b, struct str word) {
    struct str rest = buf_view(b), one;

    while (str_next(&rest, ' ', &one)) {
        if (str_eq(one, word)) {
            return true;
        }
    }
    return false;
}

static void add_word(struct buf *to, int *n, int max, struct str word) {
    if (word.n && *n < max && !has_word(to, word)) {
        buf_c(to, to->n ? " " : "");
        buf_str(to, word);
        ++*n;
    }
}

static void add_server(struct resolv *r, struct str ip) {
    add_word(&r->servers, &r->n_servers, POD_NAMESERVERS_MAX, ip);
}

static void add_search(struct resolv *r, struct str domain) {
    add_word(&r->searches, &r->n_searches, POD_SEARCHES_MAX, domain);
}

/* A later option of the same name takes the place of the earlier. */
static void add_option(struct resolv *r, struct str name, struct str value) {
    struct buf now;
    struct str rest = buf_view(&r->options), one;

    buf_init(&now, 4096);
    while (str_next(&rest, ' ', &one)) {
        struct str key = one, ignored;
        str_cut(one, ':', &key, &ignored);
        if (one.n && !str_eq(key, name)) {
            buf_f(&now, "%.*s ", STR_ARG(one));
        }
    }
    buf_f(&now, value.n ? "%.*s:%.*s" : "%.*s", STR_ARG(name), STR_ARG(value));
    buf_release(&r->options);
    r->options = now;
}

static void add_machine(struct resolv *r, struct str text, bool servers) {
    struct str line, word, rest, one;

    while (str_next(&text, '\n', &line)) {
        if (!str_cut(line, ' ', &word, &rest)) {
            continue;
        }
        if (servers && str_is(word, "nameserver")) {
            add_server(r, str_trim(rest));
        } else if (str_is(word, "search")) {
            while (str_next(&rest, ' ', &one)) {
                add_search(r, one);
            }
        }
    }
}

static void add_cluster(struct resolv *r, struct str ns, struct str server) {
    char domain[160];

    add_server(r, server);
    snprintf(domain, sizeof(domain), "%.*s.svc." ZONE, STR_ARG(ns));
    add_search(r, str_of(domain));
    add_search(r, STR("svc." ZONE));
    add_search(r, STR(ZONE));
    add_option(r, STR("ndots"), STR("5"));
}

static void add_config(struct resolv *r, yyjson_val *config) {
    yyjson_arr_iter it = yyjson_arr_iter_with(json_get(config, STR("nameservers")));

    for (yyjson_val *e; (e = yyjson_arr_iter_next(&it));) {
        add_server(r, json_str(e));
    }
    it = yyjson_arr_iter_with(json_get(config, STR("searches")));
    for (yyjson_val *e; (e = yyjson_arr_iter_next(&it));) {
        add_search(r, json_str(e));
    }
    it = yyjson_arr_iter_with(json_get(config, STR("options")));
    for (yyjson_val *e; (e = yyjson_arr_iter_next(&it));) {
        add_option(r, json_str_at(e, "name"), json_str_at(e, "value"));
    }
}

void pod_resolv_write(yyjson_val *pod, struct str server, struct str machine, struct buf *out) {
    struct str policy = json_str_at(pod, "spec.dnsPolicy");
    struct resolv r = {0};

    buf_init(&r.servers, 4096);
    buf_init(&r.searches, 16384);
    buf_init(&r.options, 4096);
    if (str_is(policy, "Default")) {
        add_machine(&r, machine, true);
    } else if (!str_is(policy, "None")) {
        add_cluster(&r, json_str_at(pod, "metadata.namespace"), server);
        add_machine(&r, machine, false);
    }
    add_config(&r, json_path(pod, "spec.dnsConfig"));
    if (r.searches.n) {
        buf_f(out, "search %.*s\n", STR_ARG(buf_view(&r.searches)));
    }
    struct str rest = buf_view(&r.servers), one;
    while (str_next(&rest, ' ', &one)) {
        buf_f(out, "nameserver %.*s\n", STR_ARG(one));
    }
    if (r.options.n) {
        buf_f(out, "options %.*s\n", STR_ARG(buf_view(&r.options)));
    }
    buf_release(&r.servers);
    buf_release(&r.searches);
    buf_release(&r.options);
}
