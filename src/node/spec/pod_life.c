/* pod_life: see pod_life.h. */
#include "node/spec/pod_life.h"

#include <signal.h>

struct writer_of_life {
    yyjson_val *container;
    const struct pod_env *env;
    struct str pod_ip;
    struct arena *arena;
    struct buf *out;
    struct err *err;
};

static int port_of(const struct writer_of_life *w, yyjson_val *v, int64_t *ret) {
    yyjson_arr_iter it;
    yyjson_val *p;
    struct str name = json_str(v);

    *ret = yyjson_is_int(v) ? yyjson_get_sint(v) : 0;
    if (*ret == 0 && !str_to_i64(name, ret)) {
        yyjson_arr_iter_init(json_get(w->container, STR("ports")), &it);
        while ((p = yyjson_arr_iter_next(&it))) {
            if (str_eq(json_str_at(p, "name"), name)) {
                *ret = json_i64_at(p, "containerPort", 0);
            }
        }
    }
    if (*ret < 1 || *ret > 65535) {
        return err_set(w->err, ERR_INVALID,
                       "container \"%.*s\": a probe or hook asks port \"%.*s\", which is neither a "
                       "number from 1 to 65535 nor the name of one of its ports",
                       STR_ARG(json_str_at(w->container, "name")), STR_ARG(name));
    }
    return 0;
}

static int add_exec(const struct writer_of_life *w, yyjson_val *v) {
    yyjson_arr_iter it;
    yyjson_val *word;
    bool first = true;

    buf_c(w->out, "\"exec\":[");
    yyjson_arr_iter_init(json_get(v, STR("command")), &it);
    while ((word = yyjson_arr_iter_next(&it))) {
        buf_c(w->out, first ? "" : ",");
        buf_json(w->out, pod_env_expand(w->env, json_str(word)));
        first = false;
    }
    buf_ch(w->out, ']');
    return 0;
}

static void add_host(const struct writer_of_life *w, yyjson_val *v, int64_t port) {
    struct str host = json_str_at(v, "host");

    buf_f(w->out, "\"port\":%lld,\"host\":", (long long)port);
    buf_json(w->out, str_empty(host) ? w->pod_ip : host);
}

static bool named(yyjson_val *list, const char *name) {
    yyjson_arr_iter it;
    yyjson_val *h;

    yyjson_arr_iter_init(list, &it);
    while ((h = yyjson_arr_iter_next(&it))) {
        if (str_eq_nocase(json_str_at(h, "name"), str_of(name))) {
            return true;
        }
    }
    return false;
}

/* A line of a header must stay one. */
static bool plain_line(struct str s) {
    return str_find(s, '\r') < 0 && str_find(s, '\n') < 0;
}

static int add_headers(const struct writer_of_life *w, yyjson_val *v, int64_t port) {
    yyjson_val *list = json_get(v, STR("httpHeaders")), *h;
    struct str host = json_str_at(v, "host");
    yyjson_arr_iter it;
    struct buf b;

    buf_init(&b, 32768);
    host = str_empty(host) ? w->pod_ip : host;
    if (!named(list, "Host")) {
        buf_f(&b, "Host: %.*s:%lld\r\n", STR_ARG(host), (long long)port);
    }
    if (!named(list, "User-Agent")) {
        buf_c(&b, "User-Agent: kube-probe/1.34\r\n");
    }
    if (!named(list, "Accept")) {
        buf_c(&b, "Accept: */*\r\n");
    }
    yyjson_arr_iter_init(list, &it);
    bool plain = true;
    while ((h = yyjson_arr_iter_next(&it))) {
        struct str name = json_str_at(h, "name"), value = json_str_at(h, "value");
        plain &= plain_line(name) && plain_line(value);
        buf_f(&b, "%.*s: %.*s\r\n", STR_ARG(name), STR_ARG(value));
    }
    buf_c(w->out, ",\"headers\":");
    buf_json(w->out, buf_view(&b));
    int code = plain && buf_ok(&b) == 0
                   ? 0
                   : err_set(w->err, ERR_INVALID,
                             "container \"%.*s\": httpHeaders of a probe or hook must be lines "
                             "without line breaks, 32 KiB at most",
                             STR_ARG(json_str_at(w->container, "name")));
    buf_release(&b);
    return code;
}

