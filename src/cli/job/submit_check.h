/* submit_check: what is wrong with a submission that the server would take and let wait for ever. */
#ifndef BERTH_CLI_SUBMIT_CHECK_H
#define BERTH_CLI_SUBMIT_CHECK_H

#include "cli/kit/kit.h"

/* After cli_connect. 0, or a code with c->err saying what is missing and what there is. */
int submit_check(struct cli *c);

#endif
