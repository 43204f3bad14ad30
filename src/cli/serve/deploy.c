/*
 * deploy: `berth deploy`: an InferenceService made of a few words, by server-side apply, so that the same command with
 * other options changes the service.
 */
#include <unistd.h>

#include "base/limits.h"
#include "cli/kit/kit.h"
#include "cli/serve/deploy_spec.h"

#define SERVING "serving.kserve.io/v1beta1"
#define RUNTIMES "serving.kserve.io/v1alpha1"

/* ---- models that nobody fetches ---- */

/* All nodes are Berth's own, which download nothing; pods of other nodes may have somebody who does. */
static bool nodes_fetch_nothing(yyjson_val *nodes) {
    yyjson_val *items = json_get(nodes, STR("items")), *node;
    size_t i, n;
    yyjson_arr_foreach(items, i, n, node) {
        struct str by = json_str_at(node, "status.nodeInfo.containerRuntimeVersion");
        if (!str_starts(by, STR("berth://")) && !str_starts(by, STR("berth-process://"))) {
            return false;
        }
    }
    return yyjson_arr_size(items) > 0;
}

static void tell_far(const struct deploy_spec *s, yyjson_val *nodes) {
    bool there = str_starts(s->uri, STR("pvc://")) || str_starts(s->uri, STR("file://"));
    if (s->uri.n > 0 && !there && nodes_fetch_nothing(nodes)) {
        fprintf(stderr,
                "berth: the nodes download nothing, so replicas of %.*s wait: download the files "
                "into a folder below --weights, and deploy that folder\n",
                STR_ARG(s->uri));
    }
}

/* ---- what is missing on a machine without images ---- */

/* The value of an annotation of the runtime that the service gets, of those of the cluster. */
static struct str runtime_note(yyjson_val *list, const struct deploy_spec *s, const char *named,
                               const char *key) {
    yyjson_val *items = json_get(list, STR("items")), *r, *f;
    size_t i, n, k, m;
    yyjson_arr_foreach(items, i, n, r) {
        bool meant = named && str_is(json_str_at(r, "metadata.name"), named);
        yyjson_arr_foreach(json_path(r, "spec.supportedModelFormats"), k, m, f) {
            meant = meant || (!named && str_eq(json_str_at(f, "name"), s->format));
        }
        if (meant) {
            return json_str(json_get(json_path(r, "metadata.annotations"), str_of(key)));
        }
    }
    return (struct str){0};
}

static bool on_path(struct str program) {
    struct str rest = str_of(getenv("PATH")), dir;
    char path[4096];
    while (str_next(&rest, ':', &dir)) {
        snprintf(path, sizeof path, "%.*s/%.*s", STR_ARG(dir), STR_ARG(program));
        if (access(path, X_OK) == 0) {
            return true;
        }
    }
    return false;
}

/* Of a single node that runs processes of its machine, and is called as this one. */
static bool is_here(yyjson_val *nodes) {
    yyjson_val *items = json_get(nodes, STR("items")), *one = yyjson_arr_get_first(items);
    char host[256] = "";
    (void)gethostname(host, sizeof host - 1);
    return yyjson_arr_size(items) == 1 && str_is(json_str_at(one, "metadata.name"), host) &&
           str_starts(json_str_at(one, "status.nodeInfo.containerRuntimeVersion"),
                      STR("berth-process://"));
}

static void tell_program(struct cli *c, const struct deploy_spec *s) {
    const char *named = cli_value(&c->args, "runtime");
    struct str none = {0};
    yyjson_val *runtimes = NULL;
    if (cli_get(c, cli_path(c, RUNTIMES, "clusterservingruntimes", none, none, NULL), &runtimes)) {
        return;
    }
    struct str program = runtime_note(runtimes, s, named, "berth.dev/program");
    struct str how = runtime_note(runtimes, s, named, "berth.dev/install");
    if (program.n > 0 && !on_path(program)) {
        fprintf(stderr,
                "berth: \"%.*s\" is not installed on this machine, so replicas cannot start here; "
                "it comes with: %.*s\n",
                STR_ARG(program), STR_ARG(how));
    }
}

/* Warnings only: what is missing may come later, or from elsewhere. Who may not list nodes gets none. */
static void tell_missing(struct cli *c, const struct deploy_spec *s) {
    struct str none = {0};
    yyjson_val *nodes = NULL;
    if (cli_get(c, cli_path(c, "v1", "nodes", none, none, NULL), &nodes) != 0) {
        return;
    }
    tell_far(s, nodes);
    if (is_here(nodes)) {
        tell_program(c, s);
    }
}

/* ---- the verb ---- */

static int dry_run(struct cli *c, const struct deploy_spec *s) {
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    json_write_mut(&b, s->doc->root);
    if (c->format == FORMAT_TABLE || c->format == FORMAT_WIDE) {
        c->format = FORMAT_YAML;
    }
    return cli_print_text(c, &b);
}

