#include "sordino/linalg/host_operator.hpp"

#include "sordino/comm/traffic.hpp"
#include "sordino/linalg/row_space.hpp"

namespace sordino {
namespace {

constexpr int root = 0;  // holds the first rows: what it gathers lies behind them in the order of the whole

Space space_of_whole(i64 n, bool here) {
  Space s;
  s.n_global = n;
  s.rows = here ? i32(n) : 0;
  set_tiles(s, {0, s.rows});
  return s;
}

std::vector<i32> counts(const Partition& partition) {
  std::vector<i32> rows;
  for (int p = 0; p < partition.ranks(); p++) rows.push_back(partition.rows(p));
  return rows;
}

}  // namespace

HostOperator::HostOperator(Rank& rank, const Partition& rows, std::string name, HostFunction function, int words)
    : HostOperator(rank, rows, add_row_space(rank, rows, words), std::move(name), std::move(function), words) {}

HostOperator::HostOperator(Rank& rank, const Partition& rows, int space, std::string name, HostFunction function, int words)
    : name_(std::move(name)), function_(std::move(function)), space_(space) {
  const Partition partition = in_words(rows, words);
  int whole_space = rank.add_space(space_of_whole(partition.n, rank.id() == root));
  gather_ = gather_at(rank, partition.rows(rank.id()), root);
  scatter_ = scatter_from(rank, counts(partition), root);
  for (Vec& whole : whole_) whole = rank.vector(name_ + ", whole", whole_space, &scatter_);
}

void HostOperator::apply(Rank& rank, Vec x, Vec y, const StartDots& epilogue) const {
  const Vec whole = whole_[applied_++ % 2];
  auto call = [=, this, here = rank.id() == root](const HostView& host) {
    if (here) function_(host.words(x), host.words(whole));
  };
  rank.host({.name = name_, .uses = {{x, Access::ghost}, {whole, Access::write}}, .run = call}, push(whole));
  rank.apply_rows(ScatteredRows{whole, y, rank.space(space_).rows}, nullptr, y, epilogue);
}

}  // namespace sordino
