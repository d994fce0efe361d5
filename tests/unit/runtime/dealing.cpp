// Which thread block computes which chunks of a command (runtime/cuda/dealing.hpp). Needs no GPU.
#include "sordino/runtime/cuda/dealing.hpp"

#include <set>

#include "check.hpp"
#include "unit/fresh.hpp"

using namespace sordino;
using namespace sordino::cuda;

namespace {

constexpr double few = 384 << 10;  // bytes on their way

/// Chunks as the blocks of a grid take them.
struct Taken {
  std::vector<std::vector<i32>> times;  // [group][chunk] how often it is computed
  std::vector<std::vector<i32>> by;     // [group][block] how many chunks it computes
};

Taken take(const std::vector<Load>& groups, const std::vector<Hands>& hands, i32 blocks) {
  Taken t;
  REQUIRE(hands.size() == groups.size());
  for (std::size_t j = 0; j < groups.size(); j++) {
    std::vector<i32> times(std::size_t(groups[j].chunks), 0), by(std::size_t(blocks), 0);
    for (auto& h : hands[j])
      for (i32 b = 0; b < blocks; b++)
        for (i32 chunk = first_chunk(h, b, blocks); chunk < h.end; chunk += h.among) {
          REQUIRE((chunk >= 0 && chunk < groups[j].chunks));
          times[std::size_t(chunk)]++;
          by[std::size_t(b)]++;
        }
    t.times.push_back(times);
    t.by.push_back(by);
  }
  return t;
}

void check_that_all_is_dealt(const std::vector<Load>& groups, const std::vector<Hands>& hands, i32 blocks) {
  Taken t = take(groups, hands, blocks);
  std::set<i32> senders;
  for (std::size_t j = 0; j < groups.size(); j++) {
    CHECK(std::count(t.times[j].begin(), t.times[j].end(), 1) == groups[j].chunks);
    CHECK(hands[j].size() <= std::size_t(groups[j].awaits || groups[j].sends ? 1 : most_hands));
    CHECK(hands[j].empty() == (groups[j].chunks == 0));
    for (i32 b = 0; b < blocks; b++)
      if (groups[j].sends && t.by[j][std::size_t(b)] > 0) senders.insert(b);
  }
  CHECK(count_senders(groups, hands, blocks) == i32(senders.size()));
}

std::vector<i32> sum_of(const Taken& t) {
  std::vector<i32> sum(t.by[0].size(), 0);
  for (auto& group : t.by)
    for (std::size_t b = 0; b < sum.size(); b++) sum[b] += group[b];
  return sum;
}

i32 spread(const std::vector<i32>& counts, i32 first, i32 last) {
  auto [least, most] = std::minmax_element(counts.begin() + first, counts.begin() + last);
  return *most - *least;
}

i32 some_chunks(fresh::Random& random) { return i32(random.whole(0, i64(1) << random.whole(0, 13))); }

/// Groups in any order, or as commands have them: rows that are sent, plain rows, rows that wait.
std::vector<Load> some_groups(fresh::Random& random) {
  std::vector<Load> groups;
  bool usual = random.whole(0, 3) > 0;
  for (i64 n = random.whole(0, 4), j = 0; j < n; j++) {
    i64 kind = random.whole(0, 3), place = random.whole(0, 2);
    Load g{some_chunks(random), (kind & 1) != 0, (kind & 2) != 0, 0, 0};
    if (usual) g.awaits = j >= 2, g.sends = j == 0 || (j >= 2 && place == 0);
    g.bytes = 4096.0 * g.chunks * double(random.whole(0, 20));
    g.sent = g.sends ? 2048.0 * g.chunks : 0;
    groups.push_back(g);
  }
  return groups;
}

/// A line of 2 MiB to one neighbour, and 8,459,264 rows of 16 bytes: 1,024 of 33,044 chunks.
std::vector<Load> slab(bool awaits) {
  const double rows = 256 * 16;
  Load line{1024, awaits, !awaits, 1024 * rows, awaits ? 0 : 2097152.0}, rest{32020, false, false, 32020 * rows, 0};
  return awaits ? std::vector<Load>{rest, line} : std::vector<Load>{line, rest};
}

}  // namespace

