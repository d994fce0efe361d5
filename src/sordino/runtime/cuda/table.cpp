#include "sordino/runtime/cuda/table.hpp"

#include <map>
#include <mutex>
#include <tuple>

namespace sordino::cuda {
namespace {

struct Table {
  std::mutex mutex;
  std::map<std::tuple<std::type_index, std::type_index, SumOrder>, Entry> entries;  // never erased: pointers stay valid
};
Table& table() {
  static Table t;
  return t;
}

}  // namespace

const Entry* find_kernel(const std::type_info& functor, const std::type_info& test, SumOrder order) {
  std::lock_guard lock(table().mutex);
  auto at = table().entries.find({functor, test, order});
  return at == table().entries.end() ? nullptr : &at->second;
}

void set_kernel(const std::type_info& functor, const std::type_info& test, SumOrder order, const Entry& entry) {
  std::lock_guard lock(table().mutex);
  table().entries[{functor, test, order}] = entry;
}

}  // namespace sordino::cuda
