#!/bin/sh
# t_macos_commands.sh: the command for macOS, compiled and linked by zig cc for arm64 and x86-64 with every warning. It
# cannot run here; its semaphores, which are made of pipes, can. With planted bugs.
set -u
cd "$(dirname "$0")/../../.." || exit 1
out=$PWD/build/tests/t_macos_commands log=$PWD/build/tests/t_macos_commands/log
rm -rf "$out"
mkdir -p "$out" || exit 1
. tests/lib/check.sh
. tests/lib/python.sh
need_python venv_zig ziglang==0.17.1
export ZIG_GLOBAL_CACHE_DIR="$PWD/build/tests/zig" ZIG_LOCAL_CACHE_DIR="$PWD/build/tests/zig"

# --- both targets ---
linked() { # linked ARCH FOLDER NAME: make builds it without a warning; NAME is what `file` calls the processor
    ${MAKE:-make} -s -j2 macos MACOS_ARCH="$1" PYTHON="$python" CFLAGS='-O1 -Werror' > "$log" 2>&1 || bad "$1"
    [ -s "$log" ] && bad "$1: the compiler says something"
    case $(od -An -tx1 -N8 "$2/reid" | tr -d ' ') in
    "$3") good ;;
    *) bad "$1: $2/reid is not its executable" ;;
    esac
}
linked aarch64 build/macos cffaedfe0c000001
linked x86_64 build/macos-x86_64 cffaedfe07000001

# Every source of the command is linked, apart from those that tools/macos replaces.
for room in $(${MAKE:-make} -s rooms) macos; do
    for source in tools/"$room"/*.c; do
        object=build/macos/${source#tools/}
        [ "$source" = tools/base/resident.c ] || [ -f "${object%.c}.o" ] || bad "$source was not compiled"
    done
done

# Planted bugs: what macOS lacks, and what its compiler warns of.
compile() { # compile SOURCE: with the options of make macos
    "$python" -m ziglang cc -target aarch64-macos -std=c99 -DREID_NO_CUDA -DREID_NO_HTTP -Itools/macos/include \
        -Ibuild/macos/include -I. -Itools -include macos/posix.h -Wall -Wextra -Wconversion -Werror -c "$1" \
        -o "$out/bug.o"
}
bug() { # bug WHAT FILE WANTED SED_SCRIPT
    plant_in "$2" "$out/bug.c" "$4" || bad "$1: the pattern matches nothing in $2"
    my_turn || return
    if compile "$out/bug.c" > "$log" 2>&1; then bad "$1: it compiles"
    elif grep -q "$3" "$log"; then good
    else bad "$1: the compiler says something else"; fi
}
compile tools/server/mailbox.c > "$log" 2>&1 && good || bad 'mailbox.c compiles by itself'
bug 'an eventfd' tools/server/mailbox.c "'sys/eventfd.h' file not found" 's|<fcntl.h>|<sys/eventfd.h>|'
bug 'a function of glibc' tools/base/files.c "undeclared function 'fdatasync_now'" \
    's/UNINTERRUPTED(result, fsync(fd))/UNINTERRUPTED(result, fdatasync_now(fd))/'
bug 'a mode of 32 bits' tools/base/files.c "'mode_t'" 's/mode = (mode_t)(\(.*\));/mode = \1;/'

# --- semaphores ---
cat > "$out/semaphores.c" << 'END'
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

static sem_t s;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int wait_until(double when) {
    struct timespec t = {(time_t)when, 0};
    t.tv_nsec = (long)((when - (double)t.tv_sec) * 1e9);
    return sem_timedwait(&s, &t);
}

static void on_signal(int number) { (void)number, sem_post(&s); }

static void *post_later(void *user) {
    usleep(100000);
    for (int i = 0; i < *(int *)user; i++) sem_post(&s);
    return NULL;
}

static void *take(void *user) {
    for (int i = 0; i < 500; i++) assert(sem_wait(&s) == 0);
    return user;
}

int main(void) {
    pthread_t threads[4];
    int posts = 1, all = 2000;
    assert(sem_init(&s, 0, 2) == 0);
    assert(sem_wait(&s) == 0 && sem_wait(&s) == 0); /* its value at the start */
    double start = now();
    assert(wait_until(start + 0.2) == -1 && errno == ETIMEDOUT);
    assert(now() - start >= 0.19 && now() - start < 2);
    assert(wait_until(start) == -1 && errno == ETIMEDOUT); /* the time has passed */
    sem_post(&s);
    assert(wait_until(start) == 0);
    pthread_create(&threads[0], NULL, post_later, &posts); /* another thread posts */
    assert(wait_until(now() + 60) == 0);
    pthread_join(threads[0], NULL);
    signal(SIGALRM, on_signal); /* a handler posts: the wait is interrupted, or ends */
    alarm(1);
    while (sem_wait(&s) != 0) assert(errno == EINTR);
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, take, NULL); /* none is lost */
    pthread_create(&threads[3], NULL, post_later, &all);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 500; i++) assert(wait_until(0) == 0);
    assert(wait_until(0) == -1 && errno == ETIMEDOUT);
    return sem_destroy(&s);
}
END
semaphores() { # semaphores SOURCE
    ${CC:-cc} -std=c99 -D_GNU_SOURCE -O1 -Wall -Wextra -Werror -pthread -Itools/macos/include "$out/semaphores.c" "$1" \
        -o "$out/semaphores" && timeout 20 "$out/semaphores"
}
semaphores tools/macos/semaphores.c > "$log" 2>&1 && good || bad 'semaphores'
slow() { # slow WHAT SED_SCRIPT
    plant_in tools/macos/semaphores.c "$out/bug.c" "$2" || bad "$1: the pattern matches nothing"
    my_turn || return
    if semaphores "$out/bug.c" > "$log" 2>&1; then bad "$1: nobody notices"; else good; fi
}
slow 'the value at the start is forgotten' 's/while (value--)/while (0 * value)/'
slow 'a wait ends at once' 's/return left <= 0 ? 0/return 1 ? 0/'
slow 'a wait takes everything' 's/char byte;/char byte[64];/; s/&byte, 1)/byte, 64)/; s/n == 1)/n >= 1)/'
say_left_out bugs
finish
