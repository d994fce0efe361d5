// What kernels of a device task need to wait for other thread blocks of their own, as all waits are to be bounded: by the
// engine's timeout, and by the word that ends all waiting when somebody fails. Plain data, and a `Waiter` (memory.cuh).
#pragma once
#include "sordino/runtime/cuda/wire.hpp"
#include "sordino/runtime/device_task.hpp"

namespace sordino::cuda {

/// A wait is lost where the loop ends meanwhile, too: a task that waits belongs in the queue that tests.
struct TaskWaits {
  Control* control = nullptr;
  const Pulse* engine = nullptr;  // of all ranks
  i32 ranks = 0;
  i32 command = 0;
  i32 iteration = 0;  // counted from the chunk's first; of tasks that are launched one by one, 0
};

/// What engine cuda hands to a task's on_device.
class TaskView final : public DeviceView {
 public:
  TaskView(const DeviceView& view, const TaskWaits& waits) : DeviceView(view), waits(waits) {}
  const TaskWaits waits;
};

/// Of a view that engine cuda has handed over: there are no others.
inline const TaskWaits& waits_of(const DeviceView& view) { return static_cast<const TaskView&>(view).waits; }

}  // namespace sordino::cuda
