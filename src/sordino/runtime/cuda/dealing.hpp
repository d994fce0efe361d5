// Which chunks of a command's task groups a thread block computes. Usually chunks of all groups are dealt to all blocks in one
// sequence. But where rows that others wait for come first, and rows that wait for others last, with plain rows between them,
// two sets of blocks stand aside: some send, while the others begin with the plain rows at once; some look for what others
// sent, while the others end the plain rows. Those that stand aside miss as many rounds of plain rows as that takes them, so
// that neither the link nor a fence nor a look at a flag lengthens the command.
//
// Who computes what depends on nothing but a command's shape and the grid: sums have the same bits whenever it runs.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "sordino/base/types.hpp"

namespace sordino::cuda {

/// Chunks of one group, dealt one by one to some blocks again and again. Blocks are counted around the grid.
struct Hand {
  i32 begin = 0, end = 0;   // chunks
  i32 from = 0, among = 1;  // the first block, and how many
};
constexpr int most_hands = 3;  // of one group

/// The first chunk of a hand that `block` gets; every `among`-th after it is its own, too. `end`, or more: it gets none.
SORDINO_HD constexpr i32 first_chunk(const Hand& hand, i32 block, i32 blocks) {
  i32 place = block - hand.from;
  if (place < 0) place += blocks;
  return place < hand.among ? hand.begin + place : hand.end;
}

/// A task group, as it is dealt.
struct Load {
  i32 chunks = 0;
  bool awaits = false, sends = false;  // sends: only its blocks do so
  double bytes = 0, sent = 0;          // of memory; to others
  double flops = 0;
};

/// A group's hands, in order. A group that awaits or sends has one at most.
using Hands = std::vector<Hand>;

/// Blocks that do something else beside plain rows, and rounds of plain rows that they miss for it.
struct Aside {
  i32 blocks = 0, rounds = 0;
};
struct Asides {
  Aside sending, waiting;
};

/// A command whose rows fall into three parts, any of the outer two of which may be missing.
struct Parts {
  int plain = -1;                // the group of plain rows; -1: the groups stand otherwise
  i32 sending = 0, waiting = 0;  // chunks of the groups before and behind it
};

inline Parts parts_of(const std::vector<Load>& groups) {
  Parts p;
  for (int j = 0; j < int(groups.size()); j++) {
    const Load& g = groups[std::size_t(j)];
    if (g.chunks == 0) continue;
    bool is_plain = !g.awaits && !g.sends, behind = p.plain >= 0;
    if (is_plain ? behind : g.awaits != behind) return {};
    if (is_plain) p.plain = j;
    (g.awaits ? p.waiting : p.sending) += is_plain ? 0 : g.chunks;
  }
  return p;
}

/// All chunks in one sequence to all blocks.
inline std::vector<Hands> deal_evenly(const std::vector<Load>& groups, i32 blocks) {
  std::vector<Hands> hands;
  i32 before = 0;
  for (auto& g : groups) {
    hands.push_back(g.chunks > 0 ? Hands{{0, g.chunks, before % blocks, blocks}} : Hands{});
    before += g.chunks;
  }
  return hands;
}

/// [group] its hands. The first blocks send, the next ones wait. What stands aside is cut down to what there is room for.
inline std::vector<Hands> deal(const std::vector<Load>& groups, i32 blocks, const Asides& asides) {
  const Parts parts = parts_of(groups);
  i32 sending = std::clamp(asides.sending.blocks, 0, parts.sending),
      waiting = std::clamp(asides.waiting.blocks, 0, parts.waiting);
  bool nobody = sending + waiting == 0, all = (parts.sending == 0 || sending > 0) && (parts.waiting == 0 || waiting > 0);
  if (parts.plain < 0 || nobody || !all || sending + waiting >= blocks) return deal_evenly(groups, blocks);

  // Plain rows: whole rounds without those who send, all blocks' rounds, whole rounds without those who wait.
  const i32 chunks = groups[std::size_t(parts.plain)].chunks, others = (sending + waiting) % blocks;
  i64 first = i64(std::max(asides.sending.rounds, 0)) * (sending ? blocks - sending : 0);
  i64 last = i64(std::max(asides.waiting.rounds, 0)) * (waiting ? blocks - waiting : 0);
  first = std::min<i64>(first, chunks);
  last = std::min<i64>(last, chunks);
  if (i64 both = first + last; both > chunks) first = first * chunks / both, last = last * chunks / both;
  first -= first % (blocks - sending);
  last -= last % (blocks - waiting);
  Hands plain;
  auto add = [&](i64 begin, i64 end, i32 from, i32 among) {
    if (begin < end) plain.push_back({i32(begin), i32(end), from, among});
  };
  add(0, first, sending, blocks - sending);
  add(first, chunks - last, others, blocks);
  add(chunks - last, chunks, others, blocks - waiting);

  std::vector<Hands> hands;
  for (auto& g : groups)
    if (g.chunks == 0)
      hands.push_back({});
    else if (g.awaits)
      hands.push_back({{0, g.chunks, sending, waiting}});
    else
      hands.push_back(g.sends ? Hands{{0, g.chunks, 0, sending}} : plain);
  return hands;
}

/// Blocks with chunks of groups that send.
inline i32 count_senders(const std::vector<Load>& groups, const std::vector<Hands>& hands, i32 blocks) {
  i32 senders = 0;
  for (i32 b = 0; b < blocks; b++) {
    bool sends = false;
    for (std::size_t j = 0; j < groups.size(); j++)
      for (auto& h : hands[j]) sends |= groups[j].sends && first_chunk(h, b, blocks) < h.end;
    senders += sends;
  }
  return senders;
}

// --- who stands aside, and for how long -------------------------------------------------------------------------------------

/// Seconds, bytes and flops of a device, by which the host estimates. If they are wrong by a half, a command takes a
/// microsecond longer than it must. Rates of memory and arithmetic come from the device's description; the rest is an H200's.
struct Pace {
  double memory_rate = 4e12, flop_rate = 3e13, link_rate = 3e11;  // of one device, a second
  double chunk = 1e-6;                                            // that a block takes for a chunk at least: loads, then stores
  double sending_rows = 0.8e-6;                                   // for a chunk: rows just stored are read again
  double fence = 2e-6;                                            // until what was sent is there, and the ticket taken
  double look = 2e-6;                                             // at flags, and what stands behind them is read
  double longest_round = 4e-6;  // of plain rows: beyond it, what stands aside would be less than a round
  double fewest_rounds = 4;
};

/// `times` as many rounds as those who stand aside are thought to need; 0: all blocks are dealt the same. As many senders as
/// have `in_flight` bytes on their way at once: what keeps a link busy, and does not choke it.
inline Asides asides_of(const std::vector<Load>& groups, i32 blocks, double times, double in_flight, const Pace& pace = {}) {
  const Parts parts = parts_of(groups);
  if (parts.plain < 0 || times <= 0) return {};
  Load sending, waiting;
  double all = 0;                      // seconds
  auto seconds = [&](const Load& g) {  // of a round
    return std::max(pace.chunk, std::max(g.bytes / pace.memory_rate, g.flops / pace.flop_rate) * blocks / g.chunks);
  };
  for (auto& g : groups) {
    if (g.chunks == 0) continue;
    all += seconds(g) * g.chunks / blocks;
    if (!g.sends && !g.awaits) continue;
    Load& sum = g.awaits ? waiting : sending;
    sum.chunks += g.chunks;
    sum.bytes += g.bytes;
    sum.flops += g.flops;
    sum.sent += g.sent;
    sum.sends |= g.sends;
  }
  const double round = seconds(groups[std::size_t(parts.plain)]);
  if (round > pace.longest_round || all < pace.fewest_rounds * round) return {};
  auto rounds = [&](double time) { return i32(std::lround(times * time / round)); };

  Asides asides;
  const i32 share = sending.chunks > 0 && waiting.chunks > 0 ? 4 : 2;  // 1 / the most of the blocks
  if (sending.chunks > 0) {
    // As few as keep the link busy, unless that takes half the command.
    double once = seconds(sending) + pace.sending_rows;
    double by_few = std::ceil(std::max({1.0, sending.sent / in_flight, double(share) * sending.chunks / blocks}));
    double in_time = std::floor(std::max(1.0, (all / 2 - pace.fence) / once));
    i32 turns = i32(std::min(by_few, in_time));
    double time = std::max(turns * once, sending.sent / pace.link_rate) + pace.fence;
    asides.sending = {(sending.chunks + turns - 1) / turns, rounds(time)};
  }
  if (waiting.chunks > 0) {
    // As many as may be: if what they wait for is late, all the rest is done before.
    i32 turns = (share * waiting.chunks + blocks - 1) / blocks;
    double time = turns * seconds(waiting) + pace.look + (waiting.sends ? pace.fence : 0);
    asides.waiting = {(waiting.chunks + turns - 1) / turns, rounds(time)};
  }
  if (4 * (asides.sending.blocks + asides.waiting.blocks) > 3 * blocks) return {};
  return asides;
}

}  // namespace sordino::cuda
