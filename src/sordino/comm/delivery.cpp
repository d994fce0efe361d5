#include "sordino/comm/delivery.hpp"

#include <algorithm>
#include <string>

#include "sordino/base/error.hpp"
#include "sordino/comm/communicator.hpp"

namespace sordino {
namespace {

/// Head and words of each letter, one behind the other.
std::vector<i64> packed(const std::vector<Dispatch>& letters) {
  std::vector<i64> words;
  for (auto& l : letters) {
    words.insert(words.end(), {l.to, l.from, i64(l.words.size())});
    words.insert(words.end(), l.words.begin(), l.words.end());
  }
  return words;
}

void unpack(const std::vector<i64>& words, std::vector<Dispatch>& into) {
  for (auto at = words.begin(); at != words.end();) {
    const auto first = at + 3, last = first + at[2];
    into.push_back({int(at[0]), int(at[1]), {first, last}});
    at = last;
  }
}

}  // namespace

std::vector<Dispatch> deliver(Rank& rank, int channel, std::vector<Dispatch> letters) {
  Communicator comm(rank, channel);
  const int me = rank.id();
  for (auto& l : letters) {
    if (l.to < 0 || l.to >= rank.size()) bad_argument("a letter is for rank " + std::to_string(l.to) + ", which is none");
    l.from = me;
  }
  // All that this rank has is for ranks low <= r < high, of which it is one.
  for (int low = 0, high = rank.size(); high - low > 1;) {
    const int middle = (low + high) / 2, half = middle - low;  // the upper half may have one rank more
    const bool is_low = me < middle, is_extra = me - middle == half;
    auto stays = std::stable_partition(letters.begin(), letters.end(), [&](auto& l) { return (l.to < middle) == is_low; });
    comm.send(is_low ? me + half : is_extra ? middle - 1 : me - half, packed({stays, letters.end()}));
    letters.erase(stays, letters.end());
    if (!is_extra) unpack(comm.receive<i64>(is_low ? me + half : me - half), letters);
    if (me == middle - 1 && high - middle > half) unpack(comm.receive<i64>(high - 1), letters);
    (is_low ? high : low) = middle;
  }
  std::stable_sort(letters.begin(), letters.end(), [](auto& a, auto& b) { return a.from < b.from; });
  return letters;
}

}  // namespace sordino
