/*
 * pod_spec: see pod_spec.h.
 *
 * In the process runtime a container is its command in the sandbox; its image is not looked at. In
 * the podman runtime the container's command is `podman run ...` with the image, run by the same
 * shim.
 */
#include "node/spec/pod_spec.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/files/files.h"
#include "node/spec/pod_files.h"
#include "node/spec/pod_life.h"
#include "node/spec/pod_links.h"
#include "node/spec/pod_volumes.h"
#include "wire/text/quantity.h"

enum {
    PIDS_MAX = 4096,
    PIDS_FIRST = 512,
    PIDS_OF_CPU = 64,
    PIDS_KEEP_PART = 4,
    KEEP_PART = 8,
    PEERS_MAX = 256,
    ENV_BYTES_MAX = 4 << 20,
    HOST_NAME_BYTES = 63, /* the kernel's is 64 */
};

struct writer_of_spec {
    const struct pod_spec_in *in;
    struct pod_volumes_in volumes;
    struct pod_env_in env;
    struct arena arena;
    struct buf out;
    struct pod_spec_notes notes;
    char root[PATH_LEN], work[PATH_LEN], volume_dir[PATH_LEN];
    struct err *err;
};

static int name_folders(struct writer_of_spec *w) {
    return path_join(w->root, w->in->dir, "root", w->err) ||
                   path_join(w->work, w->root, "work", w->err) ||
                   path_join(w->volume_dir, w->root, "volumes", w->err)
               ? ERR_TOO_LARGE
               : 0;
}

static int make_folders(struct writer_of_spec *w) {
    char path[PATH_LEN];
    static const char *const own[] = {"work", "tmp", "messages"};
    uid_t uid = w->in->uid;
    int code = name_folders(w);

    code = code ? code : dir_make(w->root, 0755, w->err);
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]) && code == 0; i++) {
        code = path_join(path, w->root, own[i], w->err);
        code = code ? code : dir_make(path, 0700, w->err);
        if (code == 0 && uid && chown(path, uid, w->in->gid) == -1) {
            code = err_set(w->err, ERR_IO, "%s cannot be given to user %u", path, (unsigned)uid);
        }
    }
    return code;
}

/* The devices of a container: "uuid,uuid". */
static struct str device_list(struct writer_of_spec *w, struct str container, size_t *ret_slices) {
    const struct pod_devices *d = w->in->devices;
    struct buf b;

    buf_init(&b, 1 << 16);
    *ret_slices = 0;
    for (size_t i = 0; d && i < d->n; i++) {
        if (str_eq(d->v[i].container, container)) {
            buf_c(&b, b.n ? "," : "");
            buf_str(&b, w->in->uuids[i]);
            *ret_slices += d->v[i].profile_id >= 0;
        }
    }
    struct str list = arena_str(&w->arena, buf_view(&b));
    buf_release(&b);
    return list;
}

static struct str message_file(struct writer_of_spec *w, yyjson_val *c) {
    return arena_f(&w->arena, "%s/messages/%.*s", w->root, STR_ARG(json_str_at(c, "name")));
}

static int set_base(struct writer_of_spec *w, yyjson_val *c, struct pod_env *e) {
    struct str tmp = arena_f(&w->arena, "%s/tmp", w->root),
               hostname = json_str_at(w->in->env.pod, "spec.hostname");
    int code = 0;

    if (!w->in->podman) { /* an image has a PATH of its own */
        code = pod_env_set(e, STR("PATH"),
                           STR("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"));
    }
    if (str_empty(hostname)) {
        hostname = json_str_at(w->in->env.pod, "metadata.name");
    }
    code = code ? code : pod_env_set(e, STR("HOSTNAME"), hostname);
    if (!w->in->podman) {
        code = code ? code : pod_env_set(e, STR("HOME"), str_of(w->work));
        code = code ? code : pod_env_set(e, STR("TMPDIR"), tmp);
        code = code ? code : pod_env_set(e, STR("BERTH_ROOT"), str_of(w->root));
        code = code ? code
                    : pod_env_set(e, STR("BERTH_TERMINATION_LOG"),
                                  w->in->probe->mounts ? pod_message_path(c) : message_file(w, c));
    }
    return code;
}

