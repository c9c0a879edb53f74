/* report.c: reports bugs in kernels. A fault stops its launch, and stays with the context, as on a GPU. */
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <ucontext.h>

#include "emulator.h"

static char emu_last_report[1024];
static size_t emu_report_count;
static pthread_mutex_t emu_report_lock = PTHREAD_MUTEX_INITIALIZER;

EMU_API size_t reid_emulator_reports(void) { return emu_report_count; }
EMU_API const char *reid_emulator_report(void) { return emu_last_report; }

static void keep(const char *text) {
    pthread_mutex_lock(&emu_report_lock);
    snprintf(emu_last_report, sizeof emu_last_report, "%s", text);
    emu_report_count++;
    fprintf(stderr, "reid emulator: %s\n", text);
    pthread_mutex_unlock(&emu_report_lock);
    if (emu_get_settings()->abort_on_report) abort();
}

void emu_report(const char *format, ...) {
    char text[sizeof emu_last_report];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    keep(text);
}

/* "kernel gemm, block (1,0,0), thread (5,0,0)" */
void emu_where(const emu_worker *worker, const emu_thread *thread, char *text, size_t size) {
    const struct reid_emulator_uint3 *b = worker->instance->block_index;
    int n = snprintf(text, size, "kernel %s, block (%u,%u,%u)", worker->kernel->name, b->x, b->y, b->z);
    if (thread && n > 0 && (size_t)n < size)
        snprintf(text + n, size - (size_t)n, ", thread (%u,%u,%u)", thread->position.x, thread->position.y,
                 thread->position.z);
}

/* "reid_kernels.cu:123" for an address of compiled kernel code, "" if it cannot be found out. */
static void source_line(void *pc, char *text, size_t size) {
    Dl_info info;
    *text = 0;
    if (!pc || !dladdr(pc, &info) || !info.dli_fname) return;
    char command[512];
    size_t offset = (size_t)((char *)pc - (char *)info.dli_fbase) - 1; /* a return address: the call is before it */
    int n = snprintf(command, sizeof command, "addr2line -s -e '%s' 0x%zx 2>/dev/null", info.dli_fname, offset);
    if (n < 0 || (size_t)n >= sizeof command) return;
    FILE *pipe = popen(command, "r");
    if (!pipe) return;
    if (!fgets(text, (int)size, pipe) || *text == '?') *text = 0;
    text[strcspn(text, " \n")] = 0;
    pclose(pipe);
}

EMU_NORETURN void emu_fault(CUresult code, int line, void *pc, const char *format, ...) {
    emu_worker *worker = emu_worker_now();
    char message[640], where[256], at[128];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    emu_where(worker, worker->current, where, sizeof where);
    source_line(pc, at, sizeof at);
    if (line > 0) snprintf(at, sizeof at, "line %d", line);
    emu_report("%s: %s%s%s", where, message, *at ? ", at " : "", at);
    worker->fault = code;
    emu_thread_abandon(worker);
}

void emu_fail_block(emu_worker *worker, unsigned thread, int line, const char *format, ...) {
    char message[640], where[256];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    emu_where(worker, &worker->threads[thread], where, sizeof where);
    emu_report("%s: %s, at line %d", where, message, line);
    worker->fault = CUDA_ERROR_LAUNCH_FAILED;
}

/* ---- hardware faults ---- A handler cannot report. It sends the thread to `after_signal`, on a stack that is
   certainly intact. */
#if EMU_ASAN
static void last_words(void) {
    emu_worker *worker = emu_worker_now();
    char where[256];
    if (!worker) return;
    emu_where(worker, worker->current, where, sizeof where);
    fprintf(stderr, "reid emulator: AddressSanitizer's report above is about %s\n", where);
}

