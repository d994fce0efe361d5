#include "sordino/runtime/host_task.hpp"

#include "sordino/base/error.hpp"

namespace sordino {

double* HostView::words(Vec v) const {
  for (auto& [id, words] : words_)
    if (id == v.id) return words;
  bad_argument("a host task asks for a vector that it does not say it uses");
}

std::unique_ptr<Body> HostBody::bind(const VectorTable& vectors) const {
  auto copy = std::make_unique<HostBody>(*this);
  copy->words_.clear();
  for (auto& use : task_->uses) copy->words_.push_back({use.vector.id, vectors(use.vector.id)});
  return copy;
}

}  // namespace sordino
