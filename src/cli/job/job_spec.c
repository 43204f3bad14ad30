/* job_spec: see job_spec.h. */
#include "cli/job/job_spec.h"

#include <limits.h>
#include <unistd.h>

#include "base/limits.h"
#include "wire/text/quantity.h"

enum { GPUS_MAX = 64, NAME_STEM_MAX = 40, LEAST_MEMORY = 1 << 20 };

bool job_spec_seconds(struct str text, int64_t *ret) {
    int64_t total = 0, n = 0;
    bool digits = false, any = false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c >= '0' && c <= '9') {
            n = n * 10 + (c - '0');
            digits = true;
            if (n > INT32_MAX) {
                return false;
            }
            continue;
        }
        int64_t unit = c == 's' ? 1 : c == 'm' ? 60 : c == 'h' ? 3600 : c == 'd' ? 86400 : 0;
        if (!digits || unit == 0) {
            return false;
        }
        total += n * unit;
        n = 0;
        digits = false;
        any = true;
    }
    if (digits && any) {
        return false; /* "1h30" */
    }
    total += n;
    if (total <= 0 || total > INT32_MAX) {
        return false;
    }
    *ret = total;
    return true;
}

static int expected(struct err *err, const char *option, const char *what, const char *got) {
    return err_set(err, ERR_BAD_REQUEST, "--%s: expected %s, not \"%s\"", option, what, got);
}

static bool is_label(struct str s) {
    bool ok = s.n > 0 && s.n <= LIMIT_LABEL;
    for (size_t i = 0; ok && i < s.n; i++) {
        char c = s.p[i];
        bool inner = i > 0 && i + 1 < s.n;
        ok = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c == '-' && inner);
    }
    return ok;
}

/* "train" of "/usr/bin/Train.py": what a generated name begins with. */
static void name_stem(const char *command, char out[NAME_STEM_MAX + 1]) {
    struct str s = str_of(command);
    s = str_skip(s, (size_t)(str_find_last(s, '/') + 1));
    size_t n = 0;
    for (size_t i = 0; i < s.n && n < NAME_STEM_MAX; i++) {
        char c = s.p[i];
        c = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
            out[n++] = c;
        } else if (c == '.') {
            break;
        } else if (n > 0 && out[n - 1] != '-') {
            out[n++] = '-';
        }
    }
    while (n > 0 && out[n - 1] == '-') {
        n--;
    }
    out[n] = 0;
    if (n == 0) {
        memcpy(out, "job", 4);
    }
}

static int add_metadata(const struct cli_args *a, struct buf *out, struct err *err) {
    const char *name = cli_value(a, "name"), *queue = cli_value(a, "queue");
    char stem[NAME_STEM_MAX + 1];
    queue = queue ? queue : "default";
    if (name && !is_label(str_of(name))) {
        return expected(err, "name", "at most 63 of a-z, 0-9 and - (not at the ends)", name);
    }
    if (!is_label(str_of(queue))) {
        return expected(err, "queue", "the name of a local queue", queue);
    }
    if (name) {
        buf_f(out, "\"metadata\":{\"name\":\"%s\"", name);
    } else {
        name_stem(a->command[0], stem);
        buf_f(out, "\"metadata\":{\"generateName\":\"%s-\"", stem);
    }
    buf_f(out, ",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"%s\"}}", queue);
    return 0;
}

bool job_spec_slice(struct str s, char ret[SLICE_TEXT_MAX]) {
    bool ok = s.n >= 4 && s.n < 40 && s.p[0] >= '1' && s.p[0] <= '9' && s.p[1] == 'g' &&
              s.p[2] == '.' && str_contains(s, STR("gb"));
    for (size_t i = 0; ok && i < s.n; i++) {
        char c = s.p[i];
        ok = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '+';
    }
    if (!ok) {
        return false;
    }
    snprintf(ret, SLICE_TEXT_MAX, "nvidia.com/mig-%.*s", STR_ARG(s));
    for (char *p = ret; *p; p++) {
        *p = *p == '+' ? '.' : *p;
    }
    return true;
}

