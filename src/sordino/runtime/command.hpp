// What is recorded: commands, each a small program of phases. Engines interpret phases; prologues and epilogues are nothing
// else.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "sordino/runtime/body.hpp"
#include "sordino/runtime/exchange.hpp"

namespace sordino {

enum class Op : std::uint8_t {
  launch,     // the command is issued
  finish,     // reduction `slot` is complete: its sums become scalars
  exit_test,  // the loop may end here
  head,       // scalar arithmetic
  await,      // rows of vector `slot` from all its peers have arrived
  tasks,      // task group `slot` is computed
  host,       // the host task runs
  put,        // rows of vector `slot` are sent to its peers
  start,      // the command's sums are sent into reduction `slot`
};

struct Phase {
  Op op;
  int slot = -1;
};

/// Rows of one command that share what they wait for and what they announce.
struct TaskGroup {
  std::shared_ptr<const std::vector<RowRange>> ranges;
  i64 rows = 0;
  double share = 0;  // of the command's time
};

/// "Command `command` must be done: in this iteration (age 0) or in the one before (age 1)."
struct Dependence {
  int command, age;
};

struct Command {
  std::string name;
  int queue = 0;
  int space = -1;
  int every = 0;           // k > 0: only in iterations k-1, 2k-1, ...
  bool capturable = true;  // false: a host task
  std::vector<Phase> phases;
  std::vector<TaskGroup> groups;
  int sums = 0;                 // values each row adds
  int starts = -1;              // reduction they go into
  bool joins = false;           // which travels with the next one (Join)
  double bytes = 0, flops = 0;  // on this rank, every array touched once
  double host_seconds = 0;      // that a host task is taken to last
  // logical names, from the functor's field types
  std::vector<int> reads, writes, ghosts, pushes;  // vectors
  std::vector<int> sends, sent_words;              // those of `writes` that the functor sends, so many words at a time
  std::vector<int> last_uses;                      // of these: caches are told to let them go first (caching.hpp)
  std::vector<int> gets, puts, finishes;           // scalars
  std::vector<Dependence> after;                   // commands of other queues
  std::shared_ptr<const Body> body;
  std::shared_ptr<const Test> test;

  i64 rows() const {
    i64 n = 0;
    for (auto& g : groups) n += g.rows;
    return n;
  }
  bool active(int iteration) const { return every == 0 || iteration % every == every - 1; }
};

/// A body, recorded once. `rotate` lists names whose buffers shift at the end of an iteration: {a, b, c} means that the next
/// iteration's b is this one's a, c is b, and a is c's old buffer.
struct Recording {
  std::vector<Command> commands;
  bool is_loop = false;
  int period = 1;  // iterations after which the rotation is back where it began
  int steps = 1;   // that one iteration counts as, where progress is told
  std::vector<std::vector<int>> rotate, rotate_scalars;
};

/// Whether it sends anything: rows, or sums of a reduction. All ranks compile such a recording together.
bool sends(const Recording& recording);

/// `map` after `steps` iterations of the rotation.
std::vector<int> rotated(std::vector<int> map, const std::vector<std::vector<int>>& groups, int steps);

struct Outcome {
  int iterations = 0;         // completed bodies; an iteration that exits counts
  Verdict verdict = proceed;  // proceed: the loop ran to its maximum
  bool exited() const { return verdict != proceed; }
};

}  // namespace sordino
