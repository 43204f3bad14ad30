/* own: what the gateway answers itself: the list of models, its health, and its observer's pages. */
#include "base/arena.h"
#include "gateway/gateway_private.h"

static void respond(struct gateway_exchange *x, int status, const char *type, struct str body) {
    http_respond(x->request, status, type, body);
    exchange_over(x, GATEWAY_END_WELL, status);
}

static void add_model(struct buf *b, const struct routes_model *m, struct str name) {
    buf_c(b, "{\"id\":");
    buf_json(b, name);
    buf_f(b, ",\"object\":\"model\",\"created\":%lld,\"owned_by\":", (long long)m->created_s);
    buf_json(b, m->project.n ? m->project : STR("berth"));
    buf_ch(b, '}');
}

/* A name that means this model to the caller: bare, unless another project's is meant by that. */
static void add_named(struct gateway_exchange *x, struct buf *b, size_t place,
                      const struct routes_alias *alias, bool *first) {
    const struct routes_model *m = routes_at(x->routes, place);
    struct str name = alias ? alias->name : m->name;
    struct routes_found f;
    if (x->key && !gateway_key_may(x->key, m, alias)) {
        return;
    }
    if (gateway_key_find(x->routes, x->key, name, &f) != ROUTES_FOUND || f.place != place) {
        name = arena_f(http_arena(x->request), "%.*s/%.*s", STR_ARG(m->project), STR_ARG(name));
    }
    buf_c(b, *first ? "" : ",");
    *first = false;
    add_model(b, m, name);
}

static void list_models(struct gateway_exchange *x) {
    struct buf b;
    bool first = true;
    buf_init(&b, 0);
    buf_c(&b, "{\"object\":\"list\",\"data\":[");
    for (size_t i = 0; i < routes_count(x->routes); i++) {
        const struct routes_model *m = routes_at(x->routes, i);
        add_named(x, &b, i, NULL, &first);
        for (size_t k = 0; k < m->n_aliases; k++) {
            add_named(x, &b, i, &m->aliases[k], &first);
        }
    }
    buf_c(&b, "]}");
    respond(x, 200, "application/json", buf_view(&b));
    buf_release(&b);
}

static void one_model(struct gateway_exchange *x) {
    struct routes_found f;
    struct str name = x->path.model;
    if (gateway_key_find(x->routes, x->key, name, &f) != ROUTES_FOUND ||
        (x->key && !gateway_key_may(x->key, f.model, f.alias))) {
        refusal_answer(x, &(struct refusal){404, "model_not_found", .end = GATEWAY_END_REFUSED},
                       "there is no model %.*s, or the key may not use it", STR_ARG(name));
        return;
    }
    struct buf b;
    buf_init(&b, 0);
    add_model(&b, f.model, name);
    respond(x, 200, "application/json", buf_view(&b));
    buf_release(&b);
}

void own_answer(struct gateway_exchange *x) {
    if (x->path.rule->where == PATHS_LIST) {
        list_models(x);
    } else {
        one_model(x);
    }
}

void own_page(struct gateway_exchange *x) {
    struct gateway_worker *w = x->worker;
    struct gateway_observer *o = w->gateway->o.observer;
    struct str path = str_of(x->path.rule->path);
    if (str_is(path, "/healthz")) {
        respond(x, 200, "text/plain", STR("ok\n"));
    } else if (str_is(path, "/readyz")) {
        bool ready = w->routes && !w->stopping;
        respond(x, ready ? 200 : 503, "text/plain",
                ready         ? STR("ok\n")
                : w->stopping ? STR("stopping\n")
                              : STR("no routes yet\n"));
    } else {
        struct buf b;
        const char *type = "text/plain";
        buf_init(&b, 0);
        if (o && o->page && o->page(o, path, &b, &type)) {
            respond(x, 200, type, buf_view(&b));
        } else {
            refusal_answer(x, &(struct refusal){404, "not_found", .end = GATEWAY_END_REFUSED},
                           "there is no page %.*s", STR_ARG(path));
        }
        buf_release(&b);
    }
}
