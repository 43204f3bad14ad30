/*
 * serve_ask: where a replica that waits stands in its queue and when it is expected to start, for the service's status.
 *
 * The explanation of its Workload is what anybody gets who asks the API for it (port/virtual.h). The answer may come
 * later; then the service is looked at again. One question a service at a time, and one in ASK_NS: the line moves
 * often, and each answer that differs is a write.
 */
#include "base/limits.h"
#include "base/mem.h"
#include "control/serve/serve_private.h"
#include "port/virtual.h"

#define GROUP "berth.dev"
#define RESOURCE "workloadexplanations"

enum { TEXT_MAX = 512, ANSWER_MAX = 16 << 20 };
static const int64_t ASK_NS = 10 * NS_PER_SEC;

struct serve_question {
    struct serve_controller *c;
    struct virtual_source *source; /* while it is pending */
    struct virtual_call *call;
    struct virtual_ask ask; /* of the names below */
    bool pending;
    int64_t asked_ns;
    unsigned sort;
    char uid[LIMIT_NAME + 1], ns[LIMIT_NAME + 1], name[LIMIT_NAME + 1], workload[LIMIT_NAME + 1];
    char text[TEXT_MAX];
};

/* ---- answers ---- */

/* "position 2, starts in 5m: 1 nvidia.com/mig-1g.18gb missing in flavor x" */
static void read_answer(struct str json, char text[static TEXT_MAX]) {
    struct arena a;
    yyjson_doc *d;
    arena_init(&a, ANSWER_MAX);
    text[0] = 0;
    if (json_parse(&a, json, &d, NULL) == 0) {
        yyjson_val *v = yyjson_doc_get_root(d);
        int64_t at = json_i64_at(v, "status.position.clusterQueue", 0);
        struct str starts = json_str_at(v, "status.estimate.text");
        struct str why = json_str_at(v, "status.summary");
        ptrdiff_t grounds = str_find(starts, '(');
        starts = grounds > 0 ? str_head(starts, (size_t)grounds - 1) : starts;
        if (at > 0) {
            snprintf(text, TEXT_MAX, "position %lld, starts %.*s: %.*s", (long long)at,
                     STR_ARG(starts.n ? starts : STR("unknown")), STR_ARG(str_head(why, 400)));
        }
    }
    arena_release(&a);
}

static void answered(void *ctx, int code, struct str json, const struct err *err) {
    struct serve_question *q = ctx;
    char text[TEXT_MAX] = "";
    q->pending = false;
    q->call = NULL;
    if (code == 0) {
        read_answer(json, text);
    }
    if (code == 0 && strcmp(text, q->text) != 0) {
        snprintf(q->text, sizeof q->text, "%s", text);
        workqueue_look(q->c->base.queue, (struct work_key){q->sort, str_of(q->ns), str_of(q->name)},
                       0);
    }
}

/* Who reads the service sees the names of its own namespace's work. */
static bool may(const struct virtual_ask *q, const char *verb, const char *group,
                const char *resource, struct str ns, struct str name) {
    return ns.n > 0 && str_eq(ns, q->ns);
}

/* ---- questions ---- */

static void ask(struct serve_question *q) {
    struct control_env *env = &q->c->base.env;
    struct virtual_source *s =
        env->virtuals ? virtual_find(env->virtuals, STR(GROUP), STR(RESOURCE), STR("")) : NULL;
    q->ask = (struct virtual_ask){
        .verb = "get",
        .kind = kind_by_name(STR(GROUP), STR("WorkloadExplanation")),
        .version = STR("v1alpha1"),
        .ns = str_of(q->ns),
        .name = str_of(q->workload),
        .user = STR("berth-serve-controller"),
        .may = may,
    };
    q->asked_ns = clock_wall(env->clock);
    if (s == NULL || q->ask.kind == NULL) {
        return;
    }
    q->source = s;
    q->pending = true;
    if (s->ask(s, &q->ask, answered, q, &q->call, NULL) != 0) {
        q->pending = false;
    }
}

static struct serve_question *question_new(struct serve_look *l, unsigned sort) {
    struct serve_question *q = mem_zalloc(sizeof *q);
    if (q == NULL) {
        return NULL;
    }
    q->c = l->c;
    q->sort = sort;
    snprintf(q->uid, sizeof q->uid, "%.*s", STR_ARG(l->obj->uid));
    snprintf(q->ns, sizeof q->ns, "%.*s", STR_ARG(l->obj->ns));
    snprintf(q->name, sizeof q->name, "%.*s", STR_ARG(l->obj->name));
    if (map_put(&l->c->questions, str_of(q->uid), q, NULL) != 0) {
        mem_free(q);
        return NULL;
    }
    return q;
}

static void drop(struct serve_question *q) {
    if (q->pending && q->call != NULL) {
        q->source->cancel(q->source, q->call);
    }
    mem_free(q);
}

void serve_ask_drop(struct serve_controller *c, struct str uid) {
    struct serve_question *q = map_del(&c->questions, uid);
    if (q != NULL) {
        drop(q);
    }
}

void serve_ask_release(struct serve_controller *c) {
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&c->questions, &i)) != NULL;) {
        drop(e->value);
    }
    map_release(&c->questions);
}

void serve_ask(struct serve_look *l) {
    struct serve_revision *v = &l->stable;
    unsigned sort = l->llm ? SERVE_LLMS : SERVE_SERVICES;
    struct serve_question *q = map_get(&l->c->questions, l->obj->uid);
    if (v->queued.n == 0 || v->workload == NULL || l->c->base.env.virtuals == NULL) {
        serve_ask_drop(l->c, l->obj->uid);
        return;
    }
    q = q ? q : question_new(l, sort);
    if (q == NULL) {
        return; /* the status then has the message of the Workload's condition */
    }
    if (!q->pending && !str_is(v->workload->name, q->workload)) {
        snprintf(q->workload, sizeof q->workload, "%.*s", STR_ARG(v->workload->name));
        q->text[0] = 0;
        q->asked_ns = 0;
    }
    if (!q->pending && clock_wall(l->c->base.env.clock) - q->asked_ns >= ASK_NS) {
        ask(q);
    }
    if (q->text[0] != 0 && str_is(v->workload->name, q->workload)) {
        v->queued = arena_f(l->a, "%.*s: %s", STR_ARG(v->queue), q->text);
    }
    workqueue_look(l->c->base.queue, (struct work_key){sort, l->obj->ns, l->obj->name}, ASK_NS);
}
