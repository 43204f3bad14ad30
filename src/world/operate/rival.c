/* rival: see rival.h. */
#include "world/operate/rival.h"

#include "base/mem.h"
#include "wire/json/json.h"
#include "wire/text/time.h"

#define DEPLOYMENT "kueue-controller-manager"
#define LEASE "c1f6bfd2.kueue.x-k8s.io"
#define SERVICE "kueue-webhook-service"
enum { LOOK_MS = 60000, AGAIN_MS = 1000, FRESH_S = 60, TREE_MAX = 32 << 20 };

enum sign { DEPLOYED, LEASED, MUTATES, VALIDATES, SIGNS };

static const char *const paths[SIGNS] = {
    [DEPLOYED] = "/apis/apps/v1/deployments?fieldSelector=metadata.name%3D" DEPLOYMENT,
    [LEASED] = "/apis/coordination.k8s.io/v1/leases?fieldSelector=metadata.name%3D" LEASE,
    [MUTATES] = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    [VALIDATES] = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
};

struct question {
    struct rival *rival;
    enum sign sign;
    struct kube_call *call;
};

struct rival {
    struct loop *loop;
    struct kube_client *client;
    void (*changed)(void *ctx);
    void *ctx;
    struct timer *timer;
    struct question questions[SIGNS];
    size_t open;
    bool seen[SIGNS], asleep; /* asleep: the Deployment is there and wants nothing */
    bool failed, known;
    struct buf signs, now;
};

/* ---- what an answer says ---- */

static bool wants_replicas(struct rival *r, yyjson_val *deployment) {
    int64_t n = json_i64_at(deployment, "spec.replicas", 1);
    r->asleep = n == 0;
    return n > 0;
}

/* Clocks of two machines are compared here: it only decides what is said and left alone, a minute apart. */
static bool is_fresh(struct rival *r, yyjson_val *lease) {
    int64_t renewed, now = clock_wall(loop_clock(r->loop));
    int64_t s = json_i64_at(lease, "spec.leaseDurationSeconds", 15) + FRESH_S;
    struct str holder = json_str_at(lease, "spec.holderIdentity");
    struct str text = json_str_at(lease, "spec.renewTime");
    return holder.n && time_parse(text, &renewed, NULL) == 0 && renewed > now - s * NS_PER_SEC;
}

static bool is_kueues(yyjson_val *configuration) {
    size_t i, n;
    yyjson_val *hook;
    yyjson_arr_foreach(json_get(configuration, STR("webhooks")), i, n, hook) {
        if (str_is(json_str_at(hook, "clientConfig.service.name"), SERVICE)) {
            return true;
        }
    }
    return false;
}

static bool shows(struct rival *r, enum sign sign, yyjson_val *item) {
    return sign == DEPLOYED ? wants_replicas(r, item)
           : sign == LEASED ? is_fresh(r, item)
                            : is_kueues(item);
}

/* ---- adding it up ---- */

static void conclude(struct rival *r) {
    static const char *const names[SIGNS] = {
        [DEPLOYED] = "Deployment " DEPLOYMENT,
        [LEASED] = "Lease " LEASE,
        [MUTATES] = "its MutatingWebhookConfiguration",
        [VALIDATES] = "its ValidatingWebhookConfiguration",
    };
    buf_reset(&r->now);
    for (size_t i = 0; i < SIGNS; i++) {
        bool counts = i == DEPLOYED || i == LEASED || !r->asleep;
        if (r->seen[i] && counts) {
            buf_f(&r->now, "%s%s", r->now.n ? ", " : "", names[i]);
        }
    }
    bool news = !r->known || (r->now.n == 0) != (r->signs.n == 0);
    buf_reset(&r->signs);
    buf_str(&r->signs, buf_view(&r->now));
    r->known = true;
    if (news) {
        r->changed(r->ctx);
    }
}

static void answered(void *ctx, const struct kube_reply *reply) {
    struct question *q = ctx;
    struct rival *r = q->rival;
    struct arena a;
    yyjson_doc *doc = NULL;
    q->call = NULL;
    arena_init(&a, TREE_MAX);
    r->seen[q->sign] = false;
    if (reply->code == 0 && json_parse(&a, reply->body, &doc, NULL) == 0) {
        size_t i, n;
        yyjson_val *item;
        yyjson_arr_foreach(json_get(yyjson_doc_get_root(doc), STR("items")), i, n, item) {
            r->seen[q->sign] = shows(r, q->sign, item) || r->seen[q->sign];
        }
    }
    arena_release(&a);
    r->failed = r->failed || (reply->code != 0 &&
                              (reply->status == 0 || reply->status >= 500 || reply->status == 429));
    if (--r->open == 0) {
        struct clock *c = loop_clock(r->loop);
        c->timer_start(r->timer, (r->failed ? AGAIN_MS : LOOK_MS) * NS_PER_MS);
        if (!r->failed) {
            conclude(r);
        }
    }
}

static void look(void *ctx) {
    struct rival *r = ctx;
    r->failed = r->asleep = false;
    r->open = SIGNS;
    for (size_t i = 0; i < SIGNS; i++) {
        struct question *q = &r->questions[i];
        struct kube_request k = {
            .method = "GET", .path = str_of(paths[i]), .done = answered, .ctx = q};
        struct kube_reply failed = {0};
        *q = (struct question){r, (enum sign)i, NULL};
        failed.code = kube_send(r->client, &k, &q->call, &failed.err);
        if (failed.code != 0) {
            answered(q, &failed);
        }
    }
}

struct rival *rival_new(struct loop *l, struct kube_client *c, void (*changed)(void *ctx),
                        void *ctx, struct err *err) {
    struct rival *r = mem_zalloc(sizeof *r);
    if (r) {
        *r = (struct rival){.loop = l, .client = c, .changed = changed, .ctx = ctx};
        buf_init(&r->signs, 1024);
        buf_init(&r->now, 1024);
        r->timer = loop_clock(l)->timer_new(loop_clock(l), look, r);
    }
    if (r == NULL || r->timer == NULL) {
        rival_free(r);
        err_set(err, ERR_NOMEM, "no memory");
        return NULL;
    }
    loop_clock(l)->timer_start(r->timer, 0);
    return r;
}

void rival_free(struct rival *r) {
    if (r == NULL) {
        return;
    }
    for (size_t i = 0; i < SIGNS; i++) {
        kube_cancel(r->questions[i].call);
    }
    loop_clock(r->loop)->timer_free(r->timer);
    buf_release(&r->signs);
    buf_release(&r->now);
    mem_free(r);
}

bool rival_known(const struct rival *r) {
    return r->known;
}

struct str rival_signs(const struct rival *r) {
    return buf_view(&r->signs);
}
