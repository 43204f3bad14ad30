/*
 * pod_spec: see pod_spec.h.
 *
 * A container is its command in the sandbox, whose files are those of the machine or, where the pod runs in its
 * images, of the image and of a layer of its own.
 */
#include "node/spec/pod_spec.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/files/files.h"
#include "node/spec/pod_files.h"
#include "node/spec/pod_image.h"
#include "node/spec/pod_life.h"
#include "node/spec/pod_limits.h"
#include "node/spec/pod_links.h"
#include "node/spec/pod_volumes.h"
#include "node/weights/weights.h"
#include "wire/text/quantity.h"

enum {
    PEERS_MAX = 256,
    HOST_NAME_BYTES = 63, /* the kernel's is 64 */
};

struct writer_of_spec {
    const struct pod_spec_in *in;
    struct pod_volumes_in volumes;
    struct pod_env_in env;
    struct arena arena;
    struct buf out;
    struct pod_spec_notes notes;
    bool ephemeral; /* the containers that are written came later */
    char root[PATH_LEN], work[PATH_LEN], volume_dir[PATH_LEN];
    /* Of the container that is written; NULL: a process of the machine */
    const struct image *image;
    struct err *err;
    size_t made; /* files of what the API makes for its volumes */
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

/* What every container has, beside what is only a process's of the machine, or an image's. */
static int set_base(struct writer_of_spec *w, yyjson_val *c, struct pod_env *e) {
    struct str hostname = json_str_at(w->in->env.pod, "spec.hostname");
    int code =
        w->image ? pod_image_env(e, w->image)
                 : pod_env_set(e, STR("PATH"),
                               STR("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"));

    if (str_empty(hostname)) {
        hostname = json_str_at(w->in->env.pod, "metadata.name");
    }
    code = code ? code : pod_env_set(e, STR("HOSTNAME"), hostname);
    if (w->image == NULL) {
        code = code ? code : pod_env_set(e, STR("HOME"), str_of(w->work));
        code = code ? code : pod_env_set(e, STR("TMPDIR"), arena_f(&w->arena, "%s/tmp", w->root));
        code = code ? code : pod_env_set(e, STR("BERTH_ROOT"), str_of(w->root));
    }
    return code ? code
                : pod_env_set(e, STR("BERTH_TERMINATION_LOG"),
                              w->in->probe->mounts ? pod_message_path(c) : message_file(w, c));
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

/* Does the container need files of the machine's driver: an image, with GPUs that are none of the machine's making? */
static bool needs_driver(const struct writer_of_spec *w, struct str devices) {
    return w->image && w->in->n_files > 0 && !str_empty(devices);
}

/* Behind what the image or the pod says of its own libraries. */
static int set_library_path(struct writer_of_spec *w, struct pod_env *e, struct str devices) {
    struct str own = STR(""),
               all = needs_driver(w, devices)
                         ? cdi_library_path(w->in->driver, w->in->n_driver, &w->arena)
                         : STR("");

    for (size_t i = 0; i < e->n; i++) {
        own = str_is(e->v[i].key, "LD_LIBRARY_PATH") ? e->v[i].value : own;
    }
    return all.n == 0 ? 0
                      : pod_env_set(e, STR("LD_LIBRARY_PATH"),
                                    arena_f(&w->arena, "%.*s%s%.*s", STR_ARG(own), own.n ? ":" : "",
                                            STR_ARG(all)));
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
    code = code ? code : set_library_path(w, e, *ret_devices);
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
    bool none = yyjson_arr_size(command) == 0 || str_empty(json_str(yyjson_arr_get_first(command)));

    if (none && w->ephemeral) { /* what images that people debug with start */
        add_word(w, STR("/bin/sh"));
        add_words(w, e, json_get(c, STR("args")), 0);
        return 0;
    }
    if (none) {
        return err_set(
            w->err, ERR_INVALID,
            "container \"%.*s\" has no command: this node runs commands as processes and does "
            "not look into images (give a command, or install podman: apt install podman)",
            STR_ARG(json_str_at(c, "name")));
    }
    w->notes.image_unused |= !str_empty(json_str_at(c, "image"));
    add_words(w, e, command, 0);
    add_words(w, e, json_get(c, STR("args")), 0);
    return 0;
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
    if (!w->in->probe->mounts || str_empty(name) || str_empty(sub)) {
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

/* An image that uses the machine's network has the machine's names, too. */
static int copy_net_files(struct writer_of_spec *w, struct str *ret_hosts, struct str *ret_resolv) {
    static const char *const names[] = {"hosts", "resolv.conf"};
    struct str *const ret[] = {ret_hosts, ret_resolv};
    int code = 0;

    for (size_t i = 0; i < 2 && code == 0; i++) {
        struct str text = {NULL, 0};
        struct buf b;
        if (ret[i]->p) {
            continue;
        }
        file_load("/etc", names[i], &w->arena, &text, NULL);
        buf_init(&b, 1 << 20);
        buf_str(&b, text);
        code = give_file(w, names[i], arena_f(&w->arena, "/etc/%s", names[i]).p, &b, ret[i]);
    }
    return code;
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

static void add_driver(struct writer_of_spec *w, struct str devices) {
    if (!needs_driver(w, devices)) {
        return;
    }
    w->notes.no_driver |= w->in->n_driver == 0;
    for (size_t i = 0; i < w->in->n_driver; i++) {
        struct buf b;
        buf_init(&b, 4 * PATH_LEN);
        buf_c(&b, "{\"source\":");
        buf_json(&b, w->in->driver[i].source);
        buf_c(&b, ",\"target\":");
        buf_json(&b, w->in->driver[i].target);
        buf_c(&b, ",\"readOnly\":true}");
        add_mount(w, arena_str(&w->arena, buf_view(&b)));
        buf_release(&b);
    }
}

/* The weights of the pod's model, in each of its containers. */
static int find_weights(struct writer_of_spec *w, yyjson_val *c, struct str *ret) {
    int code = weights_source(w->in->env.pod, c, w->in->weights_dir, &w->arena, ret, w->err);

    return code == 0 && ret->n && !w->in->probe->mounts
               ? err_set(w->err, ERR_INVALID, "weights of models: this node cannot mount")
               : code;
}

static void add_weights(struct writer_of_spec *w, struct str from) {
    struct buf b;

    buf_init(&b, 4 * PATH_LEN);
    buf_c(&b, "{\"source\":");
    buf_json(&b, from);
    buf_c(&b, ",\"target\":\"" WEIGHTS_TARGET "\",\"readOnly\":true}");
    add_mount(w, arena_str(&w->arena, buf_view(&b)));
    buf_release(&b);
}

static int add_mounts(struct writer_of_spec *w, yyjson_val *c, struct str devices) {
    struct str hosts = {NULL, 0}, resolv = {NULL, 0}, weights = {NULL, 0};
    size_t n = yyjson_arr_size(json_get(c, STR("volumeMounts")));
    bool own = w->in->netns.n && w->in->probe->mounts;
    int code = own ? write_net_files(w, &hosts, &resolv) : write_hosts(w, &hosts);

    code = code || own || w->image == NULL ? code : copy_net_files(w, &hosts, &resolv);
    code = code ? code : find_weights(w, c, &weights);
    if (code) {
        return code;
    }
    if (!w->in->probe->mounts) {
        w->notes.volumes_below_root = n > 0;
        return 0;
    }
    buf_ch(&w->out, ',');
    code = pod_volumes_mounts(&w->volumes, c, &w->arena, &w->out, w->err);
    if (code == 0 && weights.n) {
        add_weights(w, weights);
    }
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
    if (code == 0) {
        add_driver(w, devices);
    }
    return code;
}

static int add_command(struct writer_of_spec *w, const struct pod_env *e, yyjson_val *c) {
    int code;

    buf_c(&w->out, ",\"argv\":[");
    code = w->image ? pod_image_argv(e, w->image, c, &w->out, w->err) : add_argv_process(w, e, c);
    buf_c(&w->out, "],\"env\":[");
    for (size_t i = 0; i < e->n; i++) {
        add_word(w, arena_f(&w->arena, "%.*s=%.*s", STR_ARG(e->v[i].key), STR_ARG(e->v[i].value)));
    }
    buf_ch(&w->out, ']');
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
    buf_f(&w->out, ",\"init\":%s,\"sidecar\":%s", init ? "true" : "false",
          init && str_is(json_str_at(c, "restartPolicy"), "Always") ? "true" : "false");
    code = add_command(w, &e, c);
    if (code == 0 && w->image) {
        dir = pod_image_folder(w->image, c);
        code = pod_image_root(w->image, c, w->in->dir, w->in->uid, w->in->gid, &w->out, w->err);
    }
    if (code) {
        return code;
    }
    buf_f(&w->out, ",\"stdin\":%s,\"stdinOnce\":%s,\"tty\":%s,\"cwd\":",
          json_bool_at(c, "stdin", false) ? "true" : "false",
          json_bool_at(c, "stdinOnce", false) ? "true" : "false",
          json_bool_at(c, "tty", false) ? "true" : "false");
    buf_json(&w->out, str_empty(dir) ? str_of(w->work) : dir);
    code = pod_life_write(c, &e, w->in->env.facts->pod_ip, message_file(w, c),
                          w->image ? json_str_at(w->image->config, "StopSignal") : STR(""),
                          &w->arena, &w->out, w->err);
    if (code) {
        return code;
    }
    code = add_mounts(w, c, devices);
    buf_ch(&w->out, '}');
    return code;
}

static int add_containers(struct writer_of_spec *w) {
    static const char *const lists[] = {"spec.initContainers", "spec.containers"};
    yyjson_arr_iter it;
    yyjson_val *c;
    bool first = true;
    size_t n = 0;
    int code = 0;

    buf_c(&w->out, ",\"containers\":[");
    for (int i = 0; i < 2; i++) {
        yyjson_arr_iter_init(json_path(w->in->env.pod, lists[i]), &it);
        while (code == 0 && (c = yyjson_arr_iter_next(&it))) {
            w->image = w->in->images ? &w->in->images[n++] : NULL;
            code = add_container(w, c, i == 0, first);
            first = false;
        }
    }
    buf_c(&w->out, "]}\n");
    return code;
}

static struct str hostname_of(yyjson_val *pod) {
    struct str name = json_str_at(pod, "spec.hostname");

    return str_head(str_empty(name) ? json_str_at(pod, "metadata.name") : name, HOST_NAME_BYTES);
}

/* Volumes in memory: as large as they say, at most as the pod's memory; without either as the pod's /dev/shm is. */
static void add_memory_volumes(struct writer_of_spec *w) {
    yyjson_val *v;
    yyjson_arr_iter it;
    int64_t most = pod_limit(w->in->env.pod, STR("memory"), false);
    bool first = true;

    buf_c(&w->out, ",\"memory\":[");
    yyjson_arr_iter_init(json_path(w->in->env.pod, "spec.volumes"), &it);
    while (w->in->probe->mounts && (v = yyjson_arr_iter_next(&it))) {
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

/* Beside the first: what the pod asks for, and its project's, by which it uses folders that the project shares. */
static void add_groups(struct writer_of_spec *w) {
    const struct pod_ids *ids = w->in->ids;

    if (ids == NULL || w->in->uid == 0) {
        return;
    }
    buf_c(&w->out, ",\"groups\":[");
    if (ids->group) {
        buf_f(&w->out, "%u,", (unsigned)w->in->gid);
    }
    if (ids->volume) {
        buf_f(&w->out, "%u,", (unsigned)ids->volume);
    }
    for (size_t i = 0; i < ids->n; i++) {
        buf_f(&w->out, "%u,", (unsigned)ids->more[i]);
    }
    w->out.n -= w->out.p[w->out.n - 1] == ',';
    buf_ch(&w->out, ']');
}

static void add_head(struct writer_of_spec *w) {
    yyjson_val *pod = w->in->env.pod;
    struct str policy = json_str_at(pod, "spec.restartPolicy"),
               uid = json_str_at(pod, "metadata.uid");

    gid_t group = w->in->ids ? w->in->ids->group : 0;

    buf_c(&w->out, "{\"uid\":");
    buf_json(&w->out, uid);
    add_cell(w);
    buf_c(&w->out, ",\"namespace\":");
    buf_json(&w->out, json_str_at(pod, "metadata.namespace"));
    buf_c(&w->out, ",\"name\":");
    buf_json(&w->out, json_str_at(pod, "metadata.name"));
    buf_c(&w->out, ",\"restartPolicy\":");
    buf_json(&w->out, str_empty(policy) ? STR("Always") : policy);
    if (w->in->netns.n) {
        buf_c(&w->out, ",\"netns\":");
        buf_json(&w->out, w->in->netns);
    }
    buf_f(&w->out, ",\"grace\":%lld",
          (long long)json_i64_at(pod, "spec.terminationGracePeriodSeconds", 30));
    buf_f(&w->out,
          ",\"sandbox\":{\"uid\":%u,\"gid\":%u,\"cgroup\":%d,\"cgroupName\":", (unsigned)w->in->uid,
          (unsigned)(group ? group : w->in->gid), (int)w->in->probe->cgroup);
    buf_json(&w->out, arena_f(&w->arena, "berth/%.*s", STR_ARG(uid)));
    add_groups(w);
    buf_c(&w->out, ",\"dataDir\":");
    buf_json(&w->out, str_of(w->in->data_dir));
    buf_f(&w->out,
          ",\"memory\":%lld,\"memoryMost\":%lld,\"cpuMilli\":%lld,\"pids\":%lld,"
          "\"strict\":%s,\"pidsOfAll\":%lld,\"userPids\":%lld,\"walls\":%s}",
          (long long)pod_limit(pod, STR("memory"), false), (long long)pod_memory_most(),
          (long long)pod_limit(pod, STR("cpu"), true), (long long)pod_pids_most(),
          w->in->strict ? "true" : "false", (long long)pod_pids_of_all(),
          (long long)pod_pids_most(),
          w->in->probe->mounts ? "true" : "false"); /* hostIPC is nobody's to ask for */
}

static void begin(struct writer_of_spec *w) {
    const struct pod_spec_in *in = w->in;

    w->env = in->env;
    w->volumes = (struct pod_volumes_in){.env = &w->env,
                                         .dir = w->volume_dir,
                                         .host_path_dir = in->host_path_dir,
                                         .claims_dir = in->claims_dir,
                                         .node_name = in->node_name,
                                         .images = in->volume_images,
                                         .n_images = in->n_volume_images,
                                         .no_mounts = !in->probe->mounts,
                                         .uid = in->uid,
                                         .gid = in->gid,
                                         .own_gid = in->ids ? in->ids->volume : 0,
                                         .seen = in->seen,
                                         .made = &w->made};
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

int pod_spec_more(const struct pod_spec_in *in, bool store, size_t *ret_n, struct err *err) {
    struct writer_of_spec w = {.in = in, .err = err, .ephemeral = true};
    yyjson_val *list = json_path(in->env.pod, "spec.ephemeralContainers"), *c;
    yyjson_arr_iter it = yyjson_arr_iter_with(list);

    begin(&w);
    buf_init(&w.out, FILE_READ_MAX);
    int code = name_folders(&w);
    buf_c(&w.out, "{\"containers\":[");
    for (bool first = true; code == 0 && (c = yyjson_arr_iter_next(&it)); first = false) {
        code = add_container(&w, c, false, first);
    }
    buf_c(&w.out, "]}\n");
    if (code == 0 && (arena_ok(&w.arena) || buf_ok(&w.out))) {
        code = err_set(err, ERR_INVALID, "the pod is too large");
    }
    if (code == 0 && store) {
        code = file_store(in->dir, "more.json", buf_view(&w.out), 0600, err);
        *ret_n = yyjson_arr_size(list);
    }
    buf_release(&w.out);
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
