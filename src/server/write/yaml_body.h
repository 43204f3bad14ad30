/*
 * yaml_body (server): long YAML bodies are read on another thread, and come back as JSON.
 *
 * YAML takes thirty times as long to read as JSON: 3 MB of it would hold the loop for a quarter of a second. A user
 * has at most LIMIT_YAML_WAITING_USER of them under way, all together LIMIT_YAML_WAITING; who has more is told to come
 * back.
 */
#ifndef BERTH_SERVER_YAML_BODY_H
#define BERTH_SERVER_YAML_BODY_H

#include "server/write/pipeline.h"

/* Whether the body of w is to be read first. */
bool yaml_body_is_long(const struct write *w);
/* Reads it, and runs w then; w belongs to it until that, and a peer that goes away ends it. Nonzero: w->failure says
 * why not, and w is the caller's. */
int yaml_body_run(struct write *w);
/* The server goes: what is being read comes back to nobody. */
void yaml_body_release(struct server *s);

#endif
