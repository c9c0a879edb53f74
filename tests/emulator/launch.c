/* launch.c: a block. Its warps take turns in a shuffled order, each running until all of its lanes wait for other
   warps. So a kernel that lacks a barrier reads data that has not been written yet. */
#include <stdio.h>
#include <time.h>

#include "emulator.h"

__thread emu_worker *emu_current_worker __attribute__((tls_model("initial-exec")));

/* ---- what kernels call ---- */

static void barrier(unsigned id, unsigned threads, int line) {
    emu_worker *w = emu_worker_now();
    emu_thread *t = w->current;
    unsigned expected = threads ? threads : w->thread_count;
    if (id >= EMU_BARRIERS) emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "barrier %u: only 0 to 15 exist", id);
    if (threads % 32 || expected > w->thread_count)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "barrier %u for %u threads: %s", id, threads,
                  threads % 32 ? "not a multiple of 32" : "the block has fewer");
    if (w->barrier_arrived[id] && w->barrier_threads[id] != expected)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "barrier %u for %u threads, but others wait there for %u", id,
                  expected, w->barrier_threads[id]);
    w->barrier_threads[id] = expected;
    t->state = EMU_AT_BARRIER, t->barrier = id, t->line = line;
    if (++w->barrier_arrived[id] < expected) {
        emu_thread_yield(w);
        return;
    }
    unsigned char warps[EMU_WARPS] = {0};
    for (unsigned i = 0; i < w->thread_count; i++) {
        emu_thread *other = &w->threads[i];
        if (other->state != EMU_AT_BARRIER || other->barrier != id) continue;
        other->state = EMU_READY;
        warps[other->warp] = 1;
    }
    w->barrier_arrived[id] = 0, w->idle_rounds = 0;
    if (w->cells) emu_check_barrier(w, warps);
    emu_thread_yield(w); /* so that the last one to arrive is not always the first to continue */
}

static const char *op_name(enum reid_emulator_op op) {
    static const char *const names[] = {"__syncwarp",     "__shfl_sync",  "__shfl_up_sync", "__shfl_down_sync",
                                        "__shfl_xor_sync", "a vote",       "mma.m16n8k8",    "mma.m16n8k16",
                                        "mma.m16n8k32",
                                        "ldmatrix",        "ldmatrix.trans", "stmatrix",       "stmatrix.trans",
                                        "wgmma",           "wgmma.fence", "wgmma.commit_group", "wgmma.wait_group",
                                        "setmaxnreg"};
    return names[op];
}

static void warp(enum reid_emulator_op op, unsigned mask, struct reid_emulator_lane *lane, int line) {
    emu_worker *w = emu_worker_now();
    emu_thread *t = w->current;
    emu_warp *group = &w->warps[t->warp];
    if (mask != 0xffffffffu)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "%s with mask 0x%x: the emulator knows full warps only",
                  op_name(op), mask);
    if (group->members < 32 && op != REID_EMULATOR_SYNCWARP && op != REID_EMULATOR_BALLOT)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "%s in a warp of only %u lanes", op_name(op), group->members);
    if (group->arrived && group->op != op)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "reaches %s while other lanes of its warp wait at %s",
                  op_name(op), op_name(group->op));
    group->op = op;
    t->state = EMU_AT_WARP, t->op = op, t->operands = lane, t->line = line;
    if (++group->arrived < group->members) {
        emu_thread_yield(w);
        return;
    }
    group->arrived = 0;
    emu_warp_execute(w, t->warp, op);
    for (unsigned i = 0; i < group->members; i++) w->threads[t->warp * 32 + i].state = EMU_READY;
    if (op == REID_EMULATOR_SYNCWARP && w->cells) emu_check_warp(w, t->warp);
}

static unsigned shared_address(const void *pointer, int line) {
    emu_worker *w = emu_worker_now();
    size_t offset = (size_t)((const unsigned char *)pointer - w->instance->shared);
    if (!w->instance->shared || offset > w->shared_bytes)
        emu_fault(CUDA_ERROR_ILLEGAL_ADDRESS, line, NULL, "the .shared address of a pointer that is not into the %u "
                  "bytes of shared memory", w->shared_bytes);
    return REID_EMULATOR_SHARED_BASE + (unsigned)offset;
}

static unsigned long long timer(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long long)now.tv_sec * 1000000000u + (unsigned long long)now.tv_nsec;
}

static void fence(void) { emu_worker_now()->used_atomics = 1; }
static void trap(int line) { emu_fault(CUDA_ERROR_ILLEGAL_INSTRUCTION, line, NULL, "trap"); }

const struct reid_emulator_calls emu_kernel_calls = {
    barrier, warp, shared_address, emu_copy_async, emu_copy_commit, emu_copy_wait, emu_copy_wait_all,
    timer,   fence, emu_atomic,     trap,           emu_access,      emu_undefined,
    emu_mbarrier_call, emu_mbarrier_fence, emu_fence_proxy_async, emu_bulk_load, emu_bulk_store, emu_bulk_commit,
    emu_bulk_wait, emu_tensor_load, emu_tensor_store, emu_tensor_prefetch, emu_grid_wait, emu_grid_trigger,
    emu_cluster_call, emu_remote_async};

/* ---- a block ---- */

void emu_thread_main(emu_worker *w) {
    w->kernel->call(w->run->launch->params);
    if (w->exited + 1 == w->thread_count) emu_remote_land(w);
    w->current->state = EMU_EXITED;
    w->exited++, w->idle_rounds = 0;
    emu_cluster_exit(w);
}

