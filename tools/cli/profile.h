/* Profiles: settings that suit a machine, predefined or from a file that `reid tune` wrote. They change speed and
   memory, never the results, except for the device, whose default precision may differ. A file consists of lines: "#
   comment", an empty line, or "KEY = VALUE" with the name and a value of an option. */
#ifndef REID_TOOLS_PROFILE_H
#define REID_TOOLS_PROFILE_H

enum {
    PROFILE_DEVICE,
    PROFILE_BATCH,
    PROFILE_THREADS,
    PROFILE_LANES,
    PROFILE_DECODERS,
    PROFILE_MEMORY,
    PROFILE_KEYS,
    PROFILE_VALUE = 64 /* bytes */
};

/* The options' names, in this order. */
extern const char *const PROFILE_KEY[PROFILE_KEYS];

#define PROFILES "throughput|latency|low-memory|cpu"

typedef struct profile {
    char value[PROFILE_KEYS][PROFILE_VALUE]; /* "": not set */
    int line[PROFILE_KEYS];                   /* line in the file; 0 for a predefined profile */
} profile;

/* The index of a key, -1 if unknown. */
int profile_key(const char *name);
/* name: one of PROFILES, else a file. The values are not checked. Returns 0 after saying what is wrong. */
int profile_read(profile *p, const char *name);

#endif
