/* target: see target.h. The texts are those of kube-apiserver and kubelet. */
#include "server/talk/target.h"

#include "base/limits.h"
#include "wire/json/json.h"

static int bad(struct call *c, const char *text) {
    return failure_set(&c->failure, c->arena, ERR_BAD_REQUEST, "%s", text);
}

/* ---- streams and command ---- */

static int read_flag(struct call *c, const char *name, unsigned flag, unsigned *with) {
    struct str value = request_query(&c->req, name);
    bool on = false;
    if (value.n > 0 && !request_bool(value, &on)) {
        return failure_set(&c->failure, c->arena, ERR_BAD_REQUEST,
                           "%s: \"%.*s\" is neither true nor false", name,
                           STR_ARG(str_head(value, 64)));
    }
    *with |= on ? flag : 0;
    return 0;
}

static int read_streams(struct call *c, struct talk_target *t) {
    unsigned *with = &t->open.with;
    int r = read_flag(c, "stdin", PODTALK_WITH_STDIN, with);
    r = r ? r : read_flag(c, "stdout", PODTALK_WITH_STDOUT, with);
    r = r ? r : read_flag(c, "stderr", PODTALK_WITH_STDERR, with);
    if (r == 0 && *with == 0) {
        return bad(c, "you must specify at least 1 of stdin, stdout, stderr");
    }
    r = r ? r : read_flag(c, "tty", PODTALK_TTY, with);
    if (*with & PODTALK_TTY) {
        *with &= ~(unsigned)PODTALK_WITH_STDERR; /* a terminal has one output */
    }
    return r;
}

static int read_command(struct call *c, struct talk_target *t) {
    struct str arg;
    size_t n = 0, bytes = 0;
    while (request_query_nth(&c->req, "command", n, &arg) && n <= LIMIT_EXEC_ARGS) {
        bytes += arg.n + 1;
        n++;
        if (memchr(arg.p ? arg.p : "", 0, arg.n) != NULL) {
            return bad(c, "command: an argument contains a NUL");
        }
    }
    if (n == 0) {
        return bad(c, "you must specify at least one command for the container");
    }
    if (n > LIMIT_EXEC_ARGS || bytes > LIMIT_EXEC_ARGS_BYTES) {
        return failure_set(&c->failure, c->arena, ERR_BAD_REQUEST,
                           "command: at most %d arguments of %d bytes together", LIMIT_EXEC_ARGS,
                           LIMIT_EXEC_ARGS_BYTES);
    }
    t->args = ARENA_ARRAY(c->arena, struct str, n);
    for (size_t i = 0; t->args != NULL && i < n; i++) {
        (void)request_query_nth(&c->req, "command", i, &t->args[i]);
    }
    t->n_args = n;
    return t->args != NULL ? 0 : failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory");
}

/* ---- the container ---- */

static const char *const lists[] = {"spec.containers", "spec.initContainers",
                                    "spec.ephemeralContainers"};

