// Commands that run on the host: user code between kernels, an operator that only Python knows, a library without GPUs.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sordino/runtime/body.hpp"

namespace sordino {

struct HostTask;

/// What a host task sees while it runs. All three throw bad_argument for what the task does not say it uses.
class HostView {
 public:
  using Words = std::vector<std::pair<int, double*>>;  // by logical name
  HostView(const HostTask& task, const Words& words, const ScalarView& scalars)
      : task_(task), words_(words), scalars_(scalars) {}

  /// Words of a vector that the task uses: its own rows, and behind them the ghosts where it uses those. On a GPU this is the
  /// vector's pinned twin (Rank::twin), copied before the task and, if it writes the vector, back after it.
  double* words(Vec v) const;
  double get(Scal s) const;
  void put(Scal s, double value) const;

 private:
  const HostTask& task_;
  const Words& words_;
  const ScalarView& scalars_;
};

/// A command that is a function of the host, called once an iteration on the thread of its rank. All it touches is declared, as
/// the fields of a functor declare it. On a GPU the queue drains before it: a loop with such a command is no graph.
struct HostTask {
  struct Use {
    Vec vector;
    Access how;
  };
  std::string name = "host task";
  std::vector<Use> uses = {};
  std::vector<Get> gets = {};  // Get(finish(s)) ends the reduction into s first
  std::vector<Scal> puts = {};
  std::function<void(const HostView&)> run;
  double seconds = 0;  // that the model engine takes it to last
};

class HostBody final : public Body {
 public:
  explicit HostBody(HostTask task) : task_(std::make_shared<const HostTask>(std::move(task))) {}

  std::unique_ptr<Body> bind(const VectorTable& vectors) const override;
  void head(const ScalarView&) override {}
  void rows(i32, i32, double*) override {}
  void host(const ScalarView& scalars) override { task_->run(HostView(*task_, words_, scalars)); }
  const std::type_info& type() const override { return typeid(HostTask); }
  const void* functor() const override { return task_.get(); }

 private:
  std::shared_ptr<const HostTask> task_;
  HostView::Words words_;
};

}  // namespace sordino
