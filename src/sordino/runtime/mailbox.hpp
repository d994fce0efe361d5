// Host data that has come for one rank: found by tag and sender, and kept in the order in which each sender posted it.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sordino/base/types.hpp"

namespace sordino {

struct Letter {
  int from = 0;
  std::vector<std::byte> data;
  double at = 0;  // seconds on a virtual clock
};

class Mailbox {
 public:
  void add(i64 tag, Letter letter) {
    std::pair key{tag, letter.from};
    letters_.emplace(key, std::move(letter));
  }
  /// The first letter with this tag of rank `from`, or of any rank if `from` < 0. Logarithmic in the letters here.
  std::optional<Letter> take(i64 tag, int from) {
    auto first = find(tag, from);
    if (first == letters_.end()) return {};
    Letter letter = std::move(first->second);
    letters_.erase(first);
    return letter;
  }

 private:
  using Letters = std::multimap<std::pair<i64, int>, Letter>;  // (tag, sender); equal keys stay in order
  Letters::const_iterator find(i64 tag, int from) const {
    auto first = letters_.lower_bound({tag, from < 0 ? 0 : from});
    bool found = first != letters_.end() && first->first.first == tag && (from < 0 || first->first.second == from);
    return found ? first : letters_.end();
  }
  Letters::iterator find(i64 tag, int from) {
    auto found = std::as_const(*this).find(tag, from);
    return letters_.erase(found, found);  // the same place, not const
  }

  Letters letters_;
};

}  // namespace sordino