/* *ret: what it is now. */
static int apply(struct cli *c, const struct deploy_spec *s, bool *ret_new, yyjson_val **ret) {
    struct buf body, answer;
    yyjson_doc *d;
    struct str path = cli_path(c, SERVING, "inferenceservices", c->project, s->name, NULL);
    int r = cli_get(c, path, ret);
    *ret_new = r == ERR_NOT_FOUND;
    if (r != 0 && r != ERR_NOT_FOUND) {
        return r;
    }
    path = cli_path_with(c, path, "fieldManager", STR("berth-deploy"));
    path = cli_path_with(c, path, "fieldValidation", STR("Strict"));
    buf_init(&body, LIMIT_OBJECT_BYTES);
    buf_init(&answer, 64 << 20);
    json_write_mut(&body, s->doc->root);
    r = kube_wait(c->client, "PATCH", path, buf_view(&body), "application/apply-patch+yaml",
                  &answer, &c->err);
    r = r ? r : json_parse(&c->arena, arena_str(&c->arena, buf_view(&answer)), &d, &c->err);
    *ret = r == 0 ? yyjson_doc_get_root(d) : NULL;
    buf_release(&body);
    buf_release(&answer);
    return r;
}

static int run(struct cli *c) {
    struct deploy_spec s;
    yyjson_val *made;
    bool new;
    bool dry = cli_flag(&c->args, "dry-run");
    const char *ns = cli_value(&c->args, "project");
    ns = ns ? ns : cli_value(&c->args, "namespace");
    int code = dry ? 0 : cli_connect(c);
    if (code != 0) {
        return code;
    }
    code = deploy_spec_build(&c->args, dry ? str_of(ns) : c->project, &c->arena, &s, &c->err);
    if (code == ERR_BAD_REQUEST) {
        struct err e = c->err;
        return cli_usage(c, "%s", e.text);
    }
    if (code != 0) {
        return cli_fail(c, NULL);
    }
    if (dry) {
        return dry_run(c, &s);
    }
    if (apply(c, &s, &new, &made) != 0) {
        return cli_fail(c, NULL);
    }
    tell_missing(c, &s);
    if (!cli_print(c, made)) {
        printf("inferenceservice/%.*s %s; `berth services %.*s` shows its state\n", STR_ARG(s.name),
               new ? "created" : "configured", STR_ARG(s.name));
    }
    return CLI_OK;
}

static const struct cli_option options[] = {
    {"slice", 's', "PROFILE", "a slice of a GPU for each replica, such as 3g.71gb", NULL, false},
    {"gpus", 'g', "N", "whole GPUs for each replica", NULL, false},
    {"cpu", 0, "AMOUNT", "processors for each replica, such as 2 or 500m", NULL, false},
    {"memory", 0, "AMOUNT", "memory for each replica, such as 16Gi", NULL, false},
    {"min", 0, "N",
     "minimum of replicas (default 1); 0: scaled to zero while there are no requests", NULL, false},
    {"max", 0, "N", "maximum of replicas (default: --min, at least 1)", NULL, false},
    {"runtime", 0, "NAME", "the ServingRuntime (default: chosen by the format)", NULL, false},
    {"format", 0, "NAME", "the model's format (default: gguf for .gguf files, vLLM for others)",
     NULL, false},
    {"command", 0, "TEXT", "a shell command that listens on $PORT, instead of a model server", NULL,
     false},
    {"image", 0, "IMAGE", "the image to run instead of the runtime's", NULL, false},
    {"arg", 0, "TEXT", "an argument for the model server, such as --arg=--max-model-len=8192", NULL,
     true},
    {"env", 'e', "NAME=VALUE", "an environment variable of the model server", NULL, true},
    {"name", 0, "NAME", "name of the service (default: made from the model's)", NULL, false},
    {"queue", 'q', "QUEUE", "LocalQueue (default: the hardware profile's, or \"default\")", NULL,
     false},
    {"hardware-profile", 0, "NAME", "a HardwareProfile of the project, such as that of a booking",
     NULL, false},
    {"canary", 0, "PERCENT", "percentage of the requests that the changed revision gets", NULL,
     false},
    {"catalog", 0, "FILE", "read this catalog instead of the built-in one", NULL, false},
    {"dry-run", 0, NULL, "print the InferenceService; change nothing", NULL, false},
};

const struct cli_verb cli_deploy = {
    .name = "deploy",
    .arguments = "MODEL",
    .summary = "serve a model",
    .about =
        "Creates an InferenceService, or changes it. MODEL is a name of the catalog (`berth "
        "models`), the path of a folder of\nthis machine, or a URI: pvc://CLAIM/PATH, "
        "hf://ORGANISATION/MODEL, s3://BUCKET/PATH or https://HOST/PATH. Its\nreplicas wait in "
        "the queue like any job. A node of `berth up` mounts folders below its --weights, and "
        "claims; it does not\ndownload hf://, s3:// or https:// yet: such a replica waits "
        "and says so.",
    .examples = "  berth deploy Llama-3.1-8B-Instruct --slice 3g.71gb --min 0 --max 4\n"
                "  berth deploy hf://org/model --gpus 2 --arg=--max-model-len=8192 --name chat\n"
                "  berth deploy ./model.gguf --cpu 4 --memory 8Gi --dry-run -o yaml\n"
                "  berth deploy echo --command 'python3 -m http.server $PORT'\n",
    .options = options,
    .n_options = sizeof(options) / sizeof(*options),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
