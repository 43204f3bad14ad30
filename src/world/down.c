/*
 * down: `berth down` ends everything of a data folder: `berth up` and its node first, so that nothing is started again,
 * then every pod with its last descendant. The objects stay; `berth up` finds Jobs where they were.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "node/node.h"
#include "world/kit/paths.h"
#include "world/kit/verbs.h"

enum { UP_ENDS_MS = 30000, POD_GRACE_MS = 5000, STEP_MS = 20 };

/* The pid in the lock file when somebody holds it; 0 when nobody does; negative on error. */
static int holder(const char *data, struct err *err) {
    char path[PATH_BYTES + 8], text[32];
    snprintf(path, sizeof(path), "%s/lock", data);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd == -1) {
        return errno == ENOENT ? 0 : err_sys(err, errno, "open %s", path);
    }
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        close(fd);
        return 0;
    }
    ssize_t n = read(fd, text, sizeof(text));
    close(fd);
    int64_t pid;
    if (n <= 0 || !str_to_i64(str_trim(str_from(text, (size_t)n)), &pid) || pid <= 1) {
        return err_set(err, ERR_INTERNAL, "%s is held, but names no process", path);
    }
    return (int)pid;
}

static int end_up(const char *data, struct err *err) {
    int pid = holder(data, err);
    if (pid <= 0) {
        return pid;
    }
    if (kill(pid, SIGTERM) == -1 && errno != ESRCH) {
        return err_sys(err, errno, "stop process %d", pid);
    }
    const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
    for (int waited = 0; waited < UP_ENDS_MS; waited += STEP_MS) {
        int now = holder(data, err);
        if (now <= 0) {
            return now;
        }
        nanosleep(&step, NULL);
    }
    return err_set(err, ERR_TIMEOUT, "process %d did not end in %d s after SIGTERM", pid,
                   UP_ENDS_MS / 1000);
}

static int run(const struct cli_args *a) {
    struct err err = {0};
    struct paths p;
    int killed = 0;
    int r = paths_init(&p, cli_value(a, "data"), false, &err);
    r = r ? r : end_up(p.data, &err);
    r = r ? r : node_kill_all(p.data, POD_GRACE_MS, &killed, &err);
    if (r != 0) {
        fprintf(stderr, "berth down: %s\n", err.text);
        return CLI_FAILED;
    }
    printf("berth: down; %d pod%s ended\n", killed, killed == 1 ? "" : "s");
    return CLI_OK;
}

static const struct cli_option options[] = {{"data", 0, "DIR", "its data folder", NULL, false}};

const struct cli_verb world_down = {
    .name = "down",
    .group = GROUP_MACHINE,
    .arguments = "",
    .summary = "stop what `berth up` runs, pods included",
    .about =
        "Ends `berth up` of this data folder and every pod it runs. What was asked for stays:\n"
        "the next `berth up` finds the Jobs where they were.",
    .examples = "  berth down\n  berth down --data .data/run\n",
    .options = options,
    .n_options = 1,
    .local = run,
};
