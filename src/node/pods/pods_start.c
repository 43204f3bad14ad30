/* pods_start: from a Pod to a shim: slices, ConfigMaps and Secrets, folders and spec.json, the shim
 * server. */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "node/files/beside.h"
#include "node/gpu/gpu_files.h"
#include "node/pods/pods_private.h"
#include "node/spec/pod_made.h"
#include "node/spec/pod_spec.h"

/* ---- devices ---- */

static void on_devices(void *ctx, int code, const struct str *uuids, size_t n,
                       const struct err *err) {
    struct pod *p = ctx;

    for (size_t i = 0; code == 0 && i < n && i < p->devices.n; i++) {
        p->uuids[i] = arena_str(&p->arena, uuids[i]);
    }
    p->waiting_answer = false;
    if (p->state != POD_DEVICES) { /* stopped meanwhile */
        if (code == 0) {
            gpus_release(p->pods->o.gpus, str_of(p->uid));
        }
    } else if (code == 0) {
        pod_event(p, POD_EV_DEVICES);
    } else if (code == ERR_CONFLICT || code == ERR_TOO_MANY || code == ERR_TIMEOUT ||
               code == ERR_UNAVAILABLE) {
        if (p->tries < 6) {
            pod_retry(p, "SliceNotReady", err->text);
        } else {
            pod_fail(p, "OutOfSlices", err->text);
        }
    } else {
        pod_fail(p, "SliceFailed", err->text);
    }
    pod_answered(p);
}

void pod_acquire(struct pod *p) {
    struct arena a;
    yyjson_doc *doc;
    struct err err;
    int code;

    arena_reset(&p->arena);
    p->sources = NULL;
    p->n_sources = 0;
    p->devices = (struct pod_devices){0};
    p->images = NULL;
    p->images_known = false;
    arena_init(&a, 32 << 20);
    code = object_tree(p->obj, &a, &doc, &err);
    struct str text =
        code ? STR("")
             : json_str(json_get(json_path(yyjson_doc_get_root(doc), "metadata.annotations"),
                                 STR(DEVICES_ANNOTATION)));
    if (code == 0 && !str_empty(text)) {
        code = pod_devices_decode(text, &p->arena, &p->devices, &err);
    }
    arena_release(&a);
    p->uuids = p->devices.n ? ARENA_ARRAY(&p->arena, struct str, p->devices.n) : NULL;
    if (code) {
        pod_fail(p, "BadDevices", err.text);
    } else if (p->devices.n == 0) {
        pod_event(p, POD_EV_DEVICES);
    } else if (p->pods->o.gpus == NULL || p->uuids == NULL) {
        pod_fail(p, "NoGpus", "the pod was given GPU slices, but this node has no GPUs");
    } else {
        p->waiting_answer = true;
        gpus_acquire(p->pods->o.gpus, str_of(p->uid), &p->devices, on_devices, p);
    }
}

/* ---- ConfigMaps and Secrets: asked for when the spec turns out to need them ---- */

struct fetch {
    struct pod *pod;
    size_t index;
};

static void on_fetched(void *ctx, int code, struct str json) {
    struct fetch *f = ctx;
    struct pod *p = f->pod;
    yyjson_doc *doc;

    struct pod_source_doc *s = f->index < p->n_sources ? &p->sources[f->index] : NULL;

    p->fetching--;
    if (s && code == 0 && json_parse(&p->arena, json, &doc, NULL) == 0) {
        s->object = yyjson_doc_get_root(doc);
    } else if (s) {
        s->failed = code != ERR_NOT_FOUND;
    }
    if (s && s->object && s->kind == POD_TOKEN) {
        pod_live_keep(p, s->name, json, s->object);
    }
    mem_free(f);
    if (p->fetching == 0 && p->state == POD_RUNNING) {
        pod_live_step(p);
    } else if (p->fetching == 0) {
        pod_event(p, POD_EV_BEGIN);
    }
    pod_answered(p);
}

