/* manage_private: what manage's own files share: sets of fields as entries keep them, and differences by version. */
#ifndef BERTH_API_MANAGE_PRIVATE_H
#define BERTH_API_MANAGE_PRIVATE_H

#include "api/managed/manage.h"

/* How the object differs from what it was, in one version. */
struct versioned {
    struct str api_version;
    struct form form;
    bool missing; /* there is no such version */
    struct typed_change change;
    struct versioned *next;
};

/* The object before and after, and how they differ by version: each made when it is asked for. */
struct two_states {
    yyjson_mut_val *was, *now;
    bool known; /* `was` is what it was */
    struct versioned *made;
};

/* What the object was: a copy of what is stored. */
int manage_was(const struct manage *m, struct two_states *s, struct err *err);
/* Without what no entry has: what the server says of an object, and what this request does not write. */
struct fields manage_strip(const struct manage *m, const struct fields *set);
struct fields manage_filter(const struct manage *m, const struct fields *set);
/* The difference in the version of an entry; made once for each. ERR_NOMEM, ... */
int manage_compare(const struct manage *m, struct str api_version, struct two_states *s,
                   struct versioned **ret, struct err *err);
/* Notes the difference in the version of the request, which is known already. */
int manage_note(const struct manage *m, const struct typed_change *change, struct two_states *s,
                struct err *err);
/* Entries as the schemas have them now; those of versions that are gone are left out. *ret_changed is set to true when
 * any is another. */
int manage_reconcile(const struct manage *m, struct managers *all, bool *ret_changed,
                     struct err *err);
/* Takes what changed from all but `own` (NULL: from all). */
int manage_take(const struct manage *m, struct two_states *s, struct managers *all,
                const struct manager *own, struct err *err);

/* Whether the manager applied what it does not now, or in another version. */
bool manage_drops(const struct manage *m, const struct manager *last, const struct manager *own);
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
