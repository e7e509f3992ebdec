/* What this machine can do at best, as a JSON line: `machine THREADS`.
 *
 *   cc -O3 -march=native -ffast-math -pthread -o machine machine.c
 *
 * Each figure is given for one thread and for THREADS, the best of several
 * passes: float32 multiply-adds from registers; STREAM's triad
 * (McCalpin, "Memory bandwidth and machine balance", 1995), which counts three
 * moves per value; and reading in order. The arrays are larger than caches.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef __AVX512F__
#define WIDTH 16
#else
#define WIDTH 8
#endif
#define CHAINS 12 /* two units with a latency of four to six cycles */
#define ROUNDS 20000000L
#define VALUES (100L * 1000 * 1000)
#define PASSES 5

typedef float lane __attribute__((vector_size(4 * WIDTH)));

static float *a, *b, *c;
static int threads;
static volatile float kept;

static void *multiply_add(void *part) {
    lane x[CHAINS], scale, shift;
    for (int j = 0; j < WIDTH; j++) {
        scale[j] = 0.999f;
        shift[j] = 0.001f * (float)((long)part + j);
    }
    for (int i = 0; i < CHAINS; i++) x[i] = shift + (float)i;
    for (long round = 0; round < ROUNDS; round++)
        for (int i = 0; i < CHAINS; i++) x[i] = x[i] * scale + shift;
    for (int i = 1; i < CHAINS; i++) x[0] += x[i];
    kept = x[0][0];
    return NULL;
}

static void *triad(void *part) {
    long first = (long)part * VALUES / threads, last = ((long)part + 1) * VALUES / threads;
    for (long i = first; i < last; i++) a[i] = b[i] + 0.5f * c[i];
    return NULL;
}

static void *reading(void *part) {
    long first = (long)part * VALUES / threads, last = ((long)part + 1) * VALUES / threads;
    float sum = 0;
    for (long i = first; i < last; i++) sum += b[i];
    kept = sum;
    return NULL;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

static double best(void *(*work)(void *)) {
    double least = 1e300;
    for (int pass = 0; pass < PASSES; pass++) {
        pthread_t others[64];
        double begun = seconds();
        for (long part = 1; part < threads; part++)
            pthread_create(&others[part], NULL, work, (void *)part);
        work((void *)0);
        for (int part = 1; part < threads; part++) pthread_join(others[part], NULL);
        double took = seconds() - begun;
        if (took < least) least = took;
    }
    return least;
}

int main(int argc, char **argv) {
    int most = argc > 1 ? atoi(argv[1]) : 1;
    if (most < 1 || most > 64) return 2;
    a = malloc(4 * VALUES), b = malloc(4 * VALUES), c = malloc(4 * VALUES);
    if (!a || !b || !c) return 1;
    for (long i = 0; i < VALUES; i++) a[i] = 0, b[i] = 1, c[i] = 2;
    double fma[2], moved[2], read[2];
    for (int which = 0; which < 2; which++) {
        threads = which == 0 ? 1 : most;
        fma[which] = 2.0 * WIDTH * CHAINS * ROUNDS * threads / best(multiply_add) / 1e9;
        moved[which] = 12.0 * VALUES / best(triad) / 1e9;
        read[which] = 4.0 * VALUES / best(reading) / 1e9;
    }
    printf("{\"gflops\": [%.1f, %.1f], \"triad_gb_s\": [%.2f, %.2f], \"read_gb_s\": [%.2f, %.2f]}\n",
           fma[0], fma[1], moved[0], moved[1], read[0], read[1]);
    return 0;
}