yyjson_val *pod_lookup(struct pod *p, enum pod_source kind, struct str name) {
    yyjson_val *token = kind == POD_TOKEN ? pod_live_token(p, name) : NULL;

    if (token) {
        return token;
    }
    for (size_t i = 0; i < p->n_sources; i++) {
        if (p->sources[i].kind == kind && str_eq(p->sources[i].name, name)) {
            return p->sources[i].object;
        }
    }
    struct pod_source_doc *v = ARENA_ARRAY(&p->arena, struct pod_source_doc, p->n_sources + 1);
    if (v) {
        if (p->n_sources) {
            memcpy(v, p->sources, p->n_sources * sizeof(*v));
        }
        p->sources = v;
        v[p->n_sources++] =
            (struct pod_source_doc){.kind = kind, .name = arena_str(&p->arena, name)};
    }
    return NULL;
}

static yyjson_val *lookup(void *ctx, enum pod_source kind, struct str name) {
    return pod_lookup(ctx, kind, name);
}

bool pod_fetch_new(struct pod *p) {
    bool any = false;

    for (size_t i = 0; i < p->n_sources; i++) {
        struct fetch *f = p->sources[i].asked ? NULL : mem_zalloc(sizeof(*f));
        if (f == NULL) {
            continue;
        }
        *f = (struct fetch){p, i};
        p->sources[i].asked = any = p->waiting_answer = true;
        p->fetching++;
        const struct pod_fetch what = {p->sources[i].kind, str_of(p->ns), p->sources[i].name,
                                       str_of(p->name), str_of(p->uid)};
        p->pods->o.fetch(p->pods->o.ctx, &what, on_fetched, f);
    }
    return any;
}

/* ---- folders and spec ---- */

