/* cel_access: authorizers of policies, their checks and answers. Internal to the cel files. */
#ifndef BERTH_API_CEL_ACCESS_H
#define BERTH_API_CEL_ACCESS_H

#include "api/cel/cel_tree.h"

/* An authorizer, a path, group or resource that is asked about, or a decision: each is made of the one before. */
struct cel_access {
    char letter; /* 'Z' 'H' 'G' 'R' 'W', as in signatures */
    struct cel_access_ask ask;
    struct cel_access_answer answer; /* W */
};

char cel_access_letter(const struct cel_access *x);
struct cel_value cel_access_of(struct cel_run *r); /* `authorizer` */
/* authorizer.requestResource; an error for any other name. */
struct cel_value cel_access_member(struct cel_run *r, struct cel_value v, struct str name);

#endif
