/* settings.c: the environment variables of the driver's side, read once. tests/emulator/README.md lists them. */
#include <stdio.h>

#include "emulator.h"

static emu_settings emu_the_settings;
static pthread_once_t emu_settings_once = PTHREAD_ONCE_INIT;

static long long number(const char *name, long long fallback, long long least, long long most) {
    const char *text = getenv(name);
    if (!text || !*text) return fallback;
    char *end = NULL;
    long long value = strtoll(text, &end, 10);
    if (end != text && !*end && value >= least && value <= most) return value;
    fprintf(stderr, "reid emulator: %s=%s is not a number from %lld to %lld; %lld is used\n", name, text, least, most,
            fallback);
    return fallback;
}

/* Multiprocessors of a typical chip of each architecture. */
static int usual_sms(int arch) {
    switch (arch) {
    case 75: return 40;
    case 80: return 108;
    case 86: return 84;
    case 89: return 128;
    case 90: return 132;
    case 100: return 148;
    default: return 120;
    }
}

/* Reads one of two words; the first is the default. */
static int second_of(const char *name, const char *first, const char *second) {
    const char *text = getenv(name);
    if (!text || !*text || !strcmp(text, first)) return 0;
    if (!strcmp(text, second)) return 1;
    fprintf(stderr, "reid emulator: %s=%s is neither %s nor %s; %s is used\n", name, text, first, second, first);
    return 0;
}

static void read_settings(void) {
    emu_settings *s = &emu_the_settings;
    s->arch = (int)number("REID_EMULATOR_ARCH", 90, 10, 999);
    s->sms = (int)number("REID_EMULATOR_SMS", usual_sms(s->arch), 1, 1024);
    s->devices = (int)number("REID_EMULATOR_DEVICES", 1, 0, EMU_MAX_DEVICES);
    s->driver_version = (int)number("REID_EMULATOR_DRIVER_VERSION", 13000, 1000, 99999);
    s->memory = (size_t)number("REID_EMULATOR_MEMORY", 4LL << 30, 1 << 20, 1LL << 46);
    s->seed = (uint64_t)number("REID_EMULATOR_SEED", 1, 0, 1LL << 62);
    s->check = !EMU_ASAN && number("REID_EMULATOR_CHECK", 0, 0, 1) != 0;
    s->workers = s->check ? 1 : (int)number("REID_EMULATOR_THREADS", 1, 1, EMU_MAX_WORKERS);
    s->eager = number("REID_EMULATOR_EAGER", 0, 0, 1) != 0;
    emu_pace_read(&s->pace, getenv("REID_EMULATOR_PACE"));
    s->tensor_sums = second_of("REID_EMULATOR_SUMS", "chain", "tensor");
    s->trace = number("REID_EMULATOR_TRACE", 0, 0, 1) != 0;
    s->abort_on_report = number("REID_EMULATOR_ABORT", 0, 0, 1) != 0;
    s->print_live = number("REID_EMULATOR_LIVE", 0, 0, 1) != 0;
    s->fail = getenv("REID_EMULATOR_FAIL");
}

const emu_settings *emu_get_settings(void) {
    pthread_once(&emu_settings_once, read_settings);
    return &emu_the_settings;
}

const char *emu_mode(void) { return emu_get_settings()->check ? "check" : EMU_MODE; }

uint64_t emu_random(uint64_t *state) { /* splitmix64 */
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