void emu_signals_begin(emu_worker *worker) {
    (void)worker;
    __sanitizer_set_death_callback(last_words);
}
void emu_signals_end(emu_worker *worker) { (void)worker; }
#else
enum { SIGNALS = 4, SIGNAL_STACK = 64 * 1024, REPORT_STACK = 256 * 1024 };
static const int emu_signals[SIGNALS] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
static struct sigaction emu_old_actions[SIGNALS];
static unsigned emu_signal_users;
static pthread_mutex_t emu_signal_lock = PTHREAD_MUTEX_INITIALIZER;

typedef struct signal_state { /* of one OS thread that runs blocks */
    stack_t old_stack;
    sigset_t old_mask;
    unsigned char *stacks; /* the handler's, then the report's */
    int number;
    uintptr_t address;
    void *pc;
} signal_state;
static __thread signal_state emu_signal;

static void after_signal(void) {
    char place[256];
    emu_describe(emu_signal.address, place, sizeof place);
    if (emu_signal.number == SIGFPE) emu_fault(CUDA_ERROR_LAUNCH_FAILED, 0, emu_signal.pc, "integer division by zero");
    if (emu_signal.number == SIGILL) emu_fault(CUDA_ERROR_ILLEGAL_INSTRUCTION, 0, emu_signal.pc, "trap");
    emu_fault(CUDA_ERROR_ILLEGAL_ADDRESS, 0, emu_signal.pc, "access to address 0x%zx, %s", (size_t)emu_signal.address,
              place);
}

static void on_signal(int number, siginfo_t *info, void *context) {
    ucontext_t *u = (ucontext_t *)context;
    emu_worker *worker = emu_worker_now();
    if (!worker || !worker->current) { /* not ours: the previous handler gets it when the instruction runs again */
        for (int i = 0; i < SIGNALS; i++) sigaction(emu_signals[i], &emu_old_actions[i], NULL);
        return;
    }
    emu_signal.number = number;
    emu_signal.address = (uintptr_t)info->si_addr;
    emu_signal.pc = (char *)u->uc_mcontext.gregs[REG_RIP] + 1;
    union {
        void (*function)(void);
        greg_t address;
    } next = {after_signal};
    u->uc_mcontext.gregs[REG_RIP] = next.address;
    u->uc_mcontext.gregs[REG_RSP] = (greg_t)(uintptr_t)(emu_signal.stacks + SIGNAL_STACK + REPORT_STACK - 8);
}

void emu_signals_begin(emu_worker *worker) {
    (void)worker;
    emu_signal.stacks = (unsigned char *)malloc(SIGNAL_STACK + REPORT_STACK);
    if (!emu_signal.stacks) return; /* then a crash stays a crash */
    stack_t stack = {.ss_sp = emu_signal.stacks, .ss_size = SIGNAL_STACK};
    sigaltstack(&stack, &emu_signal.old_stack);
    sigset_t mask; /* a thread that blocks all signals would just die */
    sigemptyset(&mask);
    for (int i = 0; i < SIGNALS; i++) sigaddset(&mask, emu_signals[i]);
    pthread_sigmask(SIG_UNBLOCK, &mask, &emu_signal.old_mask);
    pthread_mutex_lock(&emu_signal_lock);
    if (emu_signal_users++ == 0) {
        struct sigaction action;
        memset(&action, 0, sizeof action);
        action.sa_sigaction = on_signal;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        for (int i = 0; i < SIGNALS; i++) sigaction(emu_signals[i], &action, &emu_old_actions[i]);
    }
    pthread_mutex_unlock(&emu_signal_lock);
}

void emu_signals_end(emu_worker *worker) {
    (void)worker;
    if (!emu_signal.stacks) return;
    pthread_mutex_lock(&emu_signal_lock);
    if (--emu_signal_users == 0)
        for (int i = 0; i < SIGNALS; i++) sigaction(emu_signals[i], &emu_old_actions[i], NULL);
    pthread_mutex_unlock(&emu_signal_lock);
    pthread_sigmask(SIG_SETMASK, &emu_signal.old_mask, NULL);
    sigaltstack(&emu_signal.old_stack, NULL);
    free(emu_signal.stacks);
    emu_signal.stacks = NULL;
}
#endif
