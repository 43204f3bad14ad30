/* terminal: see terminal.h. */
#include "node/sandbox/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of the pod's own /dev/pts where it has one, so that it has a name in there. */
static int open_ours(pid_t pod) {
    char path[64];
    int fd = -1;

    if (pod > 0) {
        snprintf(path, sizeof(path), "/proc/%d/root/dev/pts/ptmx", (int)pod);
        fd = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC | O_NOFOLLOW);
    }
    return fd != -1 ? fd : posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
}

int terminal_open(pid_t pod, int *ret_ours, int *ret_theirs, uid_t uid, gid_t gid) {
    int ours = open_ours(pod), theirs = -1, e = 0, unlocked = 0;

    if (ours == -1 || ioctl(ours, TIOCSPTLCK, &unlocked) == -1 ||
        (theirs = ioctl(ours, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC)) == -1) {
        e = errno;
    }
    if (e == 0 && uid && fchown(theirs, uid, gid) == -1) {
        e = errno;
    }
    if (e) {
        if (ours != -1) {
            close(ours);
        }
        if (theirs != -1) {
            close(theirs);
        }
        return e;
    }
    *ret_ours = ours;
    *ret_theirs = theirs;
    return 0;
}

void terminal_size(int fd, uint16_t rows, uint16_t cols) {
    struct winsize w = {.ws_row = rows, .ws_col = cols};

    if (fd != -1) {
        ioctl(fd, TIOCSWINSZ, &w);
    }
}