/* What a process needs below /dev for the devices of the pod; simulated ones have no files. */
static int device_files(struct pod *p, struct arena *a, struct gpu_file **ret, size_t *ret_n,
                        struct err *err) {
    struct gpus *gpus = p->pods->o.gpus;
    struct gpu_where *v;
    size_t n = p->devices.n;

    if (n == 0 || gpus == NULL || gpus_simulated(gpus)) {
        return 0;
    }
    v = ARENA_ARRAY(a, struct gpu_where, n);
    *ret = ARENA_ARRAY(a, struct gpu_file, GPU_FILES_MAX);
    if (v == NULL || *ret == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    for (size_t i = 0; i < n; i++) {
        if (!gpus_where(gpus, p->uuids[i], &v[i])) {
            return err_set(err, ERR_NOT_FOUND, "device %.*s is not there any more",
                           STR_ARG(p->uuids[i]));
        }
    }
    return gpu_files_list("", v, n, *ret, ret_n, err);
}

int pod_with_spec(struct pod *p, struct arena *a, struct err *err,
                  int (*run)(const struct pod_spec_in *in, void *ctx, struct err *err), void *ctx) {
    struct pods *ps = p->pods;
    yyjson_doc *doc;
    struct gpu_file *files = NULL;
    struct pod_images_found images = {0};
    struct cdi_file *driver = NULL;
    size_t n_files = 0, n_driver = 0;
    struct pod_ids ids = {0};
    gid_t group = 0;
    char claims[PATH_LEN];

    int code = object_tree(p->obj, a, &doc, err);
    code = code ? code : path_join(claims, ps->o.data_dir, "volumes", err);
    code = code ? code : pod_ids_read(yyjson_doc_get_root(doc), &ids, err);
    if (code == 0 && ps->o.probe->root) {
        code = users_group(ps->o.users, str_of(p->ns), &group, err);
        code = code || p->user || ids.user ? code : users_take(ps->o.users, &p->user, err);
    } else if (code == 0 && (ids.user || ids.group)) {
        code = err_set(err, ERR_INVALID,
                       "securityContext.runAsUser, runAsGroup: this node does not run as root, and "
                       "has one user for all pods");
    }
    code = code ? code : device_files(p, a, &files, &n_files, err);
    code = code ? code : pod_images_read(p, a, &images, err);
    for (size_t i = 0; code == 0 && images.containers && ids.user && i < p->n_images; i++) {
        images.containers[i].uid = ids.user; /* inside as outside: what the pod asks for */
        images.containers[i].gid = ids.group ? ids.group : images.containers[i].gid;
    }
    if (code == 0 && images.containers && n_files) {
        code = cdi_read(NULL, a, &driver, &n_driver, err);
    }
    struct pod_facts facts = ps->o.facts;
    facts.pod_ip = pod_ip(p);
    if (code == 0) {
        const struct pod_spec_in in = {
            .env = {.pod = yyjson_doc_get_root(doc), .facts = &facts, .lookup = lookup, .ctx = p},
            .data_dir = ps->o.data_dir,
            .dir = p->dir,
            .host_path_dir = ps->o.host_path_dir,
            .weights_dir = ps->o.weights_dir,
            .claims_dir = claims,
            .node_name = ps->o.node_name,
            .probe = ps->o.probe,
            .uid = ids.user ? ids.user : p->user,
            .gid = group,
            .ids = &ids,
            .files = files,
            .n_files = n_files,
            .images = images.containers,
            .volume_images = images.volumes,
            .n_volume_images = images.n_volumes,
            .driver = driver,
            .n_driver = n_driver,
            .strict = ps->o.strict,
            .services = ps->o.services,
            .services_ctx = ps->o.ctx,
            .netns = str_of(p->attached ? p->netns : ""),
            .gateway = ps->o.facts.gateway,
            .simulated = ps->o.gpus && gpus_simulated(ps->o.gpus),
            .devices = &p->devices,
            .uuids = p->uuids,
            .seen = pod_live_seen(
                p, yyjson_arr_size(json_path(yyjson_doc_get_root(doc), "spec.volumes")))};
        code = run(&in, ctx, err);
    }
    return code;
}

static int write_spec(const struct pod_spec_in *in, void *notes, struct err *err) {
    int code = dir_make(in->dir, 0711, err);

    return code ? code : pod_spec_write(in, notes, err);
}

/* Pods that are to run for ever wait and are tried again: one that failed would be replaced by its like at once. */
static bool is_to_stay(const struct pod *p, struct arena *a) {
    yyjson_doc *doc;
    return object_tree(p->obj, a, &doc, NULL) == 0 &&
           str_is(json_str_at(yyjson_doc_get_root(doc), "spec.restartPolicy"), "Always");
}

static void tell_notes(struct pod *p, const struct pod_spec_notes *n) {
    if (n->only_first_slice) {
        pod_tell(
            p, true, "OnlyFirstSlice",
            "The container holds several MIG devices; a CUDA process sees only the first one.");
    }
    if (n->no_driver) {
        pod_tell(p, true, "NoDriverFiles",
                 "No CDI specification of nvidia.com/gpu names the driver's libraries (nvidia-ctk "
                 "cdi generate "
                 "--output=/etc/cdi/nvidia.yaml): the image has to bring them.");
    }
    if (n->volumes_below_root) {
        pod_tell(p, true, "VolumesBelowRoot",
                 "This node cannot mount privately: volumes are at $BERTH_ROOT/volumes/NAME.");
    }
    pod_tell(p, false, "Started",
             p->in_images ? "Running in the sandbox, with the files of the image."
             : n->image_unused
                 ? "Running the command as a process in the sandbox; the image is not used."
                 : "Running the command as a process in the sandbox.");
}

/* The token is asked for while the network is made: both take a moment, and a spec without it is written in vain. */
static void ask_ahead(struct pod *p) {
    struct pod_facts facts = p->pods->o.facts;
    struct arena a;
    yyjson_doc *doc;

    if (p->n_sources) {
        return;
    }
    arena_init(&a, 32 << 20);
    if (object_tree(p->obj, &a, &doc, NULL) == 0) {
        const struct pod_env_in env = {
            .pod = yyjson_doc_get_root(doc), .facts = &facts, .lookup = lookup, .ctx = p};
        if (pod_account_wanted(&env)) {
            pod_account_ask(&env, &a);
        }
    }
    arena_release(&a);
    pod_fetch_new(p);
}

void pod_prepare(struct pod *p) {
    struct pod_spec_notes notes = {0};
    struct err err = {0};
    struct arena a;

    if (p->fetching) {
        return;
    }
    if (p->fresh_fetch) { /* tried before: what was missing may be there now */
        p->fresh_fetch = false;
        p->n_sources = 0;
    }
    if (!pod_images(p) || !pod_turn(p)) {
        return;
    }
    ask_ahead(p);
    if (!pod_attach(p) || p->fetching) {
        return;
    }
    arena_init(&a, 32 << 20);
    int code = pod_with_spec(p, &a, &err, write_spec, &notes);
    bool stays = code != 0 && is_to_stay(p, &a);
    arena_release(&a);
    if (pod_fetch_new(p)) {
        return;
    }
    if (code == 0) {
        tell_notes(p, &notes);
        pod_event(p, POD_EV_READY);
    } else if (code == ERR_NOT_FOUND) {
        pod_retry(p, "CreateContainerConfigError", err.text);
    } else if (stays) {
        pod_retry(p, "CreateContainerError", err.text);
    } else {
        pod_fail(p, "CannotRun", err.text);
    }
}

/* ---- the shim server ---- */

/* Of this version: what it is told in a pod's folder is between the two of us (shim_program.c). */
#define SHIM_PROGRAM "berth-shim-" BERTH_VERSION

static void on_server_exit(void *ctx, int pid, int64_t status, int signal) {
    struct pods *ps = ctx;
    struct err err;

    if (ps->retired && pid == ps->retired_pid) { /* its last shim has ended */
        loop_child_free(TAKE(ps->retired));
        return;
    }
    loop_child_free(ps->server);
    ps->server = NULL;
    ps->verb_shims = true; /* should it be the program that cannot run here */
    log_error(ps->o.log, "the shim server ended (status %lld, signal %d); starting another",
              (long long)status, signal);
    if (ps->server_fd != -1) {
        close(ps->server_fd);
        ps->server_fd = -1;
    }
    if (pods_server_start(ps, &err)) {
        log_error(ps->o.log, "%s", err.text);
    }
}

int pods_server_start(struct pods *ps, struct err *err) {
    const char *argv[] = {ps->o.program, "shim", "--serve", ps->userns[0] ? "--userns" : NULL,
                          ps->userns,    NULL};
    char shim[PATH_LEN];
    struct child_options o = {.file = ps->o.program, .argv = argv, .n_fds = 3, .detached = true};
    int pair[2];

    if (!ps->verb_shims && beside_program(ps->o.program, SHIM_PROGRAM, X_OK, shim)) {
        o.file = shim;
    }

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == -1) {
        return err_sys(err, errno, "socketpair");
    }
    o.fds[0] = pair[1];
    o.fds[1] = -1;
    o.fds[2] = STDERR_FILENO;
    int code = loop_spawn(ps->o.loop, &o, on_server_exit, ps, &ps->server, err);
    close(pair[1]);
    if (code) {
        close(pair[0]);
        return code;
    }
    ps->server_fd = pair[0];
    return 0;
}

