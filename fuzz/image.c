/* fuzz/image: names of images: what passes is whole, stays as it is when read again, and is no option, path or line. */
#include "fuzz.h"

#include <string.h>

#include "node/images/image_name.h"

static bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != 0 && strchr("._-/:@", c) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char full[IMAGE_NAME_MAX], again[IMAGE_NAME_MAX];
    struct err err;

    if (image_name_full(fuzz_text(data, size), full, &err)) {
        assert(err.code == ERR_INVALID && err.text[0]);
        return 0;
    }
    assert(image_name_full(str_of(full), again, &err) == 0 && strcmp(full, again) == 0);
    assert(full[0] != '-' && full[0] != '/' && full[0] != '.' && strstr(full, "/.") == NULL);
    assert(image_name_host(str_of(full)).n > 0 && strchr(full, '/') != NULL);
    for (const char *c = full; *c; c++) {
        assert(is_plain(*c));
    }
    return 0;
}