static int add_slice(const char *slice, struct buf *out, struct err *err) {
    char name[SLICE_TEXT_MAX];
    if (!job_spec_slice(str_of(slice), name)) {
        return expected(err, "slice", "a MIG profile as 2g.35gb", slice);
    }
    buf_f(out, "\"%s\":\"1\"", name);
    return 0;
}

static int add_gpus(const struct cli_args *a, struct buf *out, struct err *err) {
    const char *slice = cli_value(a, "slice"), *gpus = cli_value(a, "gpus");
    uint64_t n;
    if (slice && gpus) {
        return err_set(err, ERR_BAD_REQUEST, "--slice and --gpus: one of them only");
    }
    if (gpus) {
        if (!str_to_u64(str_of(gpus), &n) || n > GPUS_MAX) {
            return expected(err, "gpus", "a number from 0 to 64", gpus);
        }
        if (n > 0) {
            buf_f(out, "\"nvidia.com/gpu\":\"%llu\"", (unsigned long long)n);
        }
        return 0;
    }
    return slice ? add_slice(slice, out, err) : 0;
}

bool job_spec_memory(struct str text, char ret[32]) {
    size_t n = 0;
    for (size_t i = 0; i < text.n && n < 31; i++) {
        if (text.p[i] != ' ') {
            ret[n++] = text.p[i];
        }
    }
    bool fits = n < 31;
    bool bytes = n > 2 && (ret[n - 1] == 'B' || ret[n - 1] == 'b') && ret[n - 2] > '9';
    n -= bytes ? 1 : 0;
    size_t unit = n > 1 && ret[n - 1] == 'i' ? n - 2 : n ? n - 1 : 0;
    if (bytes && (ret[unit] == 'g' || ret[unit] == 't')) {
        ret[unit] = (char)(ret[unit] - 'a' + 'A');
    } else if (bytes && ret[unit] == 'm') {
        ret[unit] = 'M';
    }
    ret[n] = 0;
    return fits;
}

/* --memory of a job: less than this is a unit that was forgotten. */
static int read_memory(const char *given, char text[32], struct err *err) {
    struct quantity q;
    if (!job_spec_memory(str_of(given), text) || quantity_parse(str_of(text), &q, NULL) != 0 ||
        given[0] == '-') {
        return expected(err, "memory", "an amount as 512Mi, 4Gi or 4GB", given);
    }
    if (quantity_value(q) > 0 && quantity_value(q) < LEAST_MEMORY) {
        return err_set(err, ERR_BAD_REQUEST,
                       "--memory: %s is hardly any (it counts bytes); %sGi is meant, perhaps",
                       given, given);
    }
    return 0;
}

static int add_quantity(const struct cli_args *a, const char *option, struct buf *out,
                        struct err *err) {
    const char *text = cli_value(a, option);
    struct quantity q;
    char memory[32];
    if (text == NULL) {
        return 0;
    }
    if (!strcmp(option, "memory")) {
        int r = read_memory(text, memory, err);
        if (r != 0) {
            return r;
        }
        text = memory;
    }
    if (quantity_parse(str_of(text), &q, NULL) != 0 || text[0] == '-') {
        return expected(err, option, "an amount as 500m, 2 or 4Gi", text);
    }
    if (out->n && out->p[out->n - 1] == '"') {
        buf_ch(out, ',');
    }
    buf_f(out, "\"%s\":", option);
    buf_json(out, str_of(text));
    return 0;
}