struct links {
    struct pod_env *e;
    size_t n;
    int code;
};

static bool add_link(void *ctx, struct str name, yyjson_val *spec) {
    struct links *l = ctx;

    l->code = pod_links_add(l->e, name, spec);
    return l->code == 0 && ++l->n < POD_LINKS_MAX;
}

/* Of the API server pods learn whatever enableServiceLinks says. */
static int add_api(struct writer_of_spec *w, struct pod_env *e) {
    const struct pod_facts *f = w->env.facts;
    struct str host = f->api_service, port = STR("443");

    if (str_empty(f->api) || (str_empty(w->in->netns) && !str_cut(f->api, ':', &host, &port))) {
        return 0;
    }
    return pod_links_api(e, host, port);
}

static int add_links(struct writer_of_spec *w, struct pod_env *e) {
    struct links l = {.e = e};

    if (w->in->services && json_bool_at(w->in->env.pod, "spec.enableServiceLinks", true)) {
        w->in->services(w->in->services_ctx, json_str_at(w->in->env.pod, "metadata.namespace"),
                        add_link, &l);
    }
    return l.code ? l.code : add_api(w, e);
}

static int build_env(struct writer_of_spec *w, struct pod_env *e, yyjson_val *container,
                     struct str *ret_devices) {
    size_t slices;
    struct str uid = json_str_at(w->in->env.pod, "metadata.uid");

    *ret_devices = device_list(w, json_str_at(container, "name"), &slices);
    w->notes.only_first_slice |= slices > 1;
    w->env.container = container;
    int code = set_base(w, container, e);
    code = code ? code : add_links(w, e);
    code = code ? code : pod_env_build(e, &w->env, w->err);
    /* After the user's own: a pod sees the devices it was given, whatever it asks for. */
    bool none = str_empty(*ret_devices);
    code = code ? code
                : pod_env_set(e, STR("NVIDIA_VISIBLE_DEVICES"), none ? STR("void") : *ret_devices);
    code = code ? code : pod_env_set(e, STR("CUDA_VISIBLE_DEVICES"), *ret_devices);
    code = code ? code : pod_env_set(e, STR("BERTH_POD_UID"), uid);
    return code == ERR_NOMEM ? err_set(w->err, code, "no memory") : code;
}

static void add_word(struct writer_of_spec *w, struct str word) {
    buf_c(&w->out, w->out.p[w->out.n - 1] == '[' ? "" : ",");
    buf_json(&w->out, word);
}

static void add_words(struct writer_of_spec *w, const struct pod_env *e, yyjson_val *list,
                      size_t from) {
    size_t n = yyjson_arr_size(list);

    for (size_t i = from; i < n; i++) {
        add_word(w, pod_env_expand(e, json_str(yyjson_arr_get(list, i))));
    }
}

static int add_argv_process(struct writer_of_spec *w, const struct pod_env *e, yyjson_val *c) {
    yyjson_val *command = json_get(c, STR("command"));

    if (yyjson_arr_size(command) == 0 || str_empty(json_str(yyjson_arr_get_first(command)))) {
        return err_set(
            w->err, ERR_INVALID,
            "container \"%.*s\" has no command: this node runs commands as processes and does "
            "not look into images (install podman, or give a command)",
            STR_ARG(json_str_at(c, "name")));
    }
    w->notes.image_unused |= !str_empty(json_str_at(c, "image"));
    add_words(w, e, command, 0);
    add_words(w, e, json_get(c, STR("args")), 0);
    return 0;
}

static struct str container_name(struct writer_of_spec *w, yyjson_val *c) {
    return arena_f(&w->arena, "berth-%.*s-%.*s",
                   STR_ARG(json_str_at(w->in->env.pod, "metadata.uid")),
                   STR_ARG(json_str_at(c, "name")));
}

