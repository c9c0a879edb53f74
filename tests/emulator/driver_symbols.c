/* driver_symbols.c: cuGetProcAddress. It finds a function by its base name: the newest form that is not newer than the
   version asked for. If nothing is found, the first form of the call fails; the second form, as CUDA 12 documents it,
   succeeds with a null pointer and gives the reason in the status. */
#include "driver.h"

typedef struct emu_symbol {
    const char *name;
    int version;
    void (*function)(void);
} emu_symbol;

#define EMU_SYMBOL(base, symbol, version, ...) {#base, version, (void (*)(void))symbol},
static const emu_symbol emu_symbols[] = {REID_EMULATOR_DRIVER(EMU_SYMBOL)};

static CUresult find(const char *name, void **function, int version, int *status) {
    const emu_symbol *best = NULL;
    int known = 0;
    if (!name || !function || version > emu_get_settings()->driver_version) return CUDA_ERROR_INVALID_VALUE;
    *function = NULL;
    for (size_t i = 0; i < sizeof emu_symbols / sizeof *emu_symbols; i++) {
        const emu_symbol *s = &emu_symbols[i];
        if (strcmp(s->name, name) != 0) continue;
        known = 1;
        if (s->version <= version && (!best || s->version > best->version)) best = s;
    }
    *status = best    ? CU_GET_PROC_ADDRESS_SUCCESS
              : known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                      : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (best) memcpy(function, &best->function, sizeof best->function);
    return CUDA_SUCCESS;
}

static CUresult find_or_error(const char *symbol, void **function, int version) {
    int status;
    CUresult r = find(symbol, function, version, &status);
    return !r && status ? CUDA_ERROR_NOT_FOUND : r;
}

EMU_API CUresult cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags) {
    (void)flags;
    EMU_CALL(EMU_BEFORE_INIT, find_or_error(symbol, function, version));
}

static CUresult find_with_status(const char *symbol, void **function, int version,
                                 CUdriverProcAddressQueryResult *status) {
    int found;
    CUresult r = find(symbol, function, version, &found);
    if (!r && status) *status = (CUdriverProcAddressQueryResult)found;
    return r;
}

EMU_API CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, cuuint64_t flags,
                                     CUdriverProcAddressQueryResult *status) {
    (void)flags;
    EMU_CALL(EMU_BEFORE_INIT, find_with_status(symbol, function, version, status));
}
