#include "sordino/runtime/model/cache.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "sordino/runtime/contains.hpp"

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

std::vector<double> found_in_cache(const Rank& rank, const Recording& recording, const Machine& machine,
                                   const std::function<int(int, int)>& buffer) {
  std::vector<double> found(recording.commands.size(), 0);
  if (machine.cache.bytes == 0) return found;
  std::map<std::pair<std::string, double>, int> others;
  std::vector<std::vector<Touch>> touched;
  for (int t = 0; t < recording.period; t++)
    for (auto& c : recording.commands) {
      auto& touches = touched.emplace_back();
      if (c.every > 1 || machine.paced(c.name)) continue;
      double rest = c.bytes;
      auto touch = [&](int v) {
        bool reads = contains(c.reads, v), writes = contains(c.writes, v);
        double all = 8.0 * rank.space(rank.vectors()[v].space).rows;
        double bytes = std::min(rest / (reads + writes), all);
        if (bytes <= 0) return;
        bool goes_first = contains(c.last_uses, v) && (!reads || 2 * all <= machine.cache.bytes);
        touches.push_back({buffer(t, v), bytes, reads, writes, goes_first});
        rest -= bytes * (reads + writes);
      };
      for (int v : c.reads) touch(v);
      for (int v : c.writes)
        if (!contains(c.reads, v)) touch(v);
      if (rest <= 0) continue;
      int own = others.try_emplace({c.name, rest}, -1 - int(others.size())).first->second;
      touches.push_back({own, rest, true, false, true});
    }
  auto each = found_in_cache(touched, machine.cache.capacity(), recording.is_loop);
  for (std::size_t k = 0; k < each.size(); k++) found[k % found.size()] += each[k] / recording.period;
  return found;
}

}  // namespace sordino::model