static yyjson_val *find_container(yyjson_val *pod, struct str name) {
    size_t i, n;
    yyjson_val *v;
    for (size_t k = 0; k < sizeof(lists) / sizeof(*lists); k++) {
        yyjson_arr_foreach(json_path(pod, lists[k]), i, n, v) {
            if (str_eq(json_str_at(v, "name"), name)) {
                return v;
            }
        }
    }
    return NULL;
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

static int no_name(struct call *c, yyjson_val *pod) {
    static const char *const before[] = {
        "", " or one of the init containers: ", " or one of the ephemeral containers: "};
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    for (size_t k = 0; k < sizeof(lists) / sizeof(*lists); k++) {
        if (yyjson_arr_size(json_path(pod, lists[k])) > 0) {
            buf_c(&b, before[k]);
            list_names(&b, json_path(pod, lists[k]));
        }
    }
    int r = failure_set(&c->failure, c->arena, ERR_BAD_REQUEST,
                        "a container name must be specified for pod %.*s, choose one of: %.*s",
                        STR_ARG(c->req.name), STR_ARG(buf_view(&b)));
    buf_release(&b);
    return r;
}

static int choose(struct call *c, yyjson_val *pod, struct talk_target *t) {
    struct str name = request_query(&c->req, "container");
    yyjson_val *main = json_path(pod, lists[0]), *one;
    if (name.n == 0 && yyjson_arr_size(main) != 1) {
        return no_name(c, pod);
    }
    one = name.n == 0 ? yyjson_arr_get_first(main) : find_container(pod, name);
    if (one == NULL) {
        return failure_set(&c->failure, c->arena, ERR_BAD_REQUEST,
                           "container %.*s is not valid for pod %.*s",
                           STR_ARG(str_head(name, LIMIT_NAME)), STR_ARG(c->req.name));
    }
    t->open.container = json_str_at(one, "name");
    if (t->open.what == PODTALK_ATTACH) { /* what the container has, whatever was asked for */
        bool tty = yyjson_is_true(json_path(one, "tty"));
        t->open.with &= ~(unsigned)PODTALK_TTY;
        t->open.with |= tty ? PODTALK_TTY : 0;
        t->open.with &= tty ? ~(unsigned)PODTALK_WITH_STDERR : ~0u;
        t->open.with &=
            yyjson_is_true(json_path(one, "stdin")) ? ~0u : ~(unsigned)PODTALK_WITH_STDIN;
    }
    return 0;
}

/* ---- ports ---- */

static int read_ports(struct call *c, struct talk_target *t) {
    struct str list, one;
    t->ports = ARENA_ARRAY(c->arena, uint16_t, LIMIT_FORWARD_PORTS);
    if (t->ports == NULL) {
        return failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory");
    }
    for (size_t i = 0; request_query_nth(&c->req, "ports", i, &list); i++) {
        while (str_next(&list, ',', &one)) {
            int64_t port;
            if (!str_to_i64(one, &port) || port < 1 || port > UINT16_MAX) {
                return failure_set(&c->failure, c->arena, ERR_BAD_REQUEST,
                                   "ports: \"%.*s\" is not a number from 1 to 65535",
                                   STR_ARG(str_head(one, 64)));
            }
            if (t->n_ports == LIMIT_FORWARD_PORTS) {
                return failure_set(&c->failure, c->arena, ERR_BAD_REQUEST,
                                   "ports: at most %d may be named", LIMIT_FORWARD_PORTS);
            }
            t->ports[t->n_ports++] = (uint16_t)port;
        }
    }
    return 0;
}

/* ---- all of it ---- */

static int read_pod(struct call *c, struct talk_target *t, yyjson_val **ret) {
    struct err err = {0};
    yyjson_doc *doc;
    t->pod = mirror_get(c->s->o.mirror, c->req.kind, c->req.ns, c->req.name);
    if (t->pod == NULL) {
        return failure_not_found(&c->failure, c->arena, c->req.kind, c->req.name);
    }
    if (object_tree(t->pod, c->arena, &doc, &err) != 0) {
        return failure_err(&c->failure, c->arena, &err);
    }
    *ret = yyjson_doc_get_root(doc);
    return 0;
}

static int check_running(struct call *c, yyjson_val *pod, const struct talk_target *t) {
    struct str phase = json_str_at(pod, "status.phase");
    if (json_str_at(pod, "spec.nodeName").n == 0) {
        return failure_set(&c->failure, c->arena, ERR_BAD_REQUEST,
                           "pod %.*s does not have a host assigned", STR_ARG(c->req.name));
    }
    return str_is(phase, "Succeeded") || str_is(phase, "Failed") ? target_silent(c, t, NULL) : 0;
}

int target_read(struct call *c, struct talk_target *ret) {
    struct str sub = c->req.subresource;
    yyjson_val *pod = NULL;
    *ret = (struct talk_target){0};
    ret->open.what = str_is(sub, "exec")     ? PODTALK_EXEC
                     : str_is(sub, "attach") ? PODTALK_ATTACH
                                             : PODTALK_CONNECT;
    int r = read_pod(c, ret, &pod);
    if (r == 0 && ret->open.what == PODTALK_CONNECT) {
        r = read_ports(c, ret);
    } else if (r == 0) {
        r = read_streams(c, ret);
        r = r ? r : ret->open.what == PODTALK_EXEC ? read_command(c, ret) : 0;
        r = r ? r : choose(c, pod, ret);
    }
    return r ? r : check_running(c, pod, ret);
}

int target_silent(struct call *c, const struct talk_target *t, const struct err *err) {
    if (err != NULL && err->code != ERR_NOT_FOUND) {
        return failure_err(&c->failure, c->arena, err);
    }
    if (t->open.what == PODTALK_CONNECT) {
        return failure_set(&c->failure, c->arena, ERR_NOT_FOUND, "pod not found (\"%.*s_%.*s\")",
                           STR_ARG(c->req.name), STR_ARG(c->req.ns));
    }
    return failure_set(&c->failure, c->arena, ERR_NOT_FOUND, "container not found (\"%.*s\")",
                       STR_ARG(t->open.container));
}
