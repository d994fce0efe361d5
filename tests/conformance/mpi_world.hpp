// Processes that must agree in a test.
#pragma once
#include <mpi.h>

#include <bit>
#include <string>
#include <vector>

#include "sordino/base/error.hpp"
#include "unit/fresh.hpp"

namespace mpi_world {

using sordino::u64;

inline int process() {
  int p = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &p);
  return p;
}
inline int processes() {
  int n = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  return n;
}

/// The same random numbers in all processes.
inline fresh::Random shared_random(u64 stream) {
  static_assert(sizeof(u64) == sizeof(unsigned long));
  MPI_Bcast(&fresh::seed(), 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
  return fresh::Random(stream);
}

/// All processes have the same bits.
inline bool agree(double value) {
  std::vector<double> all(static_cast<std::size_t>(processes()));
  MPI_Allgather(&value, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, MPI_COMM_WORLD);
  for (double v : all)
    if (std::bit_cast<u64>(v) != std::bit_cast<u64>(value)) return false;
  return true;
}

/// What the last process says, in all of them.
inline std::string of_the_last(std::string text) {
  int length = int(text.size()), last = processes() - 1;
  MPI_Bcast(&length, 1, MPI_INT, last, MPI_COMM_WORLD);
  text.resize(std::size_t(length));
  MPI_Bcast(text.data(), length, MPI_CHAR, last, MPI_COMM_WORLD);
  return text;
}

/// Whether all processes know the same of a failure.
inline bool all_know(const sordino::Cause& c) {
  std::string numbers;
  for (sordino::i64 n : {sordino::i64(c.rank), c.iteration, c.expected, c.seen}) numbers += std::to_string(n) + " ";
  int same = numbers + c.command == of_the_last(numbers + c.command), all = 0;
  MPI_Allreduce(&same, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all == 1;
}

}  // namespace mpi_world
