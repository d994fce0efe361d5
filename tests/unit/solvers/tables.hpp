// Tables of products of tall vectors as ranks make them, of blocks of rows that do not hang on how many ranks there are.
#pragma once
#include <algorithm>

#include "sordino/solvers/gram.hpp"
#include "unit/fresh.hpp"

namespace tables {

using namespace sordino;

/// First rows of blocks: odd ones, one of a single row, one of several batches.
inline const std::vector<i32> blocks{0, 37, 300, 301, 1424, 1700, 2100};

struct Vectors {
  std::vector<std::vector<double>> a, b;  // [s][rows]
};

inline Vectors vectors(fresh::Random& random, int s) {
  Vectors v;
  for (int j = 0; j < s; j++) {
    v.a.push_back(random.normals(blocks.back()));
    v.b.push_back(random.normals(blocks.back()));
  }
  return v;
}

struct Found {
  std::vector<double> symmetric, whole;  // [s][s] with j >= i, behind it a' a_0; and [s][s]
  bool operator==(const Found&) const = default;
};

/// What the tables should hold.
inline Found expected(const Vectors& v) {
  auto dot = [](const auto& x, const auto& y) {
    long double sum = 0;
    for (std::size_t i = 0; i < x.size(); i++) sum += (long double)x[i] * y[i];
    return double(sum);
  };
  const std::size_t s = v.a.size();
  Found f{std::vector<double>(s * s + s), std::vector<double>(s * s)};
  for (std::size_t i = 0; i < s; i++) {
    for (std::size_t j = 0; j < s; j++) {
      f.whole[i * s + j] = dot(v.a[i], v.b[j]);
      if (j >= i) f.symmetric[i * s + j] = f.whole[i * s + j];
    }
    f.symmetric[s * s + i] = dot(v.a[i], v.a[0]);
  }
  return f;
}

/// The blocks of a rank of so many, which have as many each.
inline Space space_of(int rank, int ranks) {
  const std::size_t count = (blocks.size() - 1) / std::size_t(ranks), first = count * std::size_t(rank);
  Space s;
  s.n_global = blocks.back();
  s.first_row = blocks[first];
  s.rows = blocks[first + count] - blocks[first];
  s.n_blocks = i32(blocks.size()) - 1;
  s.first_block = i32(first);
  std::vector<i32> own;
  for (std::size_t b = first; b <= first + count; b++) own.push_back(blocks[b] - blocks[first]);
  set_tiles(s, own);
  return s;
}

/// [rank] what each has of both tables, of one replay.
inline std::vector<Found> found(Engine& engine, const Vectors& v, int batch) {
  const int s = int(v.a.size());
  std::vector<Found> of_rank(std::size_t(engine.size()));
  engine.run([&](Rank& rank) {
    const Space rows = space_of(rank.id(), rank.size());
    const i64 first = rows.first_row;
    const int space = rank.add_space(rows), one = rank.add_space(gram::replicated(1));
    auto written = [&](const auto& values) {
      std::vector<Vec> all;
      for (auto& value : values) {
        all.push_back(rank.vector("a", space));
        rank.write(all.back(), value.data() + first);
      }
      return all;
    };
    const auto a = written(v.a), b = written(v.b);
    gram::Batches batches(rank, space, batch, s * (s + 1));
    gram::Table symmetric(rank, batches, s, true), whole(rank, batches, s, false);
    const Vec to_symmetric = rank.vector("G", rank.add_space(gram::replicated(s * s + s))),
              to_whole = rank.vector("C", rank.add_space(gram::replicated(s * s)));
    auto body = rank.record([&] {
      symmetric.start_symmetric(a, b, a[0]);
      symmetric.keep(one, to_symmetric);
      whole.start(a, b);
      whole.keep(one, to_whole);
    });
    rank.replay(body);
    Found& mine = of_rank[std::size_t(rank.id())];
    mine = {std::vector<double>(std::size_t(s * s + s)), std::vector<double>(std::size_t(s * s))};
    rank.read(to_symmetric, mine.symmetric.data());
    rank.read(to_whole, mine.whole.data());
  });
  return of_rank;
}

}  // namespace tables