/* requests for what is shared, limits for what is counted: as a careful manifest has it. */
static int add_resources(const struct cli_args *a, struct buf *out, struct err *err) {
    struct buf shared;
    buf_init(&shared, 1024);
    int r = add_quantity(a, "cpu", &shared, err);
    r = r ? r : add_quantity(a, "memory", &shared, err);
    buf_c(out, ",\"resources\":{\"requests\":{");
    buf_str(out, buf_view(&shared));
    buf_c(out, "},\"limits\":{");
    size_t from = out->n;
    r = r ? r : add_gpus(a, out, err);
    const char *memory = cli_value(a, "memory");
    if (r == 0 && memory) {
        char text[32];
        job_spec_memory(str_of(memory), text);
        buf_f(out, "%s\"memory\":", out->n > from ? "," : "");
        buf_json(out, str_of(text));
    }
    buf_c(out, "}}");
    buf_release(&shared);
    return r;
}

static int add_env(const struct cli_args *a, struct buf *out, struct err *err) {
    const char *text;
    buf_c(out, ",\"env\":[");
    for (size_t i = 0; (text = cli_nth(a, "env", i)); i++) {
        struct str name, value;
        bool assigned = str_cut(str_of(text), '=', &name, &value);
        if (!assigned) {
            const char *own = getenv(text);
            value = str_of(own);
            assigned = own != NULL;
        }
        if (!assigned || name.n == 0) {
            return expected(err, "env", "NAME=VALUE, or the NAME of a variable that is set", text);
        }
        buf_c(out, i ? ",{\"name\":" : "{\"name\":");
        buf_json(out, name);
        buf_c(out, ",\"value\":");
        buf_json(out, value);
        buf_ch(out, '}');
    }
    buf_ch(out, ']');
    return 0;
}

/* A folder of this machine, or of the container: absolute, or below where we are. */
static int add_dir(const struct cli_args *a, struct buf *out, struct err *err) {
    const char *dir = cli_value(a, "dir");
    char cwd[PATH_MAX] = "";
    if (dir == NULL) {
        return 0;
    }
    if (!*dir || (*dir != '/' && getcwd(cwd, sizeof(cwd)) == NULL)) {
        return expected(err, "dir", "the path of a folder", dir);
    }
    bool here = strcmp(dir, ".") == 0;
    struct buf path;
    buf_init(&path, 0);
    buf_f(&path, "%s%s%s", cwd, *cwd && !here ? "/" : "", here ? "" : dir);
    buf_c(out, ",\"workingDir\":");
    buf_json(out, buf_view(&path));
    buf_release(&path);
    return 0;
}

/* Without an image the command is one of the machine's: where the node has a choice it runs there, whatever the image
 * that stands for none is. */
#define MACHINE_TEMPLATE                                                                           \
    ",\"template\":{\"metadata\":{\"annotations\":{\"berth.dev/files\":\"machine\"}},"

int job_spec_build(const struct cli_args *a, struct buf *out, struct err *err) {
    const char *time = cli_value(a, "time"), *image = cli_value(a, "image");
    int64_t seconds = 0;
    if (time && !job_spec_seconds(str_of(time), &seconds)) {
        return expected(err, "time", "a time as 90s, 30m, 12h or 1h30m", time);
    }
    buf_c(out, "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",");
    int r = add_metadata(a, out, err);
    buf_c(out, ",\"spec\":{\"suspend\":true,\"backoffLimit\":0");
    if (seconds) {
        buf_f(out, ",\"activeDeadlineSeconds\":%lld", (long long)seconds);
    }
    buf_c(out, image ? ",\"template\":{" : MACHINE_TEMPLATE);
    buf_c(out, "\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\","
               "\"image\":");
    buf_json(out, str_of(image ? image : "busybox"));
    buf_c(out, ",\"command\":[");
    for (size_t i = 0; r == 0 && a->command[i]; i++) {
        buf_c(out, i ? "," : "");
        buf_json(out, str_of(a->command[i]));
    }
    buf_ch(out, ']');
    r = r ? r : add_dir(a, out, err);
    r = r ? r : add_env(a, out, err);
    r = r ? r : add_resources(a, out, err);
    buf_c(out, "}]}}}}");
    if (r == 0 && buf_ok(out) != 0) {
        r = err_set(err, ERR_TOO_LARGE, "the command and its environment are too large");
    }
    return r;
}
