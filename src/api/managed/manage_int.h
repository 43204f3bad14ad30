/* manage_int: what manage's own files share: sets of fields as entries keep them, and differences by version. */
#ifndef BERTH_API_MANAGE_INT_H
#define BERTH_API_MANAGE_INT_H

#include "api/managed/manage.h"

/* Two states of an object in one version, and how they differ. */
struct versioned {
    struct str api_version;
    struct form form;
    bool missing; /* there is no such version */
    struct typed_change change;
    struct versioned *next;
};

/* Without what no entry has: what the server says of an object, and what this request does not write. */
struct fields manage_strip(const struct manage *m, const struct fields *set);
struct fields manage_filter(const struct manage *m, const struct fields *set);
/* The difference in the version of an entry; made once for each. ERR_NOMEM, ... */
int manage_compare(const struct manage *m, struct str api_version, yyjson_mut_val *was,
                   yyjson_mut_val *now, struct versioned **made, struct versioned **ret,
                   struct err *err);
/* Entries as the schemas have them now; those of versions that are gone are left out. */
int manage_reconcile(const struct manage *m, struct managers *all, struct err *err);
/* Takes what changed from all but `own` (NULL: from all). */
int manage_take(const struct manage *m, yyjson_mut_val *was, yyjson_mut_val *now,
                struct managers *all, const struct manager *own, struct versioned **made,
                struct err *err);

/* Takes from the object what the manager applied last, does not now, and nobody else has. */
int manage_prune(const struct manage *m, yyjson_mut_doc *d, const struct managers *all,
                 const struct manager *last, yyjson_mut_val **object, struct err *err);
/* What a manager called "kubectl" may take although others have it: the fields of its annotation of client-side apply
 * that are as that left them. */
struct fields manage_left_by_client(const struct manage *m, yyjson_mut_val *was);
/* The annotation of `object`, where it has one, says what is applied: `text`, made before of the config. */
struct str manage_client_text(const struct manage *m, yyjson_mut_val *config);
int manage_tell_client(yyjson_mut_doc *d, yyjson_mut_val *object, struct str text);

#endif
