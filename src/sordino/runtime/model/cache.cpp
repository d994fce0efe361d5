#include "sordino/runtime/model/cache.hpp"

#include <algorithm>
#include <map>

namespace sordino::model {
namespace {

struct Held {
  double bytes = 0;
  int last = 0;  // command that has touched it last, counted through both rounds
  bool goes_first = false;
  double stayed = 0;  // the least part of it that was there since it was written
};

double found(const std::map<int, Held>& held, int buffer, double capacity) {
  auto own = held.find(buffer);
  if (own == held.end()) return 0;
  double others = 0;
  for (auto& [id, other] : held)
    if (id != buffer && (other.goes_first ? own->second.goes_first && other.last >= own->second.last
                                          : own->second.goes_first || other.last >= own->second.last))
      others += other.bytes;
  return std::clamp((capacity - others) / own->second.bytes, 0.0, 1.0);
}

}  // namespace

std::vector<double> found_in_cache(const std::vector<std::vector<Touch>>& commands, double capacity, bool repeated) {
  std::map<int, Held> held;
  std::vector<double> bytes;
  int count = int(commands.size());
  for (int at = 0; at < (repeated ? 2 : 1) * count; at++) {
    auto& touches = commands[std::size_t(at % count)];
    std::map<int, Held> after;
    double here = 0;
    for (auto& t : touches) {
      double part = found(held, t.buffer, capacity);
      double stayed = held.contains(t.buffer) ? std::min(held[t.buffer].stayed, part) : 0;
      here += t.bytes * (t.reads * part + t.writes * stayed);
      after[t.buffer] = {t.bytes, at, t.is_done_with, t.writes ? 1 : stayed};
    }
    for (auto& [buffer, now] : after) held[buffer] = now;
    bytes.push_back(here);
  }
  bytes.erase(bytes.begin(), bytes.end() - count);
  return bytes;
}

}  // namespace sordino::model
