#include "server/door.h"

#include "base/clock.h"
#include "base/files.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { BACKLOG = 1024 };
#define LOCKED_SECONDS 3.0 /* how long to wait for a folder that another process has locked */

/* --- Unix --------------------------------------------------------------------------------------------------------- */

static int new_socket(int domain) { return socket(domain, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

/* Makes the name free by removing the socket of a server that has ended. Returns 0 with the reason in why if the name
   is in use. */
static int remove_dead_socket(const struct sockaddr_un *name, text *why) {
    struct stat st;
    if (lstat(name->sun_path, &st) != 0) return errno == ENOENT || refuse_errno(why, "cannot listen here");
    if (!S_ISSOCK(st.st_mode)) return refuse(why, "already exists and is not a socket");
    if (st.st_uid != geteuid()) return refuse(why, "is another user's socket");
    int fd = new_socket(AF_UNIX);
    if (fd < 0) return refuse_errno(why, "cannot listen here");
    int dead = connect(fd, (const struct sockaddr *)name, sizeof *name) != 0 && errno == ECONNREFUSED;
    close(fd);
    if (!dead) return refuse(why, "another server is listening here");
    return unlink(name->sun_path) == 0 || refuse_errno(why, "cannot remove the socket of a server that has ended");
}

/* On Linux the mode of the socket becomes the mode of its file, so other users cannot connect at any moment. */
static int bind_unix(const struct sockaddr_un *name, text *why) {
    int fd = new_socket(AF_UNIX);
    if (fd >= 0 && fchmod(fd, 0600) == 0 && bind(fd, (const struct sockaddr *)name, sizeof *name) == 0 &&
        listen(fd, BACKLOG) == 0)
        return fd;
    refuse_errno(why, "cannot listen here");
    if (fd >= 0) close(fd);
    return -1;
}

static int unix_name(struct sockaddr_un *name, const char *path, text *why) {
    memset(name, 0, sizeof *name);
    name->sun_family = AF_UNIX;
    if (!*path) return refuse(why, "the path of the socket is empty");
    if (strlen(path) >= sizeof name->sun_path) return refuse(why, "is too long for a socket (107 bytes)");
    strcpy(name->sun_path, path);
    return 1;
}

/* Waits a little for the lock, but not forever: every user who may read a folder can also lock it and
   keep it locked. */
static int lock_soon(int fd) {
    const struct timespec pause = {0, 20000000};
    const double end = clock_seconds() + LOCKED_SECONDS;
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if ((errno != EWOULDBLOCK && errno != EINTR) || clock_seconds() > end) return 0;
        nanosleep(&pause, NULL);
    }
    return 1;
}

/* Locks the folder, so that servers that start or end at the same time do so one after the other. Closing the
   descriptor unlocks it. */
static int lock_folder(const char *path, text *why) {
    text folder = TEXT_INIT;
    path_folder(&folder, path);
    if (text_failed(&folder)) return text_no_memory(why) - 1;
    int fd = open(folder.s, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    text_free(&folder);
    if (fd >= 0 && lock_soon(fd)) return fd;
    if (fd < 0) refuse_errno(why, "cannot open its folder");
    else if (errno == EWOULDBLOCK)
        refuse(why, "another process keeps its folder locked; end that process, or choose a folder of your own");
    else refuse_errno(why, "cannot lock its folder");
    if (fd >= 0) close(fd);
    return -1;
}

int door_unix(const char *path, text *why) {
    struct sockaddr_un name;
    if (!unix_name(&name, path, why)) return -1;
    int lock = lock_folder(path, why);
    if (lock < 0) return -1;
    int fd = remove_dead_socket(&name, why) ? bind_unix(&name, why) : -1;
    close(lock);
    return fd;
}

void door_unix_remove(const char *path) {
    struct sockaddr_un name;
    text why = TEXT_INIT;
    int lock = unix_name(&name, path, &why) ? lock_folder(path, &why) : -1;
    if (lock >= 0) remove_dead_socket(&name, &why), close(lock);
    text_free(&why);
}

/* --- TCP ---------------------------------------------------------------------------------------------------------- */

typedef union any_address {
    struct sockaddr plain;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
} any_address;

/* Parses "1.2.3.4:5", "[::1]:5" or "localhost:5". Returns the length of the address, or 0. */
static socklen_t parse_address(const char *s, any_address *out) {
    char host[64];
    long long port;
    const char *colon = strrchr(s, ':');
    size_t n = colon ? (size_t)(colon - s) : 0;
    memset(out, 0, sizeof *out);
    if (!n || n >= sizeof host || !parse_int(colon + 1, 0, 65535, &port)) return 0;
    memcpy(host, s, n);
    host[n] = 0;
    if (host[0] == '[' && host[n - 1] == ']') {
        host[n - 1] = 0;
        out->six.sin6_family = AF_INET6;
        out->six.sin6_port = htons((uint16_t)port);
        return inet_pton(AF_INET6, host + 1, &out->six.sin6_addr) == 1 ? sizeof out->six : 0;
    }
    out->four.sin_family = AF_INET;
    out->four.sin_port = htons((uint16_t)port);
    const char *number = strcmp(host, "localhost") == 0 ? "127.0.0.1" : host;
    return inet_pton(AF_INET, number, &out->four.sin_addr) == 1 ? sizeof out->four : 0;
}

static int is_loopback(const any_address *a) {
    if (a->plain.sa_family == AF_INET) return ntohl(a->four.sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&a->six.sin6_addr);
}

static void add_address(text *t, const any_address *a) {
    char host[64] = "";
    if (a->plain.sa_family == AF_INET) {
        inet_ntop(AF_INET, &a->four.sin_addr, host, sizeof host);
        text_printf(t, "%s:%d", host, ntohs(a->four.sin_port));
    } else {
        inet_ntop(AF_INET6, &a->six.sin6_addr, host, sizeof host);
        text_printf(t, "[%s]:%d", host, ntohs(a->six.sin6_port));
    }
}

static int copy_address(any_address *a, const struct sockaddr *address) {
    memset(a, 0, sizeof *a);
    if (address->sa_family == AF_INET) memcpy(&a->four, address, sizeof a->four);
    else if (address->sa_family == AF_INET6) memcpy(&a->six, address, sizeof a->six);
    else return 0;
    return 1;
}

int door_is_loopback(const struct sockaddr *address) {
    any_address a;
    return copy_address(&a, address) && is_loopback(&a);
}

void door_peer(text *t, const struct sockaddr *address) {
    any_address a;
    if (copy_address(&a, address)) add_address(t, &a);
}

int door_tcp(const char *address, text *as, int *loopback, text *why) {
    any_address name;
    const int yes = 1;
    socklen_t size = parse_address(address, &name);
    if (!size) return refuse(why, "invalid address; expected HOST:PORT, for example 127.0.0.1:8000") - 1;
    *loopback = is_loopback(&name);
    int fd = new_socket(name.plain.sa_family);
    if (fd < 0) return refuse_errno(why, "cannot listen here") - 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes); /* for quick restarts; two servers still conflict */
    if (name.plain.sa_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    if (bind(fd, &name.plain, size) == 0 && listen(fd, BACKLOG) == 0 && getsockname(fd, &name.plain, &size) == 0) {
        add_address(as, &name);
        return fd;
    }
    refuse_errno(why, "cannot listen here");
    close(fd);
    return -1;
}

/* --- access ------------------------------------------------------------------------------------------------------- */

int door_same(const text *secret, const char *given, size_t len) {
    volatile unsigned char differs = len != secret->len;
    for (size_t i = 0; i < secret->len; i++)
        differs |= (unsigned char)(secret->s[i] ^ (i < len ? given[i] : 0));
    return !differs;
}

int door_is_own_page(const char *origin, const char *host, int tls) {
    const char *scheme = tls ? "https://" : "http://";
    const size_t skip = strlen(scheme);
    return origin && host && strncmp(origin, scheme, skip) == 0 && strcasecmp(origin + skip, host) == 0;
}

int door_is_local_host(const char *host) {
    any_address a;
    char bare[80];
    if (!host) return 1;
    size_t n = strlen(host);
    if (n + 3 > sizeof bare) return 0;
    memcpy(bare, host, n + 1);
    const char *colon = strrchr(bare, ':'), *bracket = strrchr(bare, ']');
    if (!colon || (bracket && colon < bracket)) strcpy(bare + n, ":0"); /* without a port */
    if (strncasecmp(bare, "localhost:", 10) == 0) return 1;
    return parse_address(bare, &a) && is_loopback(&a);
}
