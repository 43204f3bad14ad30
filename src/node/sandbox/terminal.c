/* terminal: see terminal.h. */
#include "node/sandbox/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

int terminal_open(int *ret_ours, int *ret_theirs, uid_t uid, gid_t gid) {
    char name[64];
    int ours = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), theirs = -1, e = 0;

    if (ours == -1 || grantpt(ours) == -1 || unlockpt(ours) == -1 ||
        ptsname_r(ours, name, sizeof(name)) != 0 ||
        (theirs = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)) == -1) {
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
