/* curl_lib: loading libcurl when it is first needed, so that a process without requests does not pay for it. */
#include "net/curl_lib.h"

#include <dlfcn.h>
#include <pthread.h>

static struct curl_lib lib;
static bool loaded;
static char trouble[256];

static void load(void) {
    static const struct {
        const char *name;
        size_t at;
    } symbols[] = {
#define SYMBOL(member) {"curl_" #member, offsetof(struct curl_lib, member)}
        SYMBOL(global_init),         SYMBOL(easy_init),        SYMBOL(easy_cleanup),
        SYMBOL(easy_setopt),         SYMBOL(easy_getinfo),     SYMBOL(easy_strerror),
        SYMBOL(easy_pause),          SYMBOL(multi_init),       SYMBOL(multi_cleanup),
        SYMBOL(multi_setopt),        SYMBOL(multi_add_handle), SYMBOL(multi_remove_handle),
        SYMBOL(multi_socket_action), SYMBOL(multi_info_read),  SYMBOL(multi_assign),
        SYMBOL(slist_append),        SYMBOL(slist_free_all),   SYMBOL(version_info),
#undef SYMBOL
    };
    void *so = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (so == NULL) {
        snprintf(trouble, sizeof(trouble), "%s", dlerror());
        return;
    }
    for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
        void *f = dlsym(so, symbols[i].name);
        if (f == NULL) {
            snprintf(trouble, sizeof(trouble), "%s", dlerror());
            return;
        }
        memcpy((char *)&lib + symbols[i].at, &f, sizeof(f));
    }
    loaded = lib.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    if (!loaded) {
        snprintf(trouble, sizeof(trouble), "it cannot be initialised");
    }
}

const struct curl_lib *curl_lib_get(struct err *err) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (!loaded) {
        err_set(err, ERR_UNSUPPORTED, "libcurl (package libcurl4) is needed: %s", trouble);
        return NULL;
    }
    return &lib;
}