static int add_http(const struct writer_of_life *w, yyjson_val *v) {
    struct str path = json_str_at(v, "path");
    int64_t port;
    int code = port_of(w, json_get(v, STR("port")), &port);

    if (code) {
        return code;
    }
    if (str_empty(path) || path.p[0] != '/') {
        path = arena_f(w->arena, "/%.*s", STR_ARG(path));
    }
    if (!plain_line(path) || str_find(path, ' ') >= 0) {
        return err_set(w->err, ERR_INVALID,
                       "container \"%.*s\": httpGet.path of a probe or hook must have no blanks or "
                       "line breaks",
                       STR_ARG(json_str_at(w->container, "name")));
    }
    buf_c(w->out, "\"http\":{");
    add_host(w, v, port);
    buf_f(w->out,
          ",\"https\":%s,\"path\":", str_is(json_str_at(v, "scheme"), "HTTPS") ? "true" : "false");
    buf_json(w->out, path);
    code = add_headers(w, v, port);
    buf_ch(w->out, '}');
    return code;
}

static int add_tcp(const struct writer_of_life *w, yyjson_val *v) {
    int64_t port;
    int code = port_of(w, json_get(v, STR("port")), &port);

    buf_c(w->out, "\"tcp\":{");
    add_host(w, v, code ? 0 : port);
    buf_ch(w->out, '}');
    return code;
}

static int add_handler(const struct writer_of_life *w, yyjson_val *v) {
    yyjson_val *exec = json_get(v, STR("exec")), *http = json_get(v, STR("httpGet")),
               *tcp = json_get(v, STR("tcpSocket")), *grpc = json_get(v, STR("grpc")),
               *sleep = json_get(v, STR("sleep"));

    if (exec) {
        return add_exec(w, exec);
    }
    if (http) {
        return add_http(w, http);
    }
    if (tcp) {
        return add_tcp(w, tcp);
    }
    if (grpc) {
        buf_c(w->out, "\"grpc\":{");
        add_host(w, grpc, json_i64_at(grpc, "port", 0));
        buf_c(w->out, ",\"service\":");
        buf_json(w->out, json_str_at(grpc, "service"));
        buf_ch(w->out, '}');
        return 0;
    }
    buf_f(w->out, "\"sleep\":%lld", (long long)json_i64_at(sleep, "seconds", 0));
    return 0;
}

static int add_probe(const struct writer_of_life *w, const char *name, const char *member) {
    yyjson_val *v = json_get(w->container, str_of(member));

    if (v == NULL) {
        return 0;
    }
    buf_f(w->out, ",\"%s\":{", name);
    int code = add_handler(w, v);
    buf_f(w->out,
          ",\"delay\":%lld,\"period\":%lld,\"timeout\":%lld,\"success\":%lld,\"failure\":%lld",
          (long long)json_i64_at(v, "initialDelaySeconds", 0),
          (long long)json_i64_at(v, "periodSeconds", 10),
          (long long)json_i64_at(v, "timeoutSeconds", 1),
          (long long)json_i64_at(v, "successThreshold", 1),
          (long long)json_i64_at(v, "failureThreshold", 3));
    if (json_get(v, STR("terminationGracePeriodSeconds"))) {
        buf_f(w->out, ",\"grace\":%lld",
              (long long)json_i64_at(v, "terminationGracePeriodSeconds", 0));
    }
    buf_ch(w->out, '}');
    return code;
}

static int add_hook(const struct writer_of_life *w, const char *name) {
    yyjson_val *v = json_get(json_get(w->container, STR("lifecycle")), str_of(name));

    if (v == NULL) {
        return 0;
    }
    buf_f(w->out, ",\"%s\":{", name);
    int code = add_handler(w, v);
    buf_ch(w->out, '}');
    return code;
}

