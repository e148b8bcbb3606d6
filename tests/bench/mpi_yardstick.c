// All-reduce of float sums under MPI, the yardstick of beside_mpi. Prints "BYTES MICROSECONDS" on each line: the
// slowest rank's mean of a loop, median of 7, into an existing buffer.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double mean_of(const float* in, float* out, int count, int times) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < times; ++i) MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  double mine = (MPI_Wtime() - start) / times, slowest = 0;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

int main(int argc, char** argv) {
  int rank = 0, size = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int k = 1; k < argc; ++k) {
    const int count = atoi(argv[k]) / 4;
    float* in = malloc(sizeof(float) * (size_t)count);
    float* out = malloc(sizeof(float) * (size_t)count);
    for (int i = 0; i < count; ++i) in[i] = 1;
    mean_of(in, out, count, 10);
    int times = (int)(0.1 / mean_of(in, out, count, 3));
    times = times < 3 ? 3 : times > 20000 ? 20000 : times;
    MPI_Bcast(&times, 1, MPI_INT, 0, MPI_COMM_WORLD);
    double means[7];
    for (int i = 0; i < 7; ++i) means[i] = mean_of(in, out, count, times);
    qsort(means, 7, sizeof *means, by_size);
    if (out[count - 1] != (float)size) MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank == 0) printf("%s %.2f\n", argv[k], means[3] * 1e6);
    free(in);
    free(out);
  }
  MPI_Finalize();
  return 0;
}
