#include "sordino/runtime/host_task.hpp"

#include "sordino/base/error.hpp"

namespace sordino {

double* HostView::words(Vec v) const {
  for (auto& [id, words] : words_)
    if (id == v.id) return words;
  bad_argument("a host task asks for a vector that it does not say it uses");
}

double HostView::get(Scal s) const {
  for (auto& g : task_.gets)
    if (g.id == s.id) return load_scalar(scalars_, s.id);
  bad_argument("a host task asks for a scalar that it does not say it gets");
}

void HostView::put(Scal s, double value) const {
  for (Scal p : task_.puts)
    if (p.id == s.id) return store_scalar(scalars_, s.id, value);
  bad_argument("a host task puts a scalar that it does not say it puts");
}

std::unique_ptr<Body> HostBody::bind(const VectorTable& vectors) const {
  auto copy = std::make_unique<HostBody>(*this);
  copy->words_.clear();
  for (auto& use : task_->uses) copy->words_.push_back({use.vector.id, vectors(use.vector.id)});
  return copy;
}

}  // namespace sordino