/* The container's variables go by a file that only we may read. podman itself runs with the node's environment, as
 * this pod's LD_PRELOAD or PATH is nothing that a program of the machine should heed; and not on its command line,
 * which all may read. */
static int add_env_file(struct writer_of_spec *w, const struct pod_env *e, struct str container) {
    struct str name = arena_f(&w->arena, "%.*s.env", STR_ARG(container));
    struct buf b;

    buf_init(&b, ENV_BYTES_MAX);
    for (size_t i = 0; i < e->n; i++) {
        const struct str_pair *v = &e->v[i];
        if (str_find(v->value, '\n') >= 0 || str_find(v->key, '#') == 0 ||
            str_find(v->key, '\n') >= 0) {
            buf_release(&b);
            return err_set(
                w->err, ERR_INVALID,
                "variable %.*s of container \"%.*s\" has a line break, which podman cannot "
                "take: use a volume for it",
                STR_ARG(v->key), STR_ARG(container));
        }
        buf_f(&b, "%.*s=%.*s\n", STR_ARG(v->key), STR_ARG(v->value));
    }
    int code = buf_ok(&b) ? err_set(w->err, ERR_NOMEM, "no memory")
                          : file_store(w->in->dir, name.p, buf_view(&b), 0600, w->err);
    buf_release(&b);
    add_word(w, arena_f(&w->arena, "--env-file=%s/%.*s", w->in->dir, STR_ARG(name)));
    return code;
}