TEST("every chunk is computed once, and senders are counted, however blocks stand aside") {
  NOTE(fresh::said());
  fresh::Random random(1);
  for (int round = 0; round < 400; round++) {
    auto groups = some_groups(random);
    i32 blocks = i32(random.whole(1, i64(1) << random.whole(0, 10)));
    auto some = [&](i64 most) { return i32(random.whole(-1, most)); };
    Asides asides{{some(2 * blocks), some(40)}, {some(2 * blocks), some(40)}};
    if (random.whole(0, 9) == 0) asides.sending.rounds = asides.waiting.rounds = 2'000'000'000;
    NOTE("round ", round, ", ", blocks, " blocks");
    check_that_all_is_dealt(groups, deal(groups, blocks, asides), blocks);
    check_that_all_is_dealt(groups, deal_evenly(groups, blocks), blocks);
    double times = double(random.whole(0, 8)) / 2;
    check_that_all_is_dealt(groups, deal(groups, blocks, asides_of(groups, blocks, times, few)), blocks);
  }
}

TEST("dealt evenly, no block has more than one chunk more than another") {
  NOTE(fresh::said());
  fresh::Random random(2);
  for (int round = 0; round < 100; round++) {
    auto groups = some_groups(random);
    if (groups.empty()) continue;
    i32 blocks = i32(random.whole(1, 900));
    CHECK(spread(sum_of(take(groups, deal(groups, blocks, {}), blocks)), 0, blocks) <= 1);
  }
}

