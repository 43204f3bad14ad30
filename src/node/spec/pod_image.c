/* pod_image: see pod_image.h. */
#include "node/spec/pod_image.h"

#include <stdio.h>
#include <unistd.h>

#include "node/files/files.h"

int pod_image_env(struct pod_env *e, const struct image *image) {
    struct str key, value;
    yyjson_arr_iter it;
    yyjson_val *v;
    bool home = false;
    int code = pod_env_set(e, STR("PATH"),
                           STR("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"));

    yyjson_arr_iter_init(json_get(image->config, STR("Env")), &it);
    while (code == 0 && (v = yyjson_arr_iter_next(&it))) {
        if (str_cut(json_str(v), '=', &key, &value) && key.n) {
            code = pod_env_set(e, key, value);
            home |= str_is(key, "HOME");
        }
    }
    return code || home || image->home.n == 0 ? code : pod_env_set(e, STR("HOME"), image->home);
}

struct word_list {
    const struct pod_env *e; /* NULL: as they are */
    struct buf *out;
    size_t n;
};

static void add_list(struct word_list *w, yyjson_val *list) {
    yyjson_arr_iter it;
    yyjson_val *v;

    yyjson_arr_iter_init(list, &it);
    while ((v = yyjson_arr_iter_next(&it))) {
        buf_c(w->out, w->n++ ? "," : "");
        buf_json(w->out, w->e ? pod_env_expand(w->e, json_str(v)) : json_str(v));
    }
}

int pod_image_argv(const struct pod_env *e, const struct image *image, yyjson_val *container,
                   struct buf *out, struct err *err) {
    yyjson_val *command = json_get(container, STR("command")),
               *args = json_get(container, STR("args"));
    struct word_list own = {.e = e, .out = out};

    if (yyjson_arr_size(command)) {
        add_list(&own, command);
        add_list(&own, args);
    } else {
        struct word_list its = {.out = out};
        add_list(&its, json_get(image->config, STR("Entrypoint")));
        own.n = its.n;
        if (yyjson_arr_size(args)) {
            add_list(&own, args);
        } else {
            its.n = own.n;
            add_list(&its, json_get(image->config, STR("Cmd")));
            own.n = its.n;
        }
    }
    return own.n ? 0
                 : err_set(err, ERR_INVALID,
                           "container \"%.*s\" has no command, and neither has its image",
                           STR_ARG(json_str_at(container, "name")));
}

struct str pod_image_folder(const struct image *image, yyjson_val *container) {
    struct str own = json_str_at(container, "workingDir"),
               its = json_str_at(image->config, "WorkingDir");

    return own.n ? own : its.n && its.p[0] == '/' ? its : STR("/");
}

/* layers/NAME/upper and work. What lies at the root of the layer is the root folder: of the image's user only where
 * that is 0, as in the image. */
static int make_layer(const struct image *image, const char *layer, uid_t uid, gid_t gid,
                      struct err *err) {
    char upper[PATH_LEN], work[PATH_LEN];
    int code = path_join(upper, layer, "upper", err);

    code = code ? code : path_join(work, layer, "work", err);
    code = code ? code : dir_make(upper, 0755, err);
    code = code ? code : dir_make(work, 0700, err);
    if (code == 0 && uid && image->uid == 0 && chown(upper, uid, gid) == -1) {
        code = err_set(err, ERR_IO, "%s cannot be given to user %u", upper, (unsigned)uid);
    }
    return code;
}

int pod_image_root(const struct image *image, yyjson_val *container, const char *pod_dir, uid_t uid,
                   gid_t gid, struct buf *out, struct err *err) {
    char layers[PATH_LEN], layer[PATH_LEN], name[256];
    bool read_only = json_bool_at(container, "securityContext.readOnlyRootFilesystem", false);

    if (!str_copy(json_str_at(container, "name"), name, sizeof(name)) ||
        !path_plain(str_of(name))) {
        return err_set(err, ERR_INVALID, "the name of a container is no name of a folder");
    }
    int code = path_join(layers, pod_dir, "layers", err);
    code = code ? code : path_join(layer, layers, name, err);
    code = code ? code : dir_make(layers, 0700, err);
    code = code ? code : make_layer(image, layer, uid, gid, err);
    if (code == 0) {
        buf_c(out, ",\"imageID\":");
        buf_json(out, str_of(image->id));
        buf_c(out, ",\"root\":{\"lower\":");
        buf_json(out, str_of(image->root));
        buf_c(out, ",\"layer\":");
        buf_json(out, str_of(layer));
        buf_f(out, ",\"uid\":%u,\"gid\":%u,\"readOnly\":%s}", (unsigned)image->uid,
              (unsigned)image->gid, read_only ? "true" : "false");
    }
    return code;
}
