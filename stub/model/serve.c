/* serve: the paths of vLLM's server, and /stub/ for tests. */
#include "server.h"

void answer_error(struct http_request *r, int status, const char *type, const char *param,
                  const char *text) {
    struct buf b;

    buf_init(&b, 1 << 16);
    buf_c(&b, "{\"error\":{\"message\":");
    buf_json(&b, str_of(text));
    buf_f(&b, ",\"type\":\"%s\",\"param\":", type);
    if (param) {
        buf_json(&b, str_of(param));
    } else {
        buf_c(&b, "null");
    }
    buf_f(&b, ",\"code\":%d}}", status);
    http_respond(r, status, "application/json", buf_view(&b));
    buf_release(&b);
}

bool serve_model(const struct server *s, struct str name) {
    bool is = str_is(name, s->o.name);

    for (size_t i = 0; i < s->n_adapters && !is; i++) {
        is = str_is(name, s->adapters[i]);
    }
    return is;
}

static bool loading(const struct server *s) {
    return clock_mono(s->clock) < s->began + s->o.load_ms * NS_PER_MS;
}

/* ---- what is no request of a model ---- */

static void health(struct server *s, struct http_request *r) {
    http_respond(r, loading(s) ? 503 : 200, "text/plain", STR(""));
}

static void version(struct server *s, struct http_request *r) {
    http_respond(r, 200, "application/json", STR("{\"version\":\"0.0.0-stub\"}"));
}

static void one_model(const struct server *s, struct buf *b, const char *id, const char *parent) {
    buf_c(b, "{\"id\":");
    buf_json(b, str_of(id));
    buf_f(b, ",\"object\":\"model\",\"created\":%lld,\"owned_by\":\"stub\",\"root\":",
          (long long)(clock_wall(s->clock) / NS_PER_SEC));
    buf_json(b, str_of(s->o.model));
    buf_c(b, ",\"parent\":");
    if (parent) {
        buf_json(b, str_of(parent));
    } else {
        buf_c(b, "null");
    }
    buf_f(b, ",\"max_model_len\":%lld}", (long long)s->o.max_len);
}

static void models(struct server *s, struct http_request *r) {
    struct buf b;

    if (loading(s)) {
        answer_error(r, 503, "ServiceUnavailable", NULL, "The model is being loaded.");
        return;
    }
    buf_init(&b, 1 << 20);
    buf_c(&b, "{\"object\":\"list\",\"data\":[");
    one_model(s, &b, s->o.name, NULL);
    for (size_t i = 0; i < s->n_adapters; i++) {
        buf_ch(&b, ',');
        one_model(s, &b, s->adapters[i], s->o.name);
    }
    buf_c(&b, "]}");
    http_respond(r, 200, "application/json", buf_view(&b));
    buf_release(&b);
}

static void load_adapter(struct server *s, struct http_request *r) {
    yyjson_doc *doc;
    struct err err;

    int code = json_parse(http_arena(r), http_body(r), &doc, &err);
    struct str name = code ? STR("") : json_str_at(yyjson_doc_get_root(doc), "lora_name");
    if (name.n == 0 || s->n_adapters == ADAPTERS_MAX ||
        !str_copy(name, s->adapters[s->n_adapters], sizeof(s->adapters[0]))) {
        answer_error(r, 400, "BadRequestError", "lora_name",
                     "lora_name: must be a name of at most 127 bytes, and at most 16 are loaded");
        return;
    }
    s->n_adapters++;
    http_respond(r, 200, "text/plain", STR("Success: LoRA adapter added successfully."));
}

static void last(struct server *s, struct http_request *r) {
    http_respond(r, 200, "application/json", s->last.n ? buf_view(&s->last) : STR("{}"));
}

/* ---- requests of a model ---- */

static void answer_fault(struct http_request *r, const struct fault *f) {
    if (f->status == 429 || f->status == 503) {
        http_add_header(r, "Retry-After", STR("1"));
    }
    answer_error(r, (int)f->status, f->status < 500 ? "RateLimitError" : "InternalServerError",
                 NULL, "A fault that was asked for.");
}

static void infer(struct server *s, struct http_request *r, enum ask_kind kind) {
    struct fault f = faults_take(s, http_path(r));
    struct ask a;

    last_keep(s, r);
    s->requests++;
    if (f.kind == FAULT_STATUS) {
        answer_fault(r, &f);
    } else if (f.kind == FAULT_LOADING || loading(s)) {
        answer_error(r, 503, "ServiceUnavailable", NULL, "The model is being loaded.");
    } else if (ask_read(s, r, kind, &a) == 0) {
        call_begin(s, r, &a, &f);
    }
}

static void chat(struct server *s, struct http_request *r) {
    infer(s, r, ASK_CHAT);
}

static void completions(struct server *s, struct http_request *r) {
    infer(s, r, ASK_COMPLETION);
}

static void embeddings(struct server *s, struct http_request *r) {
    infer(s, r, ASK_EMBEDDING);
}

static const struct route {
    const char *method, *path;
    void (*serve)(struct server *s, struct http_request *r);
} routes[] = {
    {"GET", "/health", health},
    {"GET", "/ping", health},
    {"GET", "/version", version},
    {"GET", "/metrics", metrics_serve},
    {"GET", "/v1/models", models},
    {"POST", "/v1/chat/completions", chat},
    {"POST", "/v1/completions", completions},
    {"POST", "/v1/embeddings", embeddings},
    {"POST", "/v1/load_lora_adapter", load_adapter},
    {"POST", "/stub/faults", faults_serve},
    {"DELETE", "/stub/faults", faults_serve},
    {"GET", "/stub/state", state_serve},
    {"GET", "/stub/last", last},
};

void serve_request(void *ctx, struct http_request *r) {
    struct server *s = ctx;
    bool known = false;

    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
        bool here = str_is(http_path(r), routes[i].path);
        known |= here;
        if (here && str_is(http_method(r), routes[i].method)) {
            routes[i].serve(s, r);
            return;
        }
    }
    answer_error(r, known ? 405 : 404, known ? "MethodNotAllowed" : "NotFoundError", NULL,
                 known ? "Method Not Allowed" : "Not Found");
}

int serve_listen(struct server *s, struct err *err) {
    const struct http_server_options o = {.host = str_of(s->o.host),
                                          .port = s->o.port,
                                          .allow_any = true,
                                          .body_max = 64 << 20,
                                          .connections_max = 20000,
                                          .handler = serve_request,
                                          .ctx = s};
    int code = http_server_start(s->loop, &o, &s->http, err);

    if (code == 0) {
        s->o.port = http_server_port(s->http);
    }
    return code;
}
