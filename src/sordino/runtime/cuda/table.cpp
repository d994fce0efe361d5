#include "sordino/runtime/cuda/table.hpp"

#include <algorithm>
#include <list>
#include <map>
#include <mutex>
#include <tuple>

namespace sordino::cuda {
namespace {

struct Table {
  std::mutex mutex;
  std::map<std::tuple<std::type_index, std::type_index, SumOrder>, Entry> entries;  // never erased: pointers stay valid
  std::list<ResidentEntry> residents;
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

i32 ResidentEntry::kind(const std::type_info& functor, const std::type_info& test) const {
  auto at = std::find(kinds.begin(), kinds.end(), Kind(functor, test));
  return at == kinds.end() ? -1 : i32(at - kinds.begin());
}

const ResidentEntry* find_resident(const std::vector<ResidentEntry::Kind>& kinds) {
  std::lock_guard lock(table().mutex);
  const ResidentEntry* found = nullptr;
  for (auto& e : table().residents) {
    bool runs_all = std::all_of(kinds.begin(), kinds.end(),
                                [&](auto& k) { return std::find(e.kinds.begin(), e.kinds.end(), k) != e.kinds.end(); });
    if (runs_all && (!found || e.kinds.size() < found->kinds.size())) found = &e;
  }
  return found;
}

void add_resident(const ResidentEntry& entry) {
  std::lock_guard lock(table().mutex);
  for (auto& e : table().residents)
    if (e.kinds == entry.kinds) return;
  table().residents.push_back(entry);
}

}  // namespace sordino::cuda
