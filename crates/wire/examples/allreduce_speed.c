/* All-reduce between two processes by MPI, to compare with allreduce_speed.rs:
 *
 *   mpicc -O2 -o allreduce_mpi allreduce_speed.c
 *   mpirun -n 2 ./allreduce_mpi                              (shared memory)
 *   mpirun -n 2 --mca btl tcp,self ./allreduce_mpi           (TCP)
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    static const int bytes[] = {1000, 10000, 100000, 1000000, 10000000, 30000000};
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        int count = bytes[i] / 4, repetitions = 100000000 / bytes[i];
        if (repetitions > 3000) repetitions = 3000;
        if (repetitions < 15) repetitions = 15;
        float *values = calloc(count, sizeof *values);
        double *micros = malloc(repetitions * sizeof *micros);
        for (int r = 0; r < repetitions; r++) {
            double begun = MPI_Wtime();
            MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
            micros[r] = (MPI_Wtime() - begun) * 1e6;
        }
        qsort(micros, repetitions, sizeof *micros, ascending);
        if (rank == 0)
            printf("  MPI_Allreduce  %9d bytes  median %9.1f us  least %9.1f us\n", bytes[i],
                   micros[repetitions / 2], micros[0]);
        free(values);
        free(micros);
    }
    MPI_Finalize();
    return 0;
}
