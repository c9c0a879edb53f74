/* TLS 1.2 and 1.3 for TCP clients, by libmicrohttpd's GnuTLS: a certificate with its key, which a reload replaces. A
   connection keeps the certificate with which it began. */
#ifndef REID_TOOLS_TLS_H
#define REID_TOOLS_TLS_H

#include "base/text.h"

typedef struct tls tls;

/* 1 if libmicrohttpd and this program were compiled with GnuTLS. */
int tls_is_there(void);

/* Reads a certificate, followed by those of its issuers, and its private key, both as PEM. The key may be read only by
   this user, or belongs to root. Returns NULL after saying what is wrong; it has one user, the caller. */
tls *tls_open(const char *cert_path, const char *key_path);
/* Adds a user, on any thread; returns t. */
tls *tls_keep(tls *t);
/* Removes one; the last frees it. NULL is ignored. */
void tls_drop(tls *t);

/* What libmicrohttpd needs for MHD_OPTION_HTTPS_PRIORITIES and MHD_OPTION_HTTPS_CERT_CALLBACK. */
extern const char tls_priorities[];
void *tls_callback(void);
/* The session of a new connection uses this certificate; the connection is one of its users meanwhile. */
void tls_attach(void *session, tls *t);
/* Sends bytes to the client of a session without waiting, and the end. Returns 0 if not all could be sent. */
int tls_send_last(void *session, const char *bytes, size_t len);

#endif