/* Processes that the kernel can have at all: podman lowers its own limit to that. */
static rlim_t pids_of_machine(void) {
    char text[32];
    uint64_t most;
    int fd = open("/proc/sys/kernel/pid_max", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd != -1 ? read(fd, text, sizeof(text)) : -1;

    if (fd != -1) {
        close(fd);
    }
    return n > 0 && str_to_u64(str_trim(str_from(text, (size_t)n)), &most) ? most : PIDS_MAX;
}

/* Ours, so that podman need not raise them, for which it may not have the right. most 0: any. */
static void add_ulimit(struct writer_of_spec *w, const char *name, int resource, rlim_t most) {
    struct rlimit r;

    if (getrlimit((__rlimit_resource_t)resource, &r) == -1) {
        return;
    }
    rlim_t soft = most && r.rlim_cur > most ? most : r.rlim_cur;
    rlim_t hard = most && r.rlim_max > most ? most : r.rlim_max;
    add_word(w, arena_f(&w->arena, "--ulimit=%s=%lld:%lld", name,
                        soft == RLIM_INFINITY ? -1LL : (long long)soft,
                        hard == RLIM_INFINITY ? -1LL : (long long)hard));
}

/* podman makes a cgroup of its own for each container. */
static void add_limits(struct writer_of_spec *w, yyjson_val *c) {
    yyjson_val *limits = json_path(c, "resources.limits");
    struct quantity q;

    add_ulimit(w, "nofile", RLIMIT_NOFILE, 0);
    add_ulimit(w, "nproc", RLIMIT_NPROC, pids_of_machine());
    if (quantity_parse(json_str(json_get(limits, STR("memory"))), &q, NULL) == 0) {
        add_word(w, arena_f(&w->arena, "--memory=%lld", (long long)quantity_value(q)));
    }
    if (quantity_parse(json_str(json_get(limits, STR("cpu"))), &q, NULL) == 0) {
        long long milli = (long long)quantity_milli(q);
        add_word(w, arena_f(&w->arena, "--cpus=%lld.%03lld", milli / 1000, milli % 1000));
    }
}

static int add_podman_volumes(struct writer_of_spec *w, yyjson_val *c) {
    struct arena *a = &w->arena;
    yyjson_arr_iter it;
    yyjson_val *m;
    yyjson_doc *doc;
    struct buf mounts;

    buf_init(&mounts, 1 << 20);
    buf_ch(&mounts, '{');
    int code = pod_volumes_mounts(&w->volumes, c, a, &mounts, w->err);
    buf_ch(&mounts, '}');
    code = code ? code : json_parse(a, buf_view(&mounts), &doc, w->err);
    buf_release(&mounts);
    if (code) {
        return code;
    }
    yyjson_arr_iter_init(json_get(yyjson_doc_get_root(doc), STR("mounts")), &it);
    while ((m = yyjson_arr_iter_next(&it))) {
        struct str source = json_str_at(m, "source"), target = json_str_at(m, "target");
        if (str_find(source, ':') >= 0 || str_find(target, ':') >= 0) {
            return err_set(w->err, ERR_INVALID, "podman cannot mount %.*s at %.*s: a colon",
                           STR_ARG(source), STR_ARG(target));
        }
        add_word(w, arena_f(a, "--volume=%.*s:%.*s%s", STR_ARG(source), STR_ARG(target),
                            json_bool_at(m, "readOnly", false) ? ":ro" : ""));
    }
    return 0;
}

/* podman run: the pod's network (else the machine's), devices by CDI name, volumes by their folders. Whatever the pod
 * says stands behind "=", or where no option can be. */
static int add_argv_podman(struct writer_of_spec *w, const struct pod_env *e, yyjson_val *c,
                           struct str devices) {
    static const char *const head[] = {"podman",
                                       "run",
                                       "--rm",
                                       "--replace",
                                       "--log-driver=none",
                                       "--security-opt=no-new-privileges"};
    yyjson_val *command = json_get(c, STR("command"));
    struct str image = json_str_at(c, "image"), dir = json_str_at(c, "workingDir"), uuid;
    struct arena *a = &w->arena;

    if (str_empty(image) || image.p[0] == '-') {
        return err_set(w->err, ERR_INVALID, "container \"%.*s\" has no image that podman can run",
                       STR_ARG(json_str_at(c, "name")));
    }
    for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++) {
        add_word(w, str_of(head[i]));
    }
    add_word(w, w->in->netns.n ? arena_f(a, "--network=ns:%.*s", STR_ARG(w->in->netns))
                               : STR("--network=host"));
    add_word(w, arena_f(a, "--name=%.*s", STR_ARG(container_name(w, c))));
    while (!w->in->simulated && str_next(&devices, ',', &uuid)) {
        add_word(w, arena_f(a, "--device=nvidia.com/gpu=%.*s", STR_ARG(uuid)));
    }
    if (json_bool_at(c, "stdin", false)) {
        add_word(w, STR("--interactive"));
    }
    if (json_bool_at(c, "tty", false)) {
        add_word(w, STR("--tty"));
    }
    add_limits(w, c);
    int code = add_env_file(w, e, json_str_at(c, "name"));
    code = code ? code : add_podman_volumes(w, c);
    if (code) {
        return code;
    }
    add_word(w, arena_f(a, "--volume=%.*s:%.*s", STR_ARG(message_file(w, c)),
                        STR_ARG(pod_message_path(c))));
    if (!str_empty(dir)) {
        add_word(w, arena_f(a, "--workdir=%.*s", STR_ARG(dir)));
    }
    if (yyjson_arr_size(command)) {
        add_word(w, arena_f(a, "--entrypoint=%.*s",
                            STR_ARG(pod_env_expand(e, json_str(yyjson_arr_get_first(command))))));
    }
    add_word(w, image);
    add_words(w, e, command, 1);
    add_words(w, e, json_get(c, STR("args")), 0);
    return 0;
}

/* What podman itself needs to find its images and its helpers. */
static void add_podman_env(struct writer_of_spec *w) {
    static const char *const names[] = {"PATH",
                                        "HOME",
                                        "XDG_RUNTIME_DIR",
                                        "XDG_DATA_HOME",
                                        "XDG_CONFIG_HOME",
                                        "DBUS_SESSION_BUS_ADDRESS",
                                        "CONTAINERS_CONF",
                                        "CONTAINERS_REGISTRIES_CONF"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]);
        if (value) {
            add_word(w, arena_f(&w->arena, "%s=%s", names[i], value));
        }
    }
}