TEST("blocks that stand aside miss their rounds of plain rows, and the others share those") {
  const std::vector<Load> groups{{100, false, true, 0, 0}, {10'000, false, false, 0, 0}, {150, true, false, 0, 0}};
  const i32 blocks = 500;
  auto hands = deal(groups, blocks, {{50, 4}, {75, 3}});
  Taken t = take(groups, hands, blocks);
  auto& plain = t.by[1];
  for (i32 b = 0; b < blocks; b++) {
    NOTE("block ", b);
    bool sends = b < 50, waits = b >= 50 && b < 125;
    CHECK(t.by[0][std::size_t(b)] == (sends ? 2 : 0));
    CHECK(t.by[2][std::size_t(b)] == (waits ? 2 : 0));
  }
  CHECK(spread(plain, 0, 50) <= 1);
  CHECK(spread(plain, 50, 125) <= 1);
  CHECK(spread(plain, 125, blocks) <= 1);
  i32 others = plain[125];  // who has one chunk more than its neighbours is the first of the others
  CHECK((others - plain[0] >= 4 && others - plain[0] <= 5));
  CHECK((others - plain[50] >= 3 && others - plain[50] <= 4));
  CHECK(count_senders(groups, hands, blocks) == 50);
  // The rows dealt first are computed without those who send, the last ones without those who wait.
  REQUIRE(hands[1].size() == 3);
  CHECK((hands[1][0].end == 4 * 450 && first_chunk(hands[1][0], 49, blocks) == hands[1][0].end));
  CHECK((hands[1][2].begin == 10'000 - 3 * 425 && first_chunk(hands[1][2], 124, blocks) == hands[1][2].end));
}

TEST("blocks of a kind share plain rows evenly, whoever stands aside, and for however long") {
  NOTE(fresh::said());
  fresh::Random random(3);
  for (int round = 0; round < 200; round++) {
    const i32 blocks = i32(random.whole(3, 400)), sending = i32(random.whole(1, blocks / 3)),
              waiting = i32(random.whole(1, blocks / 3));
    const std::vector<Load> groups{{sending + some_chunks(random), false, true, 0, 0},
                                   {some_chunks(random), false, false, 0, 0},
                                   {waiting + some_chunks(random), true, false, 0, 0}};
    Asides asides{{sending, i32(random.whole(0, 9))}, {waiting, i32(random.whole(0, 9))}};
    NOTE("round ", round, ", ", blocks, " blocks, ", sending, " send, ", waiting, " wait");
    auto plain = take(groups, deal(groups, blocks, asides), blocks).by[1];
    CHECK(spread(plain, 0, sending) <= 1);
    CHECK(spread(plain, sending, sending + waiting) <= 1);
    CHECK(spread(plain, sending + waiting, blocks) <= 1);
    CHECK(plain[0] <= plain[std::size_t(sending + waiting)]);
    CHECK(plain[std::size_t(sending)] <= plain[std::size_t(sending + waiting)]);
  }
}

TEST("where plain rows are few, or groups stand otherwise, nobody stands aside for longer than that") {
  const i32 blocks = 100;
  const Load sends{20, false, true, 0, 0}, few{50, false, false, 0, 0}, many{5'000, false, false, 0, 0},
      waits{20, true, false, 0, 0};
  for (auto& groups : {std::vector<Load>{sends, few, waits}, {few, waits}, {sends, few}}) {
    auto sum = sum_of(take(groups, deal(groups, blocks, {{10, 9}, {20, 9}}), blocks));
    CHECK(spread(sum, 0, blocks) <= 2);
  }
  Asides asides{{10, 5}, {10, 5}};
  for (auto& groups : {std::vector<Load>{many, sends}, {waits, many}, {many, many, waits}, {sends, waits}, {many}})
    CHECK(spread(sum_of(take(groups, deal(groups, blocks, asides), blocks)), 0, blocks) <= 1);
}

TEST("a line of 2 MiB is sent by few blocks beside the other rows, and awaited before they end") {
  const i32 blocks = 792;
  Asides first = asides_of(slab(false), blocks, 1, few), second = asides_of(slab(true), blocks, 1, few);
  CHECK((first.sending.blocks >= 64 && first.sending.blocks <= blocks / 4));
  CHECK((second.waiting.blocks >= 64 && second.waiting.blocks <= blocks / 2));
  for (bool awaits : {false, true}) {
    auto groups = slab(awaits);
    Aside aside = awaits ? second.waiting : first.sending;
    Taken t = take(groups, deal(groups, blocks, awaits ? second : first), blocks);
    const auto& plain = t.by[awaits ? 0 : 1];
    i32 missed = *std::max_element(plain.begin(), plain.end()) - *std::min_element(plain.begin(), plain.end());
    CHECK((missed >= aside.rounds && missed <= aside.rounds + 1));
    CHECK(missed > (1024 + aside.blocks - 1) / aside.blocks);  // the fence, or the look at the flag, takes its time too
  }
  Asides patient = asides_of(slab(false), blocks, 2, few), none = asides_of(slab(false), blocks, 0, few);
  CHECK(patient.sending.blocks == first.sending.blocks);
  CHECK(std::abs(patient.sending.rounds - 2 * first.sending.rounds) <= 1);
  CHECK(none.sending.blocks == 0);
}

TEST("a device's pace says for how many rounds blocks stand aside: of rows of arithmetic, and of a faster memory") {
  const i32 blocks = 792;
  auto of_arithmetic = slab(false);
  for (auto& g : of_arithmetic) g.flops = 512.0 * 256 * g.chunks;  // 3.5 us a round, which memory needs 0.8 us for
  Aside light = asides_of(slab(false), blocks, 1, few).sending, heavy = asides_of(of_arithmetic, blocks, 1, few).sending;
  CHECK(heavy.rounds > 0);
  CHECK(heavy.rounds < light.rounds);
  Pace slow;
  slow.memory_rate /= 4;
  CHECK(asides_of(slab(false), blocks, 1, few, slow).sending.rounds < light.rounds);
}

TEST("short commands, and such with heavy rows, are dealt evenly") {
  const std::vector<Load> brief{{32, false, true, 131072, 65536}, {700, false, false, 700.0 * 4096, 0}};
  CHECK(asides_of(brief, 700, 1, few).sending.blocks == 0);
  const std::vector<Load> heavy{{32, false, true, 131072, 65536}, {7000, false, false, 7000.0 * 65536, 0}};
  CHECK(asides_of(heavy, 700, 1, few).sending.blocks == 0);
}
