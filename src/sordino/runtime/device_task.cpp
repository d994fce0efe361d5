#include "sordino/runtime/device_task.hpp"

#include <algorithm>

#include "sordino/base/error.hpp"

namespace sordino {
namespace {

template <class List, class Found>
void require(const List& list, const Found& found, const DeviceTask& task, const char* what) {
  if (std::none_of(list.begin(), list.end(), found)) bad_argument(task.name + " asks for a " + what);
}

}  // namespace

double* DeviceView::words(Vec v) const {
  auto is_v = [v](const HostTask::Use& use) { return use.vector.id == v.id; };
  require(task_.uses, is_v, task_, "vector that it does not say it uses");
  return vectors_(v.id);
}

const double* DeviceView::get(Scal s) const {
  require(task_.gets, [s](const Get& g) { return g.id == s.id; }, task_, "scalar that it does not say it gets");
  return scalars_(s.id);
}

double* DeviceView::put(Scal s) const {
  require(task_.puts, [s](Scal p) { return p.id == s.id; }, task_, "scalar that it does not say it puts");
  return scalars_(s.id);
}

DeviceBody::DeviceBody(DeviceTask task) : task_(std::make_shared<const DeviceTask>(std::move(task))) {
  host_ = std::make_shared<HostBody>(
      HostTask{.name = task_->name, .uses = task_->uses, .gets = task_->gets, .puts = task_->puts, .run = task_->on_host});
}

std::unique_ptr<Body> DeviceBody::bind(const VectorTable& vectors) const {
  if (!task_->on_host) throw Error(Errc::unsupported, task_->name + ": a device task without on_host runs on GPUs only");
  auto copy = std::make_unique<DeviceBody>(*this);
  copy->host_ = host_->bind(vectors);
  return copy;
}

}  // namespace sordino
