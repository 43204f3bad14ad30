/*
 * store_mark: the newest revision that is known to be on disk, in a small file beside the database.
 *
 * A database that was deleted, emptied, replaced by an older one or whose WAL was damaged looks healthy: SQLite takes
 * what is there. The mark says that there was more. It is written after each transaction that was synced, and never
 * synced itself, so that it may be behind but never ahead: a healthy database is never refused, whatever is killed and
 * whenever the power goes. A mark that is missing or torn says nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/store_private.h"

enum { MARK_BYTES = 48 }; /* within one sector */

static size_t mark_text(uint64_t revision, char out[static MARK_BYTES + 1]) {
    char number[24];
    int n = snprintf(number, sizeof(number), "%020llu", (unsigned long long)revision);

    n = snprintf(out, MARK_BYTES + 1, "berth %s %016llx\n", number,
                 (unsigned long long)str_hash(str_from(number, (size_t)n)));
    return (size_t)n;
}

static uint64_t mark_read(int fd) {
    char text[MARK_BYTES + 1] = {0}, again[MARK_BYTES + 1];
    unsigned long long revision = 0;

    if (pread(fd, text, MARK_BYTES, 0) <= 0 || sscanf(text, "berth %20llu ", &revision) != 1) {
        return 0;
    }
    mark_text(revision, again);
    return strcmp(text, again) == 0 ? revision : 0;
}

void mark_open(struct mark *m, const char *dir) {
    char path[STORE_PATH_MAX];

    *m = (struct mark){.fd = -1};
    if (snprintf(path, sizeof(path), "%s/berth.mark", dir) < (int)sizeof(path)) {
        m->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    }
    m->revision = m->fd != -1 ? mark_read(m->fd) : 0;
}

void mark_write(struct mark *m, uint64_t revision) {
    char text[MARK_BYTES + 1];

    if (m->fd != -1 && revision > m->revision) {
        m->revision = revision;
        (void)!pwrite(m->fd, text, mark_text(revision, text), 0); /* it is behind, then */
    }
}

void mark_close(struct mark *m) {
    if (m->fd != -1) {
        close(m->fd);
    }
    m->fd = -1;
}

static int refuse(const char *path, uint64_t here, uint64_t known, struct err *err) {
    return err_set(err, ERR_IO,
                   "store: %s ends at revision %llu, but revision %llu was written: it was "
                   "deleted, emptied, replaced or "
                   "damaged. Nothing was changed. Put the file (and its -wal) back, restore a "
                   "backup into another "
                   "folder with `berth restore`, or go on without what is missing with `berth up "
                   "--accept-loss`",
                   path, (unsigned long long)here, (unsigned long long)known);
}

int mark_check_file(const struct store *s, struct err *err) {
    struct stat st;
    bool empty = stat(s->path, &st) == -1 ? errno == ENOENT : st.st_size == 0;

    return empty && s->known && !s->o.accept_loss ? refuse(s->path, 0, s->known, err) : 0;
}

int mark_check_revision(struct store *s, uint64_t *revision, struct err *err) {
    if (*revision >= s->known) {
        return 0;
    }
    if (!s->o.accept_loss) {
        return refuse(s->path, *revision, s->known, err);
    }
    /* Revisions that were given out are not given out again. */
    *revision = s->known;
    return db_set_revision(&s->db, *revision, err);
}
