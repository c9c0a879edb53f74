/* Measures the best that this CPU can do: the ceilings that `reid bench` compares with. */
#ifndef REID_TOOLS_BENCH_PEAK_H
#define REID_TOOLS_BENCH_PEAK_H

typedef struct cpu_peak {
    double gflops; /* 10^9 fp32 operations a second, where a multiply-add counts as two; 0: out of memory */
    double gbs;    /* 10^9 bytes a second, read plus written; 0: out of memory */
} cpu_peak;

/* isa: as in reid_info.isa; an unknown one is measured in plain C. All threads run at the same time, as in the network,
   because clocks fall when many cores run wide instructions. Takes about a second. */
cpu_peak cpu_peak_measure(const char *isa, int threads);

#endif
