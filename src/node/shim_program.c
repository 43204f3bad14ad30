/*
 * shim_program: `berth-shim-VERSION`, the hidden verb `berth shim` as a program of its own.
 *
 * A pod takes two forks of the shim server, and what these and their ends cost grows with what is mapped into it. This
 * program has what a shim needs and nothing else: no API, no store, no TLS. It is called as `berth shim` is, with the
 * path of berth as its own name; that is executed for the one thing that is missing here, a probe over HTTPS. Where
 * this program is not installed, `berth shim` serves as well.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file_store.h"
#include "net/tls_pipe.h"
#include "node/node.h"

static const char *berth;

/* As net/tls_pipe.h says, in the process that asks and does nothing else: it becomes `berth probe-tls`. */
int tls_pipe(int fd, const char *name, struct str request, int out, size_t most, struct err *err) {
    char bytes[24];
    const char *argv[] = {berth, "probe-tls", name, bytes, NULL};
    int ask = memfd_create("request", 0);

    snprintf(bytes, sizeof(bytes), "%zu", most);
    if (ask == -1 || file_write_all(ask, request) == -1 || lseek(ask, 0, SEEK_SET) == -1) {
        return err_sys(err, errno, "a request over TLS");
    }
    dup2(fd, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(ask, 3);
    execv(berth, (char **)(uintptr_t)argv);
    return err_sys(err, errno, "%s", berth);
}

int main(int argc, char **argv) {
    if (argc < 2 || strcmp(argv[1], "shim") != 0) {
        fprintf(stderr, "berth-shim: started by berth node\n");
        return 2;
    }
    berth = argv[0];
    return shim_main(argc - 1, argv + 1);
}