static void shuffle(emu_worker *w, unsigned char *order, unsigned count) {
    for (unsigned i = 0; i < count; i++) order[i] = (unsigned char)i;
    if (emu_get_settings()->seed == 0) return;
    for (unsigned i = count; i > 1; i--) {
        unsigned j = (unsigned)(emu_random(&w->random) % i);
        unsigned char swap = order[i - 1];
        order[i - 1] = order[j], order[j] = swap;
    }
}

/* Runs a warp until every lane has exited or waits for another warp; a lane that waits lets the next one run. Returns
   whether any ran. */
static unsigned run_warp(emu_worker *w, unsigned warp_index) {
    unsigned ran = 0, before;
    do {
        before = ran;
        for (unsigned i = 0; i < 32; i++) {
            unsigned index = warp_index * 32 + w->lane_order[i];
            if (index >= w->thread_count || w->threads[index].state != EMU_READY) continue;
            emu_thread_resume(w, &w->threads[index]);
            if (w->fault) return 0;
            ran++;
        }
    } while (ran != before);
    return ran;
}

static void state_text(const emu_worker *w, const emu_thread *t, char *text, size_t size) {
    if (t->state == EMU_EXITED) snprintf(text, size, "returned");
    else if (t->state == EMU_AT_WARP) snprintf(text, size, "at %s, line %d", op_name(t->op), t->line);
    else if (t->state == EMU_AT_BARRIER)
        snprintf(text, size, "at barrier %u (%u of %u threads), line %d", t->barrier, w->barrier_arrived[t->barrier],
                 w->barrier_threads[t->barrier], t->line);
    else if (t->state == EMU_AT_MBARRIER) emu_mbarrier_text(w, t, text, size);
    else if (t->state == EMU_AT_CLUSTER) emu_cluster_text(w, t, text, size);
    else if (t->state == EMU_AT_GRID) snprintf(text, size, "at griddepcontrol.wait, line %d", t->line);
    else snprintf(text, size, "running");
}

/* Reports a deadlock: where each thread waits, by its index in the block, grouping neighbours in the same state. */
void emu_block_deadlock(emu_worker *w) {
    char text[700] = "", where[256], state[200], next[200], range[32];
    size_t used = 0;
    for (unsigned first = 0, last; first < w->thread_count && used + 240 < sizeof text; first = last + 1) {
        state_text(w, &w->threads[first], state, sizeof state);
        for (last = first; last + 1 < w->thread_count; last++) {
            state_text(w, &w->threads[last + 1], next, sizeof next);
            if (strcmp(state, next) != 0) break;
        }
        if (first == last) snprintf(range, sizeof range, " %u", first);
        else snprintf(range, sizeof range, "s %u-%u", first, last);
        used += (size_t)snprintf(text + used, sizeof text - used, "%sthread%s %s", used ? "; " : "", range, state);
    }
    emu_where(w, NULL, where, sizeof where);
    emu_report("%s: deadlock, no thread can go on: %s", where, text);
    w->fault = CUDA_ERROR_LAUNCH_TIMEOUT;
}

static void start_threads(emu_worker *w) {
    const unsigned *dim = w->run->launch->block;
    memset(w->barrier_arrived, 0, sizeof w->barrier_arrived);
    w->exited = 0, w->used_atomics = 0, w->begun = 0;
    emu_bulk_begin(w), emu_wgmma_begin(w), emu_remote_begin(w);
    for (unsigned i = 0; i < w->warp_count; i++) {
        unsigned left = w->thread_count - i * 32;
        w->warps[i].members = left < 32 ? left : 32;
        w->warps[i].arrived = 0;
    }
    for (unsigned i = 0; i < w->thread_count; i++) {
        emu_thread *t = &w->threads[i];
        t->index = i, t->warp = i / 32, t->lane = i % 32;
        t->position.x = i % dim[0], t->position.y = i / dim[0] % dim[1], t->position.z = i / dim[0] / dim[1];
        t->copy_count = t->groups = t->bulk_groups = 0;
        t->gave_up = 0, t->cluster_phase = 0;
        emu_thread_start(w, i);
    }
}

void emu_block_begin(emu_worker *w, uint64_t number) {
    static uint32_t blocks;
    const unsigned *grid = w->run->launch->grid;
    struct reid_emulator_uint3 *at = w->instance->block_index;
    at->x = (unsigned)(number % grid[0]);
    at->y = (unsigned)(number / grid[0] % grid[1]);
    at->z = (unsigned)(number / grid[0] / grid[1]);
    w->block_number = __atomic_add_fetch(&blocks, 1, __ATOMIC_RELAXED);
    if (w->shared_bytes) memset(w->instance->shared, 0xff, w->shared_bytes);
    start_threads(w);
    if (w->cells) emu_check_block(w);
    shuffle(w, w->lane_order, 32);
    for (unsigned i = 0; i < 32; i++) w->lane_place[w->lane_order[i]] = (unsigned char)i;
}

void emu_block_end(emu_worker *w) {
    if (!w->fault) emu_wgmma_end(w);
    if (!w->fault) emu_bulk_end(w);
    if (!w->fault) emu_remote_end(w);
}

unsigned emu_block_round(emu_worker *w) {
    unsigned char warps[EMU_WARPS];
    unsigned ran = 0;
    w->begun = 1;
    shuffle(w, warps, w->warp_count);
    for (unsigned i = 0; i < w->warp_count && !w->fault; i++) ran += run_warp(w, warps[i]);
    return ran;
}

unsigned emu_block_count(const emu_worker *w, emu_state state) {
    unsigned count = 0;
    for (unsigned i = 0; i < w->thread_count; i++) count += w->threads[i].state == state;
    return count;
}

void emu_block_release(emu_worker *w, emu_state state) {
    for (unsigned i = 0; i < w->thread_count; i++)
        if (w->threads[i].state == state) w->threads[i].state = EMU_READY;
}
