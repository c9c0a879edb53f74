/* grid.c: runs launches. Their blocks run one after the other (or on several OS threads), in a shuffled order; the
   blocks of a cluster take turns, each going as far as it can.

   A launch with the attribute "programmatic stream serialization" may begin when every block of the previous launch has
   reached griddepcontrol.launch_dependents, or has ended; it may read that launch's output only after
   griddepcontrol.wait (PTX manual, "griddepcontrol"; CUDA's guide, "Programmatic Dependent Launch"). Here it begins
   when a random block of the previous launch has got there, often the first one, before the others have begun, and its
   own first block runs up to the wait before anything else happens. So a read before the wait finds old data, and a
   write before it destroys the previous launch's input. Up to IN_FLIGHT launches overlap. */
#include "emulator.h"

enum { IN_FLIGHT = 4 };

uint32_t emu_oldest_launch = 1;
static uint32_t emu_launches;

/* ---- what kernels call ---- */

void emu_grid_wait(int line) {
    emu_worker *w = emu_worker_now();
    emu_thread *t = w->current;
    w->run->waited = 1;
    if (!w->run->alone) emu_copy_take(t);
    while (!w->run->alone) {
        if (w->landing) {
            w->landing = 0;
            emu_bulk_land(w);
            continue;
        }
        t->state = EMU_AT_GRID, t->line = line;
        emu_thread_yield(w);
    }
    t->state = EMU_READY;
}

void emu_grid_trigger(int line) {
    emu_worker *w = emu_worker_now();
    if (!w->run->followed) return;
    w->current->state = EMU_AT_TRIGGER, w->current->line = line;
    emu_thread_yield(w);
}

/* ---- workers ---- */

/* Workers live as long as the process, and take as much memory as their stacks. */
static emu_worker *emu_workers[EMU_MAX_WORKERS];

static emu_worker *worker_for(emu_run *run, int i) {
    if (!emu_workers[i]) {
        emu_worker *fresh = (emu_worker *)calloc(1, sizeof *fresh);
        if (!fresh || !emu_stacks_create(fresh)) return NULL;
        fresh->entry = emu_thread_main;
        fresh->random = emu_get_settings()->seed + 1000003u * (unsigned)i;
        emu_workers[i] = fresh;
    }
    emu_worker *w = emu_workers[i];
    const emu_launch *l = run->launch;
    if (emu_module_instance(l->function->module, w, i)) return NULL;
    w->run = run;
    w->kernel = &w->instance->kernels[l->function->number];
    w->thread_count = l->block[0] * l->block[1] * l->block[2];
    w->warp_count = (w->thread_count + 31) / 32;
    w->shared_bytes = l->shared;
    w->fault = CUDA_SUCCESS;
    w->scheduler_bottom = NULL;
    for (int d = 0; d < 3; d++) {
        (&w->instance->grid_dim->x)[d] = l->grid[d];
        (&w->instance->block_dim->x)[d] = l->block[d];
    }
    return w;
}

/* Shared memory beyond the launch's bytes must not be touched. */
enum { BEYOND_BYTE = 0xc5 };
static void guard_shared(const struct reid_emulator_module *m, unsigned bytes) {
    if (!m->shared) return;
#if EMU_ASAN
    __asan_unpoison_memory_region(m->shared, REID_EMULATOR_SHARED_BYTES);
#endif
    memset(m->shared + bytes, BEYOND_BYTE, REID_EMULATOR_SHARED_BYTES - bytes);
#if EMU_ASAN
    __asan_poison_memory_region(m->shared + bytes, REID_EMULATOR_SHARED_BYTES - bytes);
#endif
}

