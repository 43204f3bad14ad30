/*
 * podlog: GET pods/NAME/log. The bytes come from a struct log_source; here are the options, the choice of a container
 * with kubectl's error texts, and the stream with back-pressure.
 */
#include "base/limits.h"
#include "port/log_source.h"
#include "server/kit/handlers.h"
#include "wire/json/json.h"
#include "wire/text/time.h"

enum { HIGH_WATER = 1 << 20 };

struct podlog {
    struct call *call;
    struct log_reader *reader;
    bool paused, ended;
};

/* ---- options ---- */

static int bad_option(struct call *c, const char *name, struct str value, const char *expected) {
    return failure_invalid_one(&c->failure, c->arena, "", "PodLogOptions", STR(""), CAUSE_INVALID,
                               name, "Invalid value: \"%.*s\": %s", STR_ARG(str_head(value, 64)),
                               expected);
}

static int read_number(struct call *c, const char *name, int64_t min, int64_t *ret) {
    struct str value = request_query(&c->req, name);
    int64_t v;
    if (value.n == 0) {
        return 0;
    }
    if (!str_to_i64(value, &v) || v < min) {
        return bad_option(c, name, value,
                          min > 0 ? "must be greater than 0" : "must be a number of at least 0");
    }
    *ret = v;
    return 0;
}

static int read_flag(struct call *c, const char *name, bool *ret) {
    struct str value = request_query(&c->req, name);
    if (value.n > 0 && !request_bool(value, ret)) {
        return bad_option(c, name, value, "must be true or false");
    }
    return 0;
}

static int read_since(struct call *c, struct log_options *o) {
    struct str at = request_query(&c->req, "sinceTime");
    int64_t seconds = 0;
    int r = read_number(c, "sinceSeconds", 1, &seconds);
    if (r != 0 || (seconds == 0 && at.n == 0)) {
        return r;
    }
    if (seconds > 0 && at.n > 0) {
        return bad_option(c, "sinceTime", at,
                          "at most one of sinceTime or sinceSeconds may be specified");
    }
    if (at.n > 0) {
        return time_parse(at, &o->since_ns, NULL) == 0
                   ? 0
                   : bad_option(c, "sinceTime", at, "must be an RFC 3339 time");
    }
    int64_t now = server_now(c->s);
    o->since_ns = seconds > now / NS_PER_SEC ? 0 : now - seconds * NS_PER_SEC;
    return 0;
}

static int read_options(struct call *c, struct log_options *o) {
    struct str stream = request_query(&c->req, "stream");
    *o = (struct log_options){.tail_lines = -1, .limit_bytes = -1};
    o->container = request_query(&c->req, "container");
    int r = read_flag(c, "follow", &o->follow);
    r = r ? r : read_flag(c, "previous", &o->previous);
    r = r ? r : read_flag(c, "timestamps", &o->timestamps);
    r = r ? r : read_number(c, "tailLines", 0, &o->tail_lines);
    r = r ? r : read_number(c, "limitBytes", 1, &o->limit_bytes);
    r = r ? r : read_since(c, o);
    o->stdout_only = str_eq(stream, STR("Stdout"));
    o->stderr_only = str_eq(stream, STR("Stderr"));
    if (r == 0 && stream.n > 0 && !o->stdout_only && !o->stderr_only &&
        !str_eq(stream, STR("All"))) {
        return bad_option(c, "stream", stream, "supported values: \"All\", \"Stdout\", \"Stderr\"");
    }
    return r;
}

/* ---- the container ---- */

static bool has_container(yyjson_val *list, struct str name) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach(list, i, n, v) {
        if (str_eq(json_str_at(v, "name"), name)) {
            return true;
        }
    }
    return false;
}

static void list_names(struct buf *b, yyjson_val *list) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach(list, i, n, v) {
        buf_ch(b, i ? ' ' : '[');
        buf_str(b, json_str_at(v, "name"));
    }
    buf_ch(b, ']');
}

/* The container asked for, or the only one. */
static int choose(struct call *c, yyjson_val *pod, struct log_options *o) {
    yyjson_val *main = json_path(pod, "spec.containers"),
               *init = json_path(pod, "spec.initContainers");
    struct str name = c->req.name;
    if (o->container.n == 0 && yyjson_arr_size(main) == 1) {
        o->container = json_str_at(yyjson_arr_get_first(main), "name");
        return 0;
    }
    if (o->container.n == 0) {
        struct buf b;
        buf_init(&b, LIMIT_OBJECT_BYTES);
        list_names(&b, main);
        int r = failure_set(&c->failure, c->arena, ERR_BAD_REQUEST,
                            "a container name must be specified for pod %.*s, choose one of: %.*s",
                            STR_ARG(name), STR_ARG(buf_view(&b)));
        buf_release(&b);
        return r;
    }
    if (!has_container(main, o->container) && !has_container(init, o->container) &&
        !has_container(json_path(pod, "spec.ephemeralContainers"), o->container)) {
        return failure_set(&c->failure, c->arena, ERR_BAD_REQUEST,
                           "container %.*s is not valid for pod %.*s", STR_ARG(o->container),
                           STR_ARG(name));
    }
    return 0;
}

