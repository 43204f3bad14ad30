/* policy: see policy.h. */
#include "node/net/policy.h"

#include "base/map.h"

enum { RECORD_BYTES = 16 << 20 };

struct policy_parsed {
    const struct policy_text *text;
    struct selector pods;
    bool in, out;
};

struct policy_work {
    const struct policy_in *in;
    struct policy_parsed *v;
    struct map walls; /* keys of walls that were told */
    struct buf out;
    bool failed;
};

/* ---- whom a rule lets through ---- */

static const struct str_map *labels_of_space(const struct policy_work *w, struct str ns) {
    for (size_t i = 0; i < w->in->n_spaces; i++) {
        if (str_eq(w->in->spaces[i].name, ns)) {
            return w->in->spaces[i].labels;
        }
    }
    return NULL;
}

/* "10.42.0.2","10.42.0.3" of the pods that the peer means. */
static void add_pods(struct policy_work *w, const struct policy_text *p, yyjson_val *peer) {
    struct arena *a = w->in->arena;
    yyjson_val *ns = json_get(peer, STR("namespaceSelector")),
               *pods = json_get(peer, STR("podSelector"));
    struct selector spaces = {0}, labels = {0};
    bool first = true;

    if ((ns && selector_from_json(a, ns, &spaces, NULL)) ||
        (pods && selector_from_json(a, pods, &labels, NULL))) {
        return; /* one that cannot be read means nobody */
    }
    for (size_t i = 0; i < w->in->n_pods; i++) {
        const struct policy_pod *x = &w->in->pods[i];
        const struct str_map none = {0}, *of_space = ns ? labels_of_space(w, x->ns) : NULL;
        bool there =
            ns ? selector_matches(&spaces, of_space ? of_space : &none) : str_eq(x->ns, p->ns);
        if (there && selector_matches(&labels, x->labels)) {
            buf_f(&w->out, "%s\"%.*s\"", first ? "" : ",", STR_ARG(x->ip));
            first = false;
        }
    }
}

static void add_ports(struct policy_work *w, yyjson_val *ports) {
    yyjson_arr_iter it = yyjson_arr_iter_with(ports);
    bool first = true;

    if (yyjson_arr_size(ports) == 0) {
        return;
    }
    buf_c(&w->out, ",\"ports\":[");
    for (yyjson_val *p; (p = yyjson_arr_iter_next(&it)); first = false) {
        struct str protocol = json_str_at(p, "protocol");
        int64_t from = json_i64_at(p, "port", 0), to = json_i64_at(p, "endPort", from);
        const char *name = str_is(protocol, "UDP")    ? "udp"
                           : str_is(protocol, "SCTP") ? "sctp"
                                                      : "tcp";
        buf_f(&w->out, "%s\"%s/", first ? "" : ",", name);
        if (from == 0) {
            buf_c(&w->out, "*\"");
        } else {
            buf_f(&w->out, "%lld-%lld\"", (long long)from, (long long)to);
        }
    }
    buf_ch(&w->out, ']');
}

static void add_list(struct policy_work *w, const char *name, yyjson_val *list) {
    yyjson_arr_iter it = yyjson_arr_iter_with(list);
    bool first = true;

    buf_f(&w->out, ",\"%s\":[", name);
    for (yyjson_val *e; (e = yyjson_arr_iter_next(&it)); first = false) {
        buf_c(&w->out, first ? "" : ",");
        buf_json(&w->out, json_str(e));
    }
    buf_ch(&w->out, ']');
}

/* One rule a peer: addresses of pods and networks are kept apart, since nft takes no overlap. */
static void add_rule(struct policy_work *w, const struct policy_text *p, yyjson_val *rule,
                     const char *peers, bool *first) {
    yyjson_val *list = json_get(rule, str_of(peers)), *ports = json_get(rule, STR("ports"));
    yyjson_arr_iter it = yyjson_arr_iter_with(list);

    if (yyjson_arr_size(list) == 0) {
        buf_c(&w->out, *first ? "{\"all\":true" : ",{\"all\":true");
        add_ports(w, ports);
        buf_ch(&w->out, '}');
        *first = false;
        return;
    }
    for (yyjson_val *e; (e = yyjson_arr_iter_next(&it)); *first = false) {
        yyjson_val *block = json_get(e, STR("ipBlock"));
        buf_c(&w->out, *first ? "{\"cidr\":[" : ",{\"cidr\":[");
        if (block) {
            buf_json(&w->out, json_str_at(block, "cidr"));
        } else {
            add_pods(w, p, e);
        }
        buf_ch(&w->out, ']');
        if (block && yyjson_arr_size(json_get(block, STR("except")))) {
            add_list(w, "not", json_get(block, STR("except")));
        }
        add_ports(w, ports);
        buf_ch(&w->out, '}');
    }
}

static void add_rules(struct policy_work *w, const struct policy_text *p, bool in, bool *first) {
    yyjson_val *list = json_get(p->spec, in ? STR("ingress") : STR("egress"));
    yyjson_arr_iter it = yyjson_arr_iter_with(list);

    for (yyjson_val *r; (r = yyjson_arr_iter_next(&it));) {
        add_rule(w, p, r, in ? "from" : "to", first);
    }
}

