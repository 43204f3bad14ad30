/*
 * token_options: --time and --group of the verbs that make tokens. Each returns CLI_OK, or the exit status of a wrong
 * command line and has said why.
 */
#ifndef BERTH_WORLD_TOKEN_OPTIONS_H
#define BERTH_WORLD_TOKEN_OPTIONS_H

#include "api/tables/field.h"
#include "cli/kit/kit.h"

enum { TOKEN_GROUPS_MAX = 32 };

/* Nanoseconds that the token is valid: 24 hours unless --time says otherwise, from a minute to 365 days. */
int token_time(struct cli *c, int64_t *ret);
/* *ret is in `groups`, whose texts are the command line's. */
int token_groups(struct cli *c, struct str groups[TOKEN_GROUPS_MAX], struct str_list *ret);

#endif
