// Processes that do one thing together, and fail together: what one of them refuses, all refuse with the same sentence.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "sordino/base/error.hpp"
#include "sordino/comm/processes.hpp"

namespace sordino {

class Accord {
 public:
  /// Null: this process alone, for which everything here is immediate.
  explicit Accord(std::unique_ptr<Processes> processes) : processes_(std::move(processes)) {}

  int count() const { return processes_ ? processes_->count() : 1; }
  int index() const { return processes_ ? processes_->index() : 0; }
  Processes* processes() { return processes_.get(); }
  /// As of Processes.
  void enter(const char* call) {
    if (processes_) processes_->enter(call);
  }

  /// Runs `part` in every process. If it throws in some, the error of the first of them is thrown in all, with its process
  /// named. Collective: one all-reduce, two if there was an error.
  template <class Part>
  void together(const Part& part) {
    std::optional<Error> error;
    try {
      part();
    } catch (...) {
      error = caught("", {});
    }
    settle(error);
  }
  /// [k] the largest values[k] of all processes. Collective: one all-reduce.
  std::vector<double> most(std::vector<double> values);

 private:
  void settle(const std::optional<Error>& error);

  std::unique_ptr<Processes> processes_;
};

}  // namespace sordino
