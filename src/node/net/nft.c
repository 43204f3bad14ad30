/* nft: see nft.h. The library is found when it is first needed, so that a machine without it can still run jobs. */
#include "node/net/nft.h"

#include <dlfcn.h>
#include <nftables/libnftables.h>

#include "base/mem.h"

struct nft {
    void *library;
    struct nft_ctx *ctx;
    struct nft_ctx *(*make)(uint32_t flags);
    void (*end)(struct nft_ctx *ctx);
    int (*run)(struct nft_ctx *ctx, const char *text);
    int (*keep_errors)(struct nft_ctx *ctx);
    const char *(*errors)(struct nft_ctx *ctx);
};

static bool find(struct nft *n, const char *name, void *ret) {
    void *f = dlsym(n->library, name);

    memcpy(ret, &f, sizeof(f));
    return f != NULL;
}

struct nft *nft_new(struct err *err) {
    struct nft *n = mem_zalloc(sizeof(*n));

    if (n == NULL) {
        err_set(err, ERR_NOMEM, "no memory");
        return NULL;
    }
    n->library = dlopen("libnftables.so.1", RTLD_NOW | RTLD_LOCAL);
    if (n->library == NULL) {
        err_set(err, ERR_UNSUPPORTED, "libnftables is not installed (package libnftables1)");
    } else if (!find(n, "nft_ctx_new", &n->make) || !find(n, "nft_ctx_free", &n->end) ||
               !find(n, "nft_run_cmd_from_buffer", &n->run) ||
               !find(n, "nft_ctx_buffer_error", &n->keep_errors) ||
               !find(n, "nft_ctx_get_error_buffer", &n->errors)) {
        err_set(err, ERR_UNSUPPORTED, "libnftables.so.1 lacks a function");
    } else if ((n->ctx = n->make(NFT_CTX_DEFAULT)) == NULL || n->keep_errors(n->ctx)) {
        err_set(err, ERR_UNSUPPORTED, "libnftables does not start");
    } else {
        return n;
    }
    nft_free(n);
    return NULL;
}

void nft_free(struct nft *n) {
    if (n == NULL) {
        return;
    }
    if (n->ctx) {
        n->end(n->ctx);
    }
    if (n->library) {
        dlclose(n->library);
    }
    mem_free(n);
}

int nft_apply(struct nft *n, struct buf *text, struct err *err) {
    const char *t = buf_cstr(text);

    if (buf_ok(text)) {
        return err_set(err, ERR_NOMEM, "no memory for rules");
    }
    if (n->run(n->ctx, t) == 0) {
        return 0;
    }
    struct str why = str_of(n->errors(n->ctx));
    return err_set(err, ERR_UNSUPPORTED, "nftables: %.*s", (int)(why.n < 300 ? why.n : 300), why.p);
}
