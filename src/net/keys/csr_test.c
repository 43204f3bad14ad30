/* csr: certificate signing requests that nobody should be asked about. */
#include "net/keys/csr.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/test.h"

/* A request of a new key for "jane" of "team", in PEM. */
static void make_request(struct buf *pem) {
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509_REQ *req = X509_REQ_new();
    X509_NAME *name = X509_REQ_get_subject_name(req);
    BIO *bio = BIO_new(BIO_s_mem());
    char *text;
    assert_non_null(key);
    assert_int_equal(X509_NAME_add_entry_by_txt(name, "O", MBSTRING_ASC,
                                                (const unsigned char *)"team", -1, -1, 0),
                     1);
    assert_int_equal(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                                (const unsigned char *)"jane", -1, -1, 0),
                     1);
    assert_int_equal(X509_REQ_set_pubkey(req, key), 1);
    assert_true(X509_REQ_sign(req, key, EVP_sha256()) > 0);
    assert_int_equal(PEM_write_bio_X509_REQ(bio, req), 1);
    long n = BIO_get_mem_data(bio, &text);
    buf_add(pem, text, (size_t)n);
    BIO_free(bio);
    X509_REQ_free(req);
    EVP_PKEY_free(key);
}

static int read_it(struct str pem, struct buf *cn, struct buf *orgs) {
    struct err err = {0};
    bool names = true;
    int r = csr_read(pem, cn, orgs, &names, &err);
    return r ? r : names;
}

static void test_reads(void **state) {
    struct buf pem, cn, orgs;
    buf_init(&pem, 0);
    buf_init(&cn, 0);
    buf_init(&orgs, 0);
    make_request(&pem);
    assert_int_equal(read_it(buf_view(&pem), &cn, &orgs), 0);
    assert_true(str_is(buf_view(&cn), "jane"));
    assert_true(str_is(buf_view(&orgs), "team"));
    buf_release(&pem);
    buf_release(&cn);
    buf_release(&orgs);
}

/* Where there is no terminal OpenSSL asks for the password of an encrypted PEM on the standard input, and waits. */
static void test_asks_nobody(void **state) {
    static const char head[] = "-----BEGIN CERTIFICATE REQUEST-----\n";
    struct buf pem, locked, cn, orgs;
    int ends[2], left = 0, was = dup(STDIN_FILENO);
    buf_init(&pem, 0);
    buf_init(&locked, 0);
    buf_init(&cn, 0);
    buf_init(&orgs, 0);
    make_request(&pem);
    buf_c(&locked, head);
    buf_c(&locked, "Proc-Type: 4,ENCRYPTED\n"
                   "DEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\n");
    buf_str(&locked, str_skip(buf_view(&pem), sizeof(head) - 1));

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "password\n", 9), 9);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    assert_int_equal(read_it(buf_view(&locked), &cn, &orgs), ERR_INVALID);
    assert_int_equal(ioctl(ends[0], FIONREAD, &left), 0);
    assert_int_equal(left, 9);

    if (was != -1) {
        assert_int_equal(dup2(was, STDIN_FILENO), STDIN_FILENO);
        close(was);
    }
    close(ends[0]);
    close(ends[1]);
    buf_release(&pem);
    buf_release(&locked);
    buf_release(&cn);
    buf_release(&orgs);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reads),
                                       cmocka_unit_test(test_asks_nobody)};
    (void)setsid(); /* no terminal; a leader of its group has none to give up */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
