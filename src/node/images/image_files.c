/* image_files: see image_files.h. */
#include "node/images/image_files.h"

#include <errno.h>
#include <fts.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

static mode_t tamed(mode_t mode) {
    mode_t all = mode & 07777;

    all &= ~(mode_t)(S_ISUID | S_ISGID);
    if (geteuid() != 0) {
        all |= S_ISDIR(mode) ? S_IRWXU : S_IRUSR | S_IWUSR;
    }
    return all;
}

/* Folders before what is in them: without root they have to be opened first. 0 or an errno. */
static int tame(const FTSENT *e) {
    mode_t mode = e->fts_info == FTS_D || e->fts_info == FTS_F || e->fts_info == FTS_DEFAULT ||
                          e->fts_info == FTS_DNR
                      ? e->fts_statp->st_mode
                      : 0;

    if (S_ISCHR(mode) || S_ISBLK(mode)) {
        return unlink(e->fts_accpath) == -1 ? errno : 0;
    }
    if ((S_ISDIR(mode) || S_ISREG(mode)) && tamed(mode) != (mode & 07777)) {
        return chmod(e->fts_accpath, tamed(mode)) == -1 ? errno : 0;
    }
    return e->fts_info == FTS_ERR || e->fts_info == FTS_NS ? e->fts_errno : 0;
}

int image_files_tame(const char *root, struct err *err) {
    char *const roots[] = {(char *)(uintptr_t)root, NULL};
    FTS *all = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
    int code = all ? 0 : err_sys(err, errno, "%s", root);
    FTSENT *e;

    while (code == 0 && (e = fts_read(all))) {
        int failed = tame(e);
        if (failed) {
            code = err_sys(err, failed, "%s", e->fts_path);
        }
    }
    if (all) {
        fts_close(all);
    }
    return code;
}