static yyjson_val *status_of(yyjson_val *pod, const char *list, struct str name) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach(json_path(pod, list), i, n, v) {
        if (str_eq(json_str_at(v, "name"), name)) {
            return v;
        }
    }
    return NULL;
}

/* Why there is no log: the container waits, or never ran before. */
static int explain_missing(struct call *c, yyjson_val *pod, const struct log_options *o) {
    yyjson_val *st = status_of(pod, "status.containerStatuses", o->container);
    st = st ? st : status_of(pod, "status.initContainerStatuses", o->container);
    st = st ? st : status_of(pod, "status.ephemeralContainerStatuses", o->container);
    struct str reason = json_str_at(st, "state.waiting.reason");
    if (o->previous) {
        return failure_set(&c->failure, c->arena, ERR_BAD_REQUEST,
                           "previous terminated container \"%.*s\" in pod \"%.*s\" not found",
                           STR_ARG(o->container), STR_ARG(c->req.name));
    }
    if (json_str_at(pod, "spec.nodeName").n == 0) {
        return failure_set(&c->failure, c->arena, ERR_BAD_REQUEST,
                           "pod %.*s does not have a host assigned", STR_ARG(c->req.name));
    }
    return failure_set(&c->failure, c->arena, ERR_BAD_REQUEST,
                       "container \"%.*s\" in pod \"%.*s\" is waiting to start: %.*s",
                       STR_ARG(o->container), STR_ARG(c->req.name),
                       STR_ARG(reason.n ? reason : STR("ContainerCreating")));
}

/* ---- the stream ---- */

static void finish(struct podlog *p) {
    if (p->ended) {
        return;
    }
    p->ended = true;
    p->call->detach = NULL;
    p->call->s->o.logs->close(p->reader);
    call_stream_end(p->call);
}

static bool data(void *ctx, struct str bytes) {
    struct podlog *p = ctx;
    if (http_stream_write(p->call->http, bytes) != 0) {
        return false; /* the connection is being cut; detach follows */
    }
    p->paused = http_stream_waiting(p->call->http) > HIGH_WATER;
    return !p->paused;
}

static void drained(void *user) {
    struct call *c = user;
    struct podlog *p = c->detach != NULL ? c->detach_ctx : NULL;
    if (p != NULL && p->paused) {
        p->paused = false;
        c->s->o.logs->resume(p->reader);
    }
}

static void ended(void *ctx, const struct err *err) {
    finish(ctx);
}

static void gone(struct call *c, void *ctx) {
    struct podlog *p = ctx;
    p->ended = true;
    c->s->o.logs->close(p->reader);
    c->s->long_running--;
}

static int open_log(struct call *c, const struct object *pod, const struct log_options *o) {
    struct podlog *p = ARENA_NEW(c->arena, struct podlog);
    struct log_source *logs = c->s->o.logs;
    struct err err = {0};
    if (p == NULL) {
        return failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory");
    }
    p->call = c;
    int r = logs->open(logs, pod, o, data, ended, p, &p->reader, &err);
    if (r != 0) {
        return r == ERR_NOT_FOUND ? r : failure_err(&c->failure, c->arena, &err);
    }
    c->detach = gone;
    c->detach_ctx = p;
    call_stream(c, "text/plain");
    http_stream_on_drain(c->http, drained);
    return 0;
}

static int run(struct call *c) {
    const struct object *pod = mirror_get(c->s->o.mirror, c->req.kind, c->req.ns, c->req.name);
    struct log_options o;
    struct err err = {0};
    yyjson_doc *doc;
    if (pod == NULL) {
        return failure_not_found(&c->failure, c->arena, c->req.kind, c->req.name);
    }
    if (c->s->o.logs == NULL) {
        return failure_set(&c->failure, c->arena, ERR_UNAVAILABLE, "this server has no pod logs");
    }
    if (object_tree(pod, c->arena, &doc, &err) != 0) {
        return failure_err(&c->failure, c->arena, &err);
    }
    int r = read_options(c, &o);
    r = r ? r : choose(c, yyjson_doc_get_root(doc), &o);
    r = r ? r : open_log(c, pod, &o);
    return r == ERR_NOT_FOUND ? explain_missing(c, yyjson_doc_get_root(doc), &o) : r;
}

void podlog_request(struct call *c) {
    if (c->req.verb != VERB_GET) {
        (void)failure_method(&c->failure);
        call_fail(c);
    } else if (run(c) != 0) {
        call_fail(c);
    }
}
