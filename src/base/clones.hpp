// GEMMPEAK_CLONES: a function compiled twice, for AVX2 with FMA and for the baseline, chosen by the
// loader. Used on hot CPU loops, which are plain C++ that the compiler vectorises.
// It refuses to exist under sanitizers, whose run time is not up yet when the loader chooses.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define GEMMPEAK_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define GEMMPEAK_CLONES
#endif