static CUresult check_guards(const emu_worker *w) {
    char text[200];
    const unsigned char *shared = w->instance->shared;
    unsigned i = w->shared_bytes, last = REID_EMULATOR_SHARED_BYTES - 1;
    if (shared && !EMU_ASAN && i <= last &&
        (shared[i] != BEYOND_BYTE || memcmp(shared + i, shared + i + 1, last - i) != 0)) {
        while (shared[i] == BEYOND_BYTE) i++;
        emu_report("kernel %s: wrote shared memory %u bytes past the end of the launch's %u bytes", w->kernel->name,
                   i - w->shared_bytes, w->shared_bytes);
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    if (emu_guards_intact(text, sizeof text)) return CUDA_SUCCESS;
    emu_report("kernel %s: wrote %s", w->kernel->name, text);
    return CUDA_ERROR_ILLEGAL_ADDRESS;
}

/* Adds worker i to a team that will run the launch's first blocks; 0: out of memory. */
static int take_worker(emu_run *run, emu_team *team, int i) {
    emu_worker *w = worker_for(run, i);
    if (!w) return 0;
    guard_shared(w->instance, w->shared_bytes);
    w->team = team, w->rank = team->size;
    team->members[team->size++] = w;
    return !emu_get_settings()->check || emu_check_begin(w);
}

static unsigned size_along(const emu_launch *l, int d) { return l->cluster[d] ? l->cluster[d] : 1; }
static unsigned cluster_size(const emu_launch *l) { return size_along(l, 0) * size_along(l, 1) * size_along(l, 2); }

/* ---- blocks ---- */

static uint64_t common_divisor(uint64_t a, uint64_t b) { return b ? common_divisor(b, a % b) : a; }

static void order_blocks(emu_run *run) {
    static uint64_t random;
    if (!random) random = emu_get_settings()->seed;
    run->stride = 1, run->offset = 0;
    if (emu_get_settings()->seed == 0 || run->blocks < 2 || run->blocks >> 31) return;
    run->offset = emu_random(&random) % run->blocks;
    do run->stride = 1 + emu_random(&random) % run->blocks;
    while (common_divisor(run->stride, run->blocks) != 1);
}

/* The blocks of the cluster that is `i` in the order; a rank counts along x, then y, then z. */
static void begin_blocks(emu_run *run, emu_team *team, uint64_t i) {
    const emu_launch *l = run->launch;
    uint64_t at = (i * run->stride + run->offset) % run->blocks, number = 0, step = 1;
    unsigned first[3];
    for (int d = 0; d < 3; d++) {
        unsigned across = l->grid[d] / size_along(l, d);
        first[d] = (unsigned)(at % across) * size_along(l, d);
        at /= across;
    }
    team->arrived = team->phase = 0;
    for (unsigned rank = 0; rank < team->size; rank++, number = 0, step = 1) {
        unsigned rest = rank;
        for (int d = 0; d < 3; rest /= size_along(l, d), step *= l->grid[d++])
            number += (first[d] + rest % size_along(l, d)) * step;
        emu_block_begin(team->members[rank], number);
    }
}

typedef enum { ENDED, TRIGGERED, WAITS } progress;

/* Number of the team's threads in that state. */
static unsigned count(const emu_team *team, emu_state state) {
    unsigned n = 0;
    for (unsigned i = 0; i < team->size; i++) n += emu_block_count(team->members[i], state);
    return n;
}

static void release(const emu_team *team, emu_state state) {
    for (unsigned i = 0; i < team->size; i++) emu_block_release(team->members[i], state);
}

/* Calls it for one block after the other, starting anywhere. Returns the sum of the results; a fault ends it. */
static unsigned each(const emu_team *team, unsigned (*act)(emu_worker *)) {
    unsigned ran = 0, first = team->size > 1 ? (unsigned)(emu_random(&team->members[0]->random) % team->size) : 0;
    for (unsigned i = 0; i < team->size; i++) {
        emu_worker *w = team->members[(first + i) % team->size];
        if (w->exited == w->thread_count) continue;
        emu_current_worker = w;
        ran += act(w);
        if (w->fault) return 1;
        if (w->exited == w->thread_count) emu_block_end(w);
        if (w->fault) return 1;
    }
    return ran;
}

static CUresult fault_of(const emu_team *team) {
    for (unsigned i = 0; i < team->size; i++)
        if (team->members[i]->fault) return team->members[i]->fault;
    return CUDA_SUCCESS;
}

static unsigned run_on(emu_worker *w) {
    unsigned ran = 0, now;
    do ran += now = emu_block_round(w);
    while (now && !w->fault && w->exited < w->thread_count);
    return ran;
}

static unsigned land(emu_worker *w) { return (unsigned)emu_mbarrier_land(w); }
static unsigned poll(emu_worker *w) { return (unsigned)emu_mbarrier_poll(w); }
static unsigned deadlock(emu_worker *w) {
    emu_block_deadlock(w);
    return 0;
}

/* Runs the team's blocks until they have ended or are at griddepcontrol. */
static progress go_on(const emu_team *team) {
    for (;;) {
        unsigned ran = each(team, run_on);
        if (fault_of(team)) return ENDED;
        unsigned left = 0;
        for (unsigned i = 0; i < team->size; i++) left += team->members[i]->exited < team->members[i]->thread_count;
        if (!left) return ENDED;
        if ((ran && team->size > 1) || each(team, land)) continue;
        if (count(team, EMU_AT_TRIGGER)) return TRIGGERED;
        if (count(team, EMU_AT_GRID)) return WAITS;
        if (!each(team, poll)) each(team, deadlock);
    }
}

/* Runs all blocks until they have ended or are at griddepcontrol. */
static progress run_grid(emu_run *run) {
    while (run->running || (run->next < run->blocks && !run->fault)) {
        if (!run->running) begin_blocks(run, &run->team, run->next++);
        progress p = go_on(&run->team);
        run->running = p != ENDED, run->fault = fault_of(&run->team);
        if (p != ENDED) return p;
    }
    return ENDED;
}

/* ---- launches that overlap ---- */

typedef struct chain {
    const emu_launch *const *launches;
    emu_run runs[IN_FLIGHT]; /* launch i is at i % IN_FLIGHT */
    unsigned count, first, begun; /* launches; the first that is not over; how many have begun */
    unsigned taken;               /* a bit for each worker */
} chain;

static emu_run begin_run(const emu_launch *l) {
    emu_run run = {.launch = l, .number = ++emu_launches};
    run.blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2] / cluster_size(l);
    order_blocks(&run);
    return run;
}