/* Addresses outside are let through in some way: then outside names are looked up, too. */
static bool lets_out(const struct policy_text *p) {
    yyjson_arr_iter it = yyjson_arr_iter_with(json_get(p->spec, STR("egress")));

    for (yyjson_val *r; (r = yyjson_arr_iter_next(&it));) {
        yyjson_val *to = json_get(r, STR("to"));
        yyjson_arr_iter peers = yyjson_arr_iter_with(to);
        if (yyjson_arr_size(to) == 0) {
            return true;
        }
        for (yyjson_val *e; (e = yyjson_arr_iter_next(&peers));) {
            if (json_get(e, STR("ipBlock"))) {
                return true;
            }
        }
    }
    return false;
}

/* ---- walls ---- */

static bool applies(const struct policy_parsed *x, const struct policy_pod *pod, bool in) {
    return (in ? x->in : x->out) && str_eq(x->text->ns, pod->ns) &&
           selector_matches(&x->pods, pod->labels);
}

/* The wall of a pod in one direction, told when it is new; empty: it is open. */
static struct str wall_of(struct policy_work *w, const struct policy_pod *pod, bool in,
                          bool *ret_out) {
    struct arena *a = w->in->arena;
    uint64_t h = 14695981039346656037ull;
    size_t n = 0;

    *ret_out = false;
    for (size_t i = 0; i < w->in->n_policies; i++) {
        const struct policy_parsed *x = &w->v[i];
        if (applies(x, pod, in)) {
            struct str name = x->text->name;
            for (size_t k = 0; k < name.n; k++) {
                h = (h ^ (unsigned char)name.p[k]) * 1099511628211ull;
            }
            h = (h ^ '/') * 1099511628211ull;
            *ret_out |= lets_out(x->text);
            n++;
        }
    }
    for (size_t k = 0; n && k < pod->ns.n; k++) {
        h = (h ^ (unsigned char)pod->ns.p[k]) * 1099511628211ull;
    }
    struct str key =
        n ? arena_f(a, "wall/%c%016llx", in ? 'i' : 'o', (unsigned long long)h) : STR("");
    if (n == 0 || map_get(&w->walls, key)) {
        return n ? str_skip(key, 5) : key;
    }
    bool first = true;
    buf_reset(&w->out);
    buf_f(&w->out, "{\"op\":\"put\",\"key\":\"%.*s\",\"rules\":[", STR_ARG(key));
    for (size_t i = 0; i < w->in->n_policies; i++) {
        if (applies(&w->v[i], pod, in)) {
            add_rules(w, w->v[i].text, in, &first);
        }
    }
    buf_c(&w->out, "]}");
    w->failed |= buf_ok(&w->out) != 0 || map_put(&w->walls, key, w, NULL) != 0;
    w->in->put(w->in->ctx, key, buf_view(&w->out));
    return str_skip(key, 5);
}

static bool parse(struct policy_work *w) {
    struct arena *a = w->in->arena;

    w->v = ARENA_ARRAY(a, struct policy_parsed, w->in->n_policies + 1);
    for (size_t i = 0; w->v && i < w->in->n_policies; i++) {
        const struct policy_text *t = &w->in->policies[i];
        yyjson_arr_iter it = yyjson_arr_iter_with(json_get(t->spec, STR("policyTypes")));
        yyjson_val *pods = json_get(t->spec, STR("podSelector"));
        struct policy_parsed *x = &w->v[i];
        x->text = t;
        for (yyjson_val *e; (e = yyjson_arr_iter_next(&it));) {
            x->in |= str_is(json_str(e), "Ingress");
            x->out |= str_is(json_str(e), "Egress");
        }
        if (pods && selector_from_json(a, pods, &x->pods, NULL) == ERR_NOMEM) {
            return false;
        }
    }
    return w->v != NULL;
}

int policy_records(const struct policy_in *in) {
    struct policy_work w = {.in = in};
    bool ignored, out;

    if (in->n_policies == 0) {
        return 0;
    }
    buf_init(&w.out, RECORD_BYTES);
    w.failed = !parse(&w);
    for (size_t i = 0; !w.failed && i < in->n_pods; i++) {
        const struct policy_pod *p = &in->pods[i];
        struct str enter = wall_of(&w, p, true, &ignored), leave = wall_of(&w, p, false, &out);
        if (enter.n == 0 && leave.n == 0) {
            continue;
        }
        struct str key = arena_f(in->arena, "pod/%.*s", STR_ARG(p->ip));
        buf_reset(&w.out);
        buf_f(&w.out,
              "{\"op\":\"put\",\"key\":\"%.*s\",\"in\":\"%.*s\",\"out\":\"%.*s\",\"closed\":%s}",
              STR_ARG(key), STR_ARG(enter), STR_ARG(leave), leave.n && !out ? "true" : "false");
        in->put(in->ctx, key, buf_view(&w.out));
    }
    map_release(&w.walls);
    buf_release(&w.out);
    return w.failed || arena_ok(in->arena) ? ERR_NOMEM : 0;
}