/* A file of ours that is mounted over one of the machine. */
static int give_file(struct writer_of_spec *w, const char *name, const char *target, struct buf *b,
                     struct str *ret) {
    int code = buf_ok(b) ? buf_ok(b) : file_store(w->root, name, buf_view(b), 0644, w->err);

    buf_release(b);
    *ret = arena_f(&w->arena, "{\"source\":\"%s/%s\",\"target\":\"%s\",\"readOnly\":true}", w->root,
                   name, target);
    return code;
}

/* Names and name servers of a pod with a network of its own. */
static int write_net_files(struct writer_of_spec *w, struct str *ret_hosts,
                           struct str *ret_resolv) {
    struct str machine = {NULL, 0};
    struct buf b;

    buf_init(&b, 1 << 20);
    pod_hosts_write(w->in->env.pod, w->env.facts->pod_ip, &b);
    int code = give_file(w, "hosts", "/etc/hosts", &b, ret_hosts);
    if (code == 0) {
        file_load("/etc", "resolv.conf", &w->arena, &machine, NULL);
        buf_init(&b, 1 << 20);
        pod_resolv_write(w->in->env.pod, w->in->gateway, machine, &b);
        code = give_file(w, "resolv.conf", "/etc/resolv.conf", &b, ret_resolv);
    }
    return code;
}

/* Names of the pod and, in an indexed Job, of its peers: all on this machine. A file that is
 * mounted over /etc/hosts. */
static int write_hosts(struct writer_of_spec *w, struct str *ret) {
    yyjson_val *pod = w->in->env.pod, *notes = json_path(pod, "metadata.annotations");
    struct str name = json_str_at(pod, "spec.hostname"), sub = json_str_at(pod, "spec.subdomain"),
               ns = json_str_at(pod, "metadata.namespace"),
               index = json_str(json_get(notes, STR("batch.kubernetes.io/job-completion-index")));
    struct buf b;

    *ret = (struct str){NULL, 0};
    if (!w->in->probe->mounts || w->in->podman || str_empty(name) || str_empty(sub)) {
        return 0;
    }
    buf_init(&b, 1 << 20);
    buf_f(&b, "127.0.0.1 localhost\n::1 localhost ip6-localhost\n127.0.0.1 %.*s\n", STR_ARG(name));
    struct str base = str_head(name, name.n - index.n);
    bool indexed = !str_empty(index) && str_ends(name, index) && str_ends(base, STR("-"));
    for (int i = 0; i < (indexed ? PEERS_MAX : 1); i++) {
        struct str peer = indexed ? arena_f(&w->arena, "%.*s%d", STR_ARG(base), i) : name;
        buf_f(&b, "127.0.0.1 %.*s.%.*s %.*s.%.*s.%.*s.svc %.*s.%.*s.%.*s.svc.cluster.local\n",
              STR_ARG(peer), STR_ARG(sub), STR_ARG(peer), STR_ARG(sub), STR_ARG(ns), STR_ARG(peer),
              STR_ARG(sub), STR_ARG(ns));
    }
    return give_file(w, "hosts", "/etc/hosts", &b, ret);
}

/* One more element before the closing bracket. */
static void add_mount(struct writer_of_spec *w, struct str mount) {
    w->out.n--;
    buf_c(&w->out, w->out.p[w->out.n - 1] == '[' ? "" : ",");
    buf_str(&w->out, mount);
    buf_ch(&w->out, ']');
}

/* The file of the termination message, where the container says; a volume that is mounted there itself keeps its
 * place, and then nothing is read. */
static struct str message_mount(struct writer_of_spec *w, yyjson_val *c) {
    struct str path = pod_message_path(c), file = message_file(w, c), volume;
    yyjson_arr_iter it;
    yyjson_val *m;
    struct buf b;

    yyjson_arr_iter_init(json_get(c, STR("volumeMounts")), &it);
    while ((m = yyjson_arr_iter_next(&it))) {
        volume = json_str_at(m, "mountPath");
        if (str_eq(volume, path)) {
            return STR("");
        }
    }
    buf_init(&b, 8192);
    buf_c(&b, "{\"source\":");
    buf_json(&b, file);
    buf_c(&b, ",\"target\":");
    buf_json(&b, path);
    buf_ch(&b, '}');
    struct str mount = arena_str(&w->arena, buf_view(&b));
    buf_release(&b);
    return mount;
}

