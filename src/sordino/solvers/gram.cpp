#include "sordino/solvers/gram.hpp"

#include <algorithm>

namespace sordino::gram {

Table::Table(Rank& rank, const Batches& batches, int s, bool symmetric)
    : rank_(rank), batches_(batches), symmetric_(symmetric) {
  const i32 columns = s + symmetric;
  Part all;
  for (i32 i = 0; i < s; i++)
    for (i32 j = symmetric ? i : 0; j < columns; j++) {
      const bool is_g = j == s;
      std::string name = is_g ? "g(" : symmetric ? "G(" : "C(";
      name += std::to_string(i);
      if (!is_g) name.append(",").append(std::to_string(j));
      all.sums.push_back(rank.scalar(name + ")"));
      all.of_batch.push_back(i * columns + j);
      all.of_table.push_back(is_g ? s * s + i : i * s + j);
    }
  const std::size_t count = all.sums.size(), parts = (count + most_added - 1) / most_added;
  for (std::size_t k = 0; k < parts; k++) {
    auto part_of = [&](const auto& of) {
      return std::decay_t<decltype(of)>(of.begin() + i64(count * k / parts), of.begin() + i64(count * (k + 1) / parts));
    };
    parts_.push_back({part_of(all.sums), part_of(all.of_batch), part_of(all.of_table)});
  }
}

void Table::start(const std::vector<Vec>& a, const std::vector<Vec>& b) const {
  batches_.multiply(a, b, symmetric_);
  // All but the last part travel with the last.
  for (auto& p : parts_) batches_.add(int(a.size() * b.size()), p.of_batch, p.sums, &p != &parts_.back());
}

void Table::start_symmetric(const std::vector<Vec>& a, std::vector<Vec> b, Vec r) const {
  b.push_back(r);
  start(a, b);
}

// Those that travel with the last end after it.
void Table::keep(int space, Vec to) const {
  for (auto t = parts_.rbegin(); t != parts_.rend(); ++t) {
    Keep f{.count = int(t->sums.size()), .to = to};
    for (std::size_t k = 0; k < t->sums.size(); k++) {
      f.sum[k] = k == 0 ? Get(finish(t->sums[k])) : Get(t->sums[k]);
      f.at[k] = t->of_table[k];
    }
    rank_.run_over(space, f);
  }
}

Space replicated(i32 rows) {
  Space s;
  s.n_global = s.rows = rows;
  s.replicated = true;
  set_tiles(s, {0, rows});
  return s;
}

}  // namespace sordino::gram