static int signal_named(struct str name) {
    static const struct {
        const char *name;
        int number;
    } all[] = {{"SIGABRT", SIGABRT},     {"SIGALRM", SIGALRM}, {"SIGBUS", SIGBUS},
               {"SIGCHLD", SIGCHLD},     {"SIGCLD", SIGCHLD},  {"SIGCONT", SIGCONT},
               {"SIGFPE", SIGFPE},       {"SIGHUP", SIGHUP},   {"SIGILL", SIGILL},
               {"SIGINT", SIGINT},       {"SIGIO", SIGIO},     {"SIGIOT", SIGABRT},
               {"SIGKILL", SIGKILL},     {"SIGPIPE", SIGPIPE}, {"SIGPOLL", SIGIO},
               {"SIGPROF", SIGPROF},     {"SIGPWR", SIGPWR},   {"SIGQUIT", SIGQUIT},
               {"SIGSEGV", SIGSEGV},     {"SIGSTOP", SIGSTOP}, {"SIGSTKFLT", SIGSTKFLT},
               {"SIGSYS", SIGSYS},       {"SIGTERM", SIGTERM}, {"SIGTRAP", SIGTRAP},
               {"SIGTSTP", SIGTSTP},     {"SIGTTIN", SIGTTIN}, {"SIGTTOU", SIGTTOU},
               {"SIGURG", SIGURG},       {"SIGUSR1", SIGUSR1}, {"SIGUSR2", SIGUSR2},
               {"SIGVTALRM", SIGVTALRM}, {"SIGXCPU", SIGXCPU}, {"SIGXFSZ", SIGXFSZ},
               {"SIGWINCH", SIGWINCH}};
    int64_t n = 0;

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (str_is(name, all[i].name)) {
            return all[i].number;
        }
    }
    if (str_starts(name, STR("SIGRTMIN"))) {
        return str_to_i64(str_skip(name, 9), &n) ? SIGRTMIN + (int)n : SIGRTMIN;
    }
    if (str_starts(name, STR("SIGRTMAX"))) {
        return str_to_i64(str_skip(name, 9), &n) ? SIGRTMAX - (int)n : SIGRTMAX;
    }
    return SIGTERM;
}

/* An image may say it by its number. */
static int signal_of(struct str text) {
    int64_t n;

    return str_to_i64(text, &n) ? (n > 0 && n <= SIGRTMAX ? (int)n : SIGTERM) : signal_named(text);
}

struct str pod_message_path(yyjson_val *container) {
    struct str path = json_str_at(container, "terminationMessagePath");

    return str_empty(path) ? STR("/dev/termination-log") : path;
}

/* "/a/b": nothing that a mount could take for something else. */
static bool good_path(struct str path) {
    struct str rest = str_skip(path, 1), part;
    bool good = path.n > 1 && path.p[0] == '/' && path.p[path.n - 1] != '/';

    while (str_next(&rest, '/', &part)) {
        good &= part.n && !str_is(part, ".") && !str_is(part, "..") && str_find(part, ':') < 0;
    }
    return good;
}

int pod_life_write(yyjson_val *container, const struct pod_env *e, struct str pod_ip,
                   struct str message_file, struct str image_signal, struct arena *a,
                   struct buf *out, struct err *err) {
    const struct writer_of_life w = {container, e, pod_ip, a, out, err};
    struct str sig = json_str_at(container, "lifecycle.stopSignal");
    int code = good_path(pod_message_path(container))
                   ? add_probe(&w, "startup", "startupProbe")
                   : err_set(err, ERR_INVALID,
                             "container \"%.*s\": terminationMessagePath must be an absolute path "
                             "without \".\", \"..\" and colons",
                             STR_ARG(json_str_at(container, "name")));

    code = code ? code : add_probe(&w, "readiness", "readinessProbe");
    code = code ? code : add_probe(&w, "liveness", "livenessProbe");
    code = code ? code : add_hook(&w, "postStart");
    code = code ? code : add_hook(&w, "preStop");
    sig = str_empty(sig) ? image_signal : sig;
    if (!str_empty(sig)) {
        buf_f(out, ",\"stopSignal\":%d", signal_of(sig));
    }
    if (!str_empty(message_file)) {
        buf_c(out, ",\"messageFile\":");
        buf_json(out, message_file);
    }
    if (str_is(json_str_at(container, "terminationMessagePolicy"), "FallbackToLogsOnError")) {
        buf_c(out, ",\"messageFromLog\":true");
    }
    return code;
}
