/*
 * audit (server): an append-only log of who did what, one JSON object a line, each chained to the one before.
 *
 * A line ends in "prev", the hash of the line before, and "hash", the SHA-256 of the line up to there: lines that were
 * changed, removed or reordered show (audit_check). Neither bodies nor queries nor tokens are written. Lines are
 * gathered for a few milliseconds and written at once; when the file is full it is renamed to FILE.1, and so on, and
 * the chain goes on in the next file. A line that could not be written is counted, and the next one says how many were
 * lost. The file is not synced: a crash of the process may lose the last milliseconds, one of the machine seconds.
 */
#ifndef BERTH_SERVER_AUDIT_H
#define BERTH_SERVER_AUDIT_H

#include "base/clock.h"
#include "server/kit/guard.h"

struct audit;

enum { AUDIT_FILES = 5, AUDIT_HASH_TEXT = 64 };

struct audit_options {
    const char *file;
    size_t max_bytes; /* of one file; 0: 64 MiB */
    bool reads;       /* also successful reads that are not of Secrets, tokens or logs */
    struct clock *clock;
};

int audit_new(const struct audit_options *o, struct audit **ret, struct err *err);
void audit_free(struct audit *x); /* writes what is left; NULL is a no-op */
void audit_add(struct audit *x, const struct audit_record *r);
void audit_flush(struct audit *x);
/* The newest revision that a whole line of the file names, among its last 64 KiB: the store had it on disk. 0: none. */
uint64_t audit_revision(const char *file);
uint64_t audit_lost(const struct audit *x);

/* Checks the chain of whole lines. prev: the hash that the first line must name, or NULL to accept any.
 * 0, or ERR_INVALID naming the line. ret_last (may be NULL) gets the last hash. */
int audit_check(struct str text, const char *prev, char ret_last[AUDIT_HASH_TEXT + 1],
                struct err *err);

#endif
