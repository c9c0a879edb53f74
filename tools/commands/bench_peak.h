/* What this CPU does at best, measured: the ceilings that `reid bench` compares with. */
#ifndef REID_TOOLS_BENCH_PEAK_H
#define REID_TOOLS_BENCH_PEAK_H

typedef struct cpu_peak {
    double gflops; /* 10^9 fp32 operations a second, a multiply-add being two; 0: no memory */
    double gbs;    /* 10^9 bytes a second, read plus written; 0: no memory for it */
} cpu_peak;

/* isa: as reid_info.isa; an unknown one is measured in plain C. All threads work at the same time, as in the network:
   clocks fall when many cores run wide instructions. Takes about a second. */
cpu_peak cpu_peak_measure(const char *isa, int threads);

#endif
