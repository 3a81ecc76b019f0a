//===- allreduce.c - MPI's all-reduce by size -------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Prints bytes and microseconds of MPI_Allreduce of floats, medians of rounds of eight.

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

int main(int argc, char **argv) {
  enum { rounds = 11, row = 8 };
  long largest = argc > 1 ? atol(argv[1]) : 64l << 20;
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (long bytes = 1024; bytes <= largest; bytes *= 4) {
    int count = (int)(bytes / 4);
    float *from = calloc((size_t)count, 4), *to = calloc((size_t)count, 4);
    double seconds[rounds];
    for (int i = -1; i < rounds; ++i) {
      MPI_Barrier(MPI_COMM_WORLD);
      double begin = MPI_Wtime();
      for (int k = 0; k < row; ++k)
        MPI_Allreduce(from, to, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      if (i >= 0)
        seconds[i] = (MPI_Wtime() - begin) / row;
    }
    qsort(seconds, rounds, sizeof(double), ascending);
    if (rank == 0)
      printf("%ld %.1f\n", bytes, seconds[rounds / 2] * 1e6);
    free(from);
    free(to);
  }
  MPI_Finalize();
  return 0;
}
