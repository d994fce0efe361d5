// What the two sources of the C ABI share.
#pragma once
#include <memory>
#include <vector>

#include "sordino/api/rows_solver.hpp"
#include "sordino/api/sordino.h"

/// A solver and its last report.
struct sordino_solver {
  struct Pattern {
    std::vector<sordino::i64> row_starts;
    std::vector<sordino::i32> columns;
  };
  std::shared_ptr<Pattern> pattern = std::make_shared<Pattern>();  // which ranks read, also one that never came back
  std::unique_ptr<sordino::RowsSolver> rows;
  sordino::Report report;
  bool solved = false;
};

namespace sordino::c_abi {

/// Runs `job`, which returns a code; whatever it throws becomes a code and this thread's message.
int guarded(const std::function<int()>& job);

/// Seconds that a wait for other processes may take; where the options are wrong, which is said later, where all hear it.
double timeout_of(const char* options);

/// Collective over the processes. `wanted`: what the options change.
int create(Accord accord, const sordino_rows* matrix, const char* options, sordino_solver** solver, Options wanted = {});

}  // namespace sordino::c_abi