void pods_set_userns(struct pods *ps, struct str path) {
    struct err err;

    if (ps->o.probe->root || str_is(path, ps->userns) ||
        !str_copy(path, ps->userns, sizeof(ps->userns))) {
        return;
    }
    if (ps->retired) { /* one is enough to remember: the one before it is reaped by whoever comes after us */
        loop_child_free(ps->retired);
    }
    ps->retired = ps->server;
    ps->retired_pid = ps->server ? loop_child_pid(ps->server) : 0;
    ps->server = NULL;
    if (ps->server_fd != -1) {
        close(ps->server_fd);
        ps->server_fd = -1;
    }
    if (pods_server_start(ps, &err)) {
        log_error(ps->o.log, "%s", err.text);
    }
}

void pod_launch(struct pod *p) {
    char line[PATH_LEN + 2];
    int n = snprintf(line, sizeof(line), "%s\n", p->dir);

    pod_live_begin(p);
    /* Secrets and the like are on disk now, for the pod's user alone. */
    arena_release(&p->arena);
    arena_init(&p->arena, 32 << 20);
    p->sources = NULL;
    p->n_sources = 0;
    p->images = NULL;
    p->asked_mono = clock_mono(p->pods->clock);
    pod_watch(p);
    /* A send that fails is noticed by the tick, as is a fork that fails. */
    (void)!send(p->pods->server_fd, line, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
}