static int add_mounts(struct writer_of_spec *w, yyjson_val *c) {
    struct str hosts = {NULL, 0}, resolv = {NULL, 0};
    size_t n = yyjson_arr_size(json_get(c, STR("volumeMounts")));
    bool own = w->in->netns.n && w->in->probe->mounts && !w->in->podman;
    int code = own ? write_net_files(w, &hosts, &resolv) : write_hosts(w, &hosts);

    if (code || w->in->podman) {
        return code;
    }
    if (!w->in->probe->mounts) {
        w->notes.volumes_below_root = n > 0;
        return 0;
    }
    buf_ch(&w->out, ',');
    code = pod_volumes_mounts(&w->volumes, c, &w->arena, &w->out, w->err);
    if (code == 0 && hosts.p) {
        add_mount(w, hosts);
    }
    if (code == 0 && resolv.p) {
        add_mount(w, resolv);
    }
    struct str message = message_mount(w, c);
    if (code == 0 && message.n) {
        add_mount(w, message);
    }
    return code;
}

static int add_container(struct writer_of_spec *w, yyjson_val *c, bool init, bool first) {
    struct pod_env e = {.arena = &w->arena};
    struct str devices, dir = json_str_at(c, "workingDir");
    int code = build_env(w, &e, c, &devices);

    if (code) {
        return code;
    }
    buf_c(&w->out, first ? "{\"name\":" : ",{\"name\":");
    buf_json(&w->out, json_str_at(c, "name"));
    buf_f(&w->out, ",\"init\":%s,\"sidecar\":%s,\"argv\":[", init ? "true" : "false",
          init && str_is(json_str_at(c, "restartPolicy"), "Always") ? "true" : "false");
    code = w->in->podman ? add_argv_podman(w, &e, c, devices) : add_argv_process(w, &e, c);
    if (code) {
        return code;
    }
    buf_c(&w->out, "],\"env\":[");
    for (size_t i = 0; !w->in->podman && i < e.n; i++) {
        add_word(w, arena_f(&w->arena, "%.*s=%.*s", STR_ARG(e.v[i].key), STR_ARG(e.v[i].value)));
    }
    if (w->in->podman) {
        add_podman_env(w);
        buf_c(&w->out, "],\"cleanup\":[\"podman\",\"rm\",\"-f\",\"-t=0\",\"--ignore\"");
        add_word(w, container_name(w, c));
        buf_c(&w->out, "],\"enter\":[\"podman\",\"exec\"");
        add_word(w, container_name(w, c));
    }
    buf_f(&w->out, "],\"stdin\":%s,\"stdinOnce\":%s,\"tty\":%s,\"cwd\":",
          json_bool_at(c, "stdin", false) ? "true" : "false",
          json_bool_at(c, "stdinOnce", false) ? "true" : "false",
          json_bool_at(c, "tty", false) ? "true" : "false");
    buf_json(&w->out, str_empty(dir) || w->in->podman ? str_of(w->work) : dir);
    code = pod_life_write(c, &e, w->in->env.facts->pod_ip, message_file(w, c), &w->arena, &w->out,
                          w->err);
    if (code) {
        return code;
    }
    code = add_mounts(w, c);
    buf_ch(&w->out, '}');
    return code;
}

static int add_containers(struct writer_of_spec *w) {
    static const char *const lists[] = {"spec.initContainers", "spec.containers"};
    yyjson_arr_iter it;
    yyjson_val *c;
    bool first = true;
    int code = 0;

    buf_c(&w->out, ",\"containers\":[");
    for (int i = 0; i < 2; i++) {
        yyjson_arr_iter_init(json_path(w->in->env.pod, lists[i]), &it);
        while (code == 0 && (c = yyjson_arr_iter_next(&it))) {
            code = add_container(w, c, i == 0, first);
            first = false;
        }
    }
    buf_c(&w->out, "]}\n");
    return code;
}

