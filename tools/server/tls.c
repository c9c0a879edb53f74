#include "server/tls.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "server/mhd.h"
#include "server/secret_file.h"

#include <stdlib.h>
#include <string.h>

#if defined(HAVE_MICROHTTPD) && defined(__has_include)
#if __has_include(<gnutls/abstract.h>)
#define HAVE_TLS
#endif
#endif

/* Versions before 1.2 are broken (RFC 8996). */
const char tls_priorities[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:%SERVER_PRECEDENCE";

#ifndef HAVE_TLS

int tls_is_there(void) { return 0; }
tls *tls_open(const char *cert_path, const char *key_path) {
    (void)cert_path, (void)key_path;
    say_error("this version was compiled without GnuTLS");
    return NULL;
}
tls *tls_keep(tls *t) { return t; }
void tls_drop(tls *t) { (void)t; }
void *tls_callback(void) { return NULL; }
void tls_attach(void *session, tls *t) { (void)session, (void)t; }
int tls_send_last(void *session, const char *bytes, size_t len) { return (void)session, (void)bytes, len == 0; }

#else

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

enum { LONGEST_CHAIN = 16, MAX_FILE = 1 << 20 };

struct tls {
    int users;
    gnutls_pcert_st chain[LONGEST_CHAIN];
    unsigned count;
    gnutls_privkey_t key;
};

int tls_is_there(void) {
    return MHD_is_feature_supported(MHD_FEATURE_TLS) == MHD_YES &&
           MHD_is_feature_supported(MHD_FEATURE_HTTPS_CERT_CALLBACK) == MHD_YES;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

/* GnuTLS's reason, as far as it is one of the usual ones. */
static int refuse_gnutls(text *why, const char *what, int error) {
    if (error == GNUTLS_E_MEMORY_ERROR) return text_no_memory(why);
    if (error == GNUTLS_E_BASE64_DECODING_ERROR || error == GNUTLS_E_NO_CERTIFICATE_FOUND ||
        error == GNUTLS_E_BASE64_UNEXPECTED_HEADER_ERROR || error == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
        return refuse(why, "contains no %s; expected a PEM file with -----BEGIN ...-----", what);
    if (error == GNUTLS_E_DECRYPTION_FAILED)
        return refuse(why, "the key is encrypted; expected one without a password");
    return refuse(why, "the %s cannot be read: %s", what, gnutls_strerror(error));
}

static int read_chain(tls *t, const char *path, text *why) {
    text file = TEXT_INIT;
    unsigned count = LONGEST_CHAIN;
    int good = file_read(path, MAX_FILE, 1, &file, why);
    if (good) {
        const gnutls_datum_t bytes = {(unsigned char *)file.s, (unsigned)file.len};
        int error = gnutls_pcert_list_import_x509_raw(t->chain, &count, &bytes, GNUTLS_X509_FMT_PEM,
                                                       GNUTLS_X509_CRT_LIST_IMPORT_FAIL_IF_EXCEED);
        if (error == GNUTLS_E_SHORT_MEMORY_BUFFER)
            good = refuse(why, "contains more than %d certificates", LONGEST_CHAIN);
        else if (error < 0) good = refuse_gnutls(why, "certificate", error);
        else if (!count) good = refuse_gnutls(why, "certificate", GNUTLS_E_NO_CERTIFICATE_FOUND);
        else t->count = count;
    }
    text_free(&file);
    return good;
}

static int check_key_file(const char *path, text *why) {
    unsigned mode = 0;
    if (!secret_file_check(path, why)) return 0;
    return !secret_file_is_open(path, &mode) ||
           refuse(why, "other users may read the private key (mode %04o): chmod 600", mode);
}

static int read_key(tls *t, const char *path, text *why) {
    text file = TEXT_INIT;
    int good = check_key_file(path, why) && file_read(path, MAX_FILE, 1, &file, why);
    if (good) {
        const gnutls_datum_t bytes = {(unsigned char *)file.s, (unsigned)file.len};
        int error = gnutls_privkey_init(&t->key);
        if (error >= 0) error = gnutls_privkey_import_x509_raw(t->key, &bytes, GNUTLS_X509_FMT_PEM, NULL, 0);
        good = error >= 0 || refuse_gnutls(why, "private key", error);
    }
    if (file.s) gnutls_memset(file.s, 0, file.len);
    text_free(&file);
    return good;
}

/* Whether the key is that of the first certificate. */
static int belong_together(const tls *t) {
    gnutls_pubkey_t public;
    unsigned char ids[2][64];
    size_t size[2] = {sizeof ids[0], sizeof ids[1]};
    int good = gnutls_pubkey_get_key_id(t->chain[0].pubkey, GNUTLS_KEYID_USE_SHA256, ids[0], &size[0]) >= 0;
    if (!good || gnutls_pubkey_init(&public) < 0) return 0;
    good = gnutls_pubkey_import_privkey(public, t->key, 0, 0) >= 0 &&
           gnutls_pubkey_get_key_id(public, GNUTLS_KEYID_USE_SHA256, ids[1], &size[1]) >= 0 && size[0] == size[1] &&
           memcmp(ids[0], ids[1], size[0]) == 0;
    gnutls_pubkey_deinit(public);
    return good;
}

/* A certificate that has expired, or is not valid yet, serves nobody, but may be all that there is. */
static void warn_about_dates(const tls *t, const char *path) {
    gnutls_x509_crt_t cert;
    if (gnutls_x509_crt_init(&cert) < 0) return;
    if (gnutls_x509_crt_import(cert, &t->chain[0].cert, GNUTLS_X509_FMT_DER) >= 0) {
        const time_t now = time(NULL);
        if (gnutls_x509_crt_get_expiration_time(cert) < now)
            say_warning("%s: the certificate has expired, so clients will refuse it", shown(path));
        else if (gnutls_x509_crt_get_activation_time(cert) > now)
            say_warning("%s: the certificate is not valid yet, so clients will refuse it", shown(path));
    }
    gnutls_x509_crt_deinit(cert);
}

tls *tls_open(const char *cert_path, const char *key_path) {
    tls *t = need_zeroed(1, sizeof *t);
    text why = TEXT_INIT;
    if (!t) return NULL;
    t->users = 1;
    const char *path = cert_path;
    int good = read_chain(t, cert_path, &why);
    if (good) path = key_path, good = read_key(t, key_path, &why);
    if (good && !belong_together(t)) good = refuse(&why, "is not the private key of the certificate %s", cert_path);
    if (good) warn_about_dates(t, cert_path);
    else say_error("%s: %s", shown(path), why.s);
    text_free(&why);
    if (good) return t;
    tls_drop(t);
    return NULL;
}

tls *tls_keep(tls *t) {
    if (t) __atomic_add_fetch(&t->users, 1, __ATOMIC_SEQ_CST);
    return t;
}

void tls_drop(tls *t) {
    if (!t || __atomic_sub_fetch(&t->users, 1, __ATOMIC_SEQ_CST) > 0) return;
    for (unsigned i = 0; i < t->count; i++) gnutls_pcert_deinit(&t->chain[i]);
    if (t->key) gnutls_privkey_deinit(t->key);
    free(t);
}

/* --- sessions ----------------------------------------------------------------------------------------------------- */

/* Called in the handshake. */
static int choose(gnutls_session_t session, const gnutls_datum_t *issuers, int issuer_count,
                  const gnutls_pk_algorithm_t *algorithms, int algorithm_count, gnutls_pcert_st **chain,
                  unsigned *count, gnutls_privkey_t *key) {
    tls *t = gnutls_session_get_ptr(session);
    (void)issuers, (void)issuer_count, (void)algorithms, (void)algorithm_count;
    if (!t) return -1;
    *chain = t->chain, *count = t->count, *key = t->key;
    return 0;
}

void *tls_callback(void) {
    gnutls_certificate_retrieve_function2 *function = choose;
    void *pointer; /* libmicrohttpd takes the function as an object; POSIX gives their pointers one size */
    memcpy(&pointer, &function, sizeof pointer);
    return pointer;
}

void tls_attach(void *session, tls *t) { gnutls_session_set_ptr(session, t); }

int tls_send_last(void *session, const char *bytes, size_t len) {
    int good = gnutls_record_send(session, bytes, len) == (ssize_t)len;
    gnutls_bye(session, GNUTLS_SHUT_WR);
    return good;
}

#endif
