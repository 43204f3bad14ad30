/* pods_net: a pod and its network: attached before its files are written, detached when nothing of it runs. */
#include "node/net/network.h"
#include "node/pods/pods_private.h"

/* hostNetwork: the pod uses the machine's own network; admission has said whether it may. */
static bool is_of_host(const struct pod *p) {
    struct arena a;
    yyjson_doc *doc;

    arena_init(&a, 32 << 20);
    bool is = object_tree(p->obj, &a, &doc, NULL) == 0 &&
              json_bool_at(yyjson_doc_get_root(doc), "spec.hostNetwork", false);
    arena_release(&a);
    return is;
}

static void on_attached(void *ctx, int code, struct str ip, struct str netns,
                        const struct err *err) {
    struct pod *p = ctx;

    p->attaching = false;
    if (p->state != POD_PREPARING) { /* stopped meanwhile */
        network_detach(p->pods->o.network, str_of(p->uid), false);
    } else if (code == 0) {
        p->attached = true;
        str_copy(ip, p->ip, sizeof(p->ip));
        str_copy(netns, p->netns, sizeof(p->netns));
        pod_event(p, POD_EV_BEGIN);
    } else {
        pod_retry(p, "FailedCreatePodSandBox", err->text);
    }
    pod_answered(p);
}

bool pod_attach(struct pod *p) {
    struct pods *ps = p->pods;

    if (p->attached || ps->o.network == NULL || is_of_host(p)) {
        return true;
    }
    if (!p->attaching) {
        p->attaching = p->waiting_answer = true;
        network_attach(ps->o.network, str_of(p->uid), str_of(p->ns), on_attached, p);
    }
    return false;
}

void pod_detach(struct pod *p) {
    if (p->pods->o.network && !p->attaching) {
        network_detach(p->pods->o.network, str_of(p->uid), p->ended && !p->lost);
    }
    p->attached = false;
}

struct str pod_ip(const struct pod *p) {
    struct pods *ps = p->pods;
    struct str ip = ps->o.network ? network_ip(ps->o.network, str_of(p->uid)) : STR("");

    if (ip.n) {
        return ip;
    }
    if (p->ip[0]) {
        return str_of(p->ip);
    }
    return ps->o.network && p->state < POD_STARTING && !is_of_host(p) ? STR("")
                                                                      : ps->o.facts.pod_ip;
}

bool pods_has(const struct pods *ps, struct str uid) {
    const struct pod *p = map_get(&ps->by_uid, uid);

    return p && p->state != POD_OVER;
}

void pods_set_network(struct pods *ps, struct network *n) {
    ps->o.network = n;
}