/* The pod's limit is the sum of its containers', when each has one. */
static int64_t limit(yyjson_val *pod, struct str resource, bool milli) {
    yyjson_arr_iter it;
    yyjson_val *c;
    int64_t sum = 0;

    yyjson_arr_iter_init(json_path(pod, "spec.containers"), &it);
    while ((c = yyjson_arr_iter_next(&it))) {
        struct quantity q;
        struct str text = json_str(json_get(json_path(c, "resources.limits"), resource));
        if (str_empty(text) || quantity_parse(text, &q, NULL)) {
            return 0;
        }
        int64_t n = milli ? quantity_milli(q) : quantity_value(q);
        if (__builtin_add_overflow(sum, n, &sum)) {
            return 0;
        }
    }
    return sum;
}

/* Processes and threads of one pod: as many as its machine's processors can have a use for. */
static int64_t pids_of_pod(void) {
    int64_t n = PIDS_FIRST + PIDS_OF_CPU * (int64_t)sysconf(_SC_NPROCESSORS_ONLN);

    return n < PIDS_MAX ? n : PIDS_MAX;
}

/* Of all pods: never so many that the machine can start nothing. */
static int64_t pids_of_all(void) {
    int64_t n = (int64_t)pids_of_machine();

    return n - n / PIDS_KEEP_PART;
}

/* Memory of a pod that says no limit: an eighth of the machine is left for what keeps it running. */
static int64_t memory_most(void) {
    int64_t all = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);

    return all - all / KEEP_PART;
}

static struct str hostname_of(yyjson_val *pod) {
    struct str name = json_str_at(pod, "spec.hostname");

    return str_head(str_empty(name) ? json_str_at(pod, "metadata.name") : name, HOST_NAME_BYTES);
}

/* Volumes in memory: as large as they say, at most as the pod's memory; without either as the pod's /dev/shm is. */
static void add_memory_volumes(struct writer_of_spec *w) {
    yyjson_val *v;
    yyjson_arr_iter it;
    int64_t most = limit(w->in->env.pod, STR("memory"), false);
    bool first = true;

    buf_c(&w->out, ",\"memory\":[");
    yyjson_arr_iter_init(json_path(w->in->env.pod, "spec.volumes"), &it);
    while (w->in->probe->mounts && !w->in->podman && (v = yyjson_arr_iter_next(&it))) {
        yyjson_val *dir = json_get(v, STR("emptyDir"));
        struct quantity q;
        int64_t bytes = most;
        if (!str_is(json_str_at(dir, "medium"), "Memory")) {
            continue;
        }
        if (quantity_parse(json_str_at(dir, "sizeLimit"), &q, NULL) == 0 && quantity_value(q) > 0 &&
            (bytes == 0 || quantity_value(q) < bytes)) {
            bytes = quantity_value(q);
        }
        buf_c(&w->out, first ? "{\"path\":" : ",{\"path\":");
        buf_json(&w->out,
                 arena_f(&w->arena, "%s/%.*s", w->volume_dir, STR_ARG(json_str_at(v, "name"))));
        buf_f(&w->out, ",\"bytes\":%lld}", (long long)bytes);
        first = false;
    }
    buf_ch(&w->out, ']');
}

/* What the pod's cell is made of (cell.h). */
static void add_cell(struct writer_of_spec *w) {
    buf_c(&w->out, ",\"hostname\":");
    buf_json(&w->out, hostname_of(w->in->env.pod));
    buf_c(&w->out, ",\"devices\":[");
    for (size_t i = 0; i < w->in->n_files; i++) {
        const struct gpu_file *f = &w->in->files[i];
        buf_f(&w->out, "%s{\"name\":\"%s\",\"major\":%u,\"minor\":%u}", i ? "," : "", f->name,
              f->major, f->minor);
    }
    buf_ch(&w->out, ']');
    add_memory_volumes(w);
}

