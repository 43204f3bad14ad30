/* version: `berth version`. */
#include "cli/kit/kit.h"

static int run(struct cli *c) {
    yyjson_doc *doc;
    if (json_parse(&c->arena, STR("{\"version\":\"" BERTH_VERSION "\"}"), &doc, &c->err) != 0) {
        return cli_fail(c, NULL);
    }
    if (c->format == FORMAT_NAME || !cli_print(c, yyjson_doc_get_root(doc))) {
        printf("berth %s\n", BERTH_VERSION);
    }
    return CLI_OK;
}

const struct cli_verb cli_version = {
    .name = "version",
    .group = GROUP_OTHER,
    .arguments = "",
    .summary = "which Berth this is",
    .examples = "  berth version\n  berth version -o json\n",
    .run = run,
};