static CUresult run_some(chain *c, unsigned i);

static CUresult begin_next(chain *c) {
    unsigned i = c->begun++;
    emu_run *run = &c->runs[i % IN_FLIGHT];
    *run = begin_run(c->launches[i]);
    run->early = i > c->first;
    run->followed = i + 1 < c->count && emu_get_settings()->seed;
    for (int k = 0; k < EMU_MAX_WORKERS && run->team.size < cluster_size(run->launch); k++) {
        if (c->taken >> k & 1) continue;
        c->taken |= 1u << k;
        if (!take_worker(run, &run->team, k)) return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return run_some(c, i);
}

/* Whether one more launch may begin. */
static int has_room(const chain *c) {
    unsigned busy = 0;
    for (int k = 0; k < EMU_MAX_WORKERS; k++) busy += c->taken >> k & 1;
    return c->begun - c->first < IN_FLIGHT && EMU_MAX_WORKERS - busy >= cluster_size(c->launches[c->begun]);
}

static CUresult end_run(chain *c, const emu_run *run) {
    CUresult r = CUDA_SUCCESS;
    for (unsigned i = 0; i < run->team.size; i++) {
        if (!r) r = check_guards(run->team.members[i]);
        for (int k = 0; k < EMU_MAX_WORKERS; k++)
            if (emu_workers[k] == run->team.members[i]) c->taken &= ~(1u << k);
    }
    return r;
}

/* Runs launch i until it is over or waits for the previous one; the next one begins as soon as it may. */
static CUresult run_some(chain *c, unsigned i) {
    emu_run *run = &c->runs[i % IN_FLIGHT];
    progress p;
    CUresult r = CUDA_SUCCESS;
    run->alone = i == c->first;
    while ((p = run_grid(run)) == TRIGGERED && !r) {
        int now = has_room(c) && emu_random(&run->team.members[0]->random) % 4 != 0;
        if (now) run->followed = 0, r = begin_next(c);
        release(&run->team, EMU_AT_TRIGGER);
    }
    if (r || run->fault) return r ? r : run->fault;
    if (p == ENDED && run->early && !run->waited) {
        const emu_function *in_front = c->launches[i - 1]->function;
        emu_report("kernel %s: launched so that it may begin before kernel %s is over, it has ended without "
                   "griddepcontrol.wait", emu_kernel_name(run->launch->function), emu_kernel_name(in_front));
        return CUDA_ERROR_LAUNCH_FAILED;
    }
    return CUDA_SUCCESS;
}

static CUresult run_chain(chain *c) {
    CUresult r = CUDA_SUCCESS;
    for (; c->first < c->count && !r; c->first++) {
        emu_run *run = &c->runs[c->first % IN_FLIGHT];
        if (c->begun == c->first) r = begin_next(c);
        else {
            release(&run->team, EMU_AT_GRID);
            r = run_some(c, c->first);
        }
        emu_oldest_launch = run->number + 1;
        if (!r) r = end_run(c, run);
    }
    emu_oldest_launch = emu_launches + 1;
    return r;
}

/* ---- one launch on several OS threads ---- */

static pthread_mutex_t emu_run_lock = PTHREAD_MUTEX_INITIALIZER;

static void share_blocks(emu_worker *w) {
    for (;;) {
        pthread_mutex_lock(&emu_run_lock);
        uint64_t i = w->run->fault ? w->run->blocks : w->run->next++;
        pthread_mutex_unlock(&emu_run_lock);
        if (i >= w->run->blocks) return;
        begin_blocks(w->run, w->team, i);
        go_on(w->team);
        if (!w->fault) continue;
        pthread_mutex_lock(&emu_run_lock);
        w->run->fault = w->fault;
        pthread_mutex_unlock(&emu_run_lock);
    }
}

/* Sets up an OS thread that runs blocks: round to nearest, denormals kept, whatever the caller has set. */
static unsigned enter(emu_worker *w) {
    unsigned control = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(0x1f80);
    emu_signals_begin(w);
    return control;
}

static void leave(emu_worker *w, unsigned control) {
    emu_signals_end(w);
    emu_current_worker = NULL;
    __builtin_ia32_ldmxcsr(control);
}

static void *worker_main(void *argument) {
    emu_worker *w = (emu_worker *)argument;
    unsigned control = enter(w);
    share_blocks(w);
    leave(w, control);
    return NULL;
}

static CUresult run_parallel(const emu_launch *l) {
    emu_run run = begin_run(l);
    emu_team teams[EMU_MAX_WORKERS];
    pthread_t threads[EMU_MAX_WORKERS];
    int wanted = emu_get_settings()->workers, started = 1;
    run.alone = 1;
    memset(teams, 0, sizeof teams);
    if ((uint64_t)wanted > run.blocks) wanted = (int)run.blocks;
    for (int i = 0; i < wanted; i++)
        if (!take_worker(&run, &teams[i], i)) return CUDA_ERROR_OUT_OF_MEMORY;
    while (started < wanted && !pthread_create(&threads[started], NULL, worker_main, emu_workers[started]))
        started++;
    worker_main(emu_workers[0]);
    for (int i = 1; i < started; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < wanted && !run.fault; i++) run.fault = check_guards(emu_workers[i]);
    return run.fault;
}

static CUresult run_here(const emu_launch *const *launches, unsigned launch_count) {
    chain c = {.launches = launches, .count = launch_count};
    unsigned control = enter(NULL);
    CUresult r = run_chain(&c);
    leave(NULL, control);
    return r;
}

CUresult emu_run_launches(const emu_launch *const *launches, unsigned launch_count) {
    CUresult r = CUDA_SUCCESS;
    if (emu_get_settings()->workers == 1) return run_here(launches, launch_count);
    for (unsigned i = 0; i < launch_count && !r; i++)
        r = cluster_size(launches[i]) > 1 ? run_here(&launches[i], 1) : run_parallel(launches[i]);
    return r;
}