static void add_head(struct writer_of_spec *w) {
    yyjson_val *pod = w->in->env.pod;
    struct str policy = json_str_at(pod, "spec.restartPolicy"),
               uid = json_str_at(pod, "metadata.uid");

    buf_c(&w->out, "{\"uid\":");
    buf_json(&w->out, uid);
    add_cell(w);
    buf_c(&w->out, ",\"namespace\":");
    buf_json(&w->out, json_str_at(pod, "metadata.namespace"));
    buf_c(&w->out, ",\"name\":");
    buf_json(&w->out, json_str_at(pod, "metadata.name"));
    buf_c(&w->out, ",\"restartPolicy\":");
    buf_json(&w->out, str_empty(policy) ? STR("Always") : policy);
    if (w->in->netns.n && !w->in->podman) {
        buf_c(&w->out, ",\"netns\":");
        buf_json(&w->out, w->in->netns);
    }
    buf_f(&w->out, ",\"grace\":%lld",
          (long long)json_i64_at(pod, "spec.terminationGracePeriodSeconds", 30));
    buf_f(&w->out, ",\"sandbox\":{\"plain\":%s,\"uid\":%u,\"gid\":%u,\"cgroup\":%d,\"cgroupName\":",
          w->in->podman ? "true" : "false", (unsigned)w->in->uid, (unsigned)w->in->gid,
          (int)w->in->probe->cgroup);
    buf_json(&w->out, arena_f(&w->arena, "berth/%.*s", STR_ARG(uid)));
    buf_c(&w->out, ",\"dataDir\":");
    buf_json(&w->out, str_of(w->in->data_dir));
    buf_f(&w->out,
          ",\"memory\":%lld,\"memoryMost\":%lld,\"cpuMilli\":%lld,\"pids\":%lld,"
          "\"strict\":%s,\"pidsOfAll\":%lld,\"userPids\":%lld,\"walls\":%s}",
          (long long)limit(pod, STR("memory"), false), (long long)memory_most(),
          (long long)limit(pod, STR("cpu"), true), (long long)pids_of_pod(),
          w->in->strict ? "true" : "false", (long long)pids_of_all(), (long long)pids_of_pod(),
          w->in->probe->mounts && !w->in->podman ? "true"
                                                 : "false"); /* hostIPC is nobody's to ask for */
}

static void begin(struct writer_of_spec *w) {
    const struct pod_spec_in *in = w->in;

    w->env = in->env;
    w->volumes = (struct pod_volumes_in){.env = &w->env,
                                         .dir = w->volume_dir,
                                         .host_path_dir = in->host_path_dir,
                                         .claims_dir = in->claims_dir,
                                         .node_name = in->node_name,
                                         .no_mounts = !in->podman && !in->probe->mounts,
                                         .uid = in->uid,
                                         .gid = in->gid,
                                         .seen = in->seen};
    arena_init(&w->arena, 64 << 20);
}

int pod_spec_follow(const struct pod_spec_in *in, bool store, struct err *err) {
    struct writer_of_spec w = {.in = in, .err = err};

    begin(&w);
    int code = name_folders(&w);
    code = code ? code : pod_volumes_follow(&w.volumes, store, &w.arena, err);
    arena_release(&w.arena);
    return code;
}

int pod_spec_write(const struct pod_spec_in *in, struct pod_spec_notes *ret_notes,
                   struct err *err) {
    struct writer_of_spec w = {.in = in, .err = err};

    begin(&w);
    buf_init(&w.out, FILE_READ_MAX);
    int code = make_folders(&w);
    code = code ? code : pod_volumes_make(&w.volumes, &w.arena, err);
    if (code == 0) {
        add_head(&w);
        code = add_containers(&w);
    }
    if (code == 0 && (arena_ok(&w.arena) || buf_ok(&w.out))) {
        code = err_set(err, ERR_INVALID, "the pod is too large");
    }
    code = code ? code : file_store(in->dir, "spec.json", buf_view(&w.out), 0600, err);
    if (code == 0) {
        *ret_notes = w.notes;
    }
    buf_release(&w.out);
    arena_release(&w.arena);
    return code;
}
