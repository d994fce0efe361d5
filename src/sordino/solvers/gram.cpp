#include "sordino/solvers/gram.hpp"

#include <algorithm>

namespace sordino::gram {
namespace {

template <int R, int C>
Products<R, C> products(const Vec* a, const Vec* b) {
  Products<R, C> f;
  std::copy_n(a, R, f.a);
  std::copy_n(b, C, f.b);
  return f;
}

template <int R>
Triangle<R> triangle(const Vec* q, const Vec* b, Vec r) {
  Triangle<R> f;
  std::copy_n(q, R, f.q);
  std::copy_n(b, R, f.b);
  f.r = r;
  return f;
}

/// f(integral_constant) of a number from 1 to side.
template <class F>
void with_size(int n, const F& f) {
  switch (n) {
    case 1: return f(std::integral_constant<int, 1>{});
    case 2: return f(std::integral_constant<int, 2>{});
    case 3: return f(std::integral_constant<int, 3>{});
    default: return f(std::integral_constant<int, side>{});
  }
}

}  // namespace

Table::Table(Rank& rank, int s, bool symmetric) : rank_(rank), s_(s) {
  for (int i = 0; i < s; i += side)
    for (int j = symmetric ? i : 0; j < s; j += side) add_tile(i, j, symmetric);
}

void Table::add_tile(int i, int j, bool symmetric) {
  Tile t{i, j, std::min(side, s_ - i), std::min(side, s_ - j), {}, {}};
  bool diagonal = symmetric && i == j;
  auto add = [&](const std::string& name, int at) {
    t.sums.push_back(rank_.scalar(name));
    t.at.push_back(at);
  };
  for (int k = i; k < i + t.rows; k++) {
    for (int l = diagonal ? k : j; l < j + t.columns; l++)
      add((symmetric ? "G(" : "C(") + std::to_string(k) + "," + std::to_string(l) + ")", k * s_ + l);
    if (diagonal) add("g(" + std::to_string(k) + ")", s_ * s_ + k);
  }
  tiles_.push_back(std::move(t));
}

// All but the last tile travel with the last.
void Table::start(const std::vector<Vec>& a, const std::vector<Vec>& b) const {
  for (auto& t : tiles_)
    with_size(t.rows, [&](auto R) {
      with_size(t.columns, [&](auto C) {
        auto f = products<decltype(R)::value, decltype(C)::value>(&a[std::size_t(t.i)], &b[std::size_t(t.j)]);
        &t == &tiles_.back() ? rank_.run(f, Start{t.sums}) : rank_.run(f, Join{t.sums});
      });
    });
}

void Table::start_symmetric(const std::vector<Vec>& a, const std::vector<Vec>& b, Vec r) const {
  for (auto& t : tiles_)
    with_size(t.rows, [&](auto R) {
      auto run = [&](auto f) { &t == &tiles_.back() ? rank_.run(f, Start{t.sums}) : rank_.run(f, Join{t.sums}); };
      if (t.i == t.j) return void(run(triangle<decltype(R)::value>(&a[std::size_t(t.i)], &b[std::size_t(t.j)], r)));
      with_size(t.columns, [&](auto C) {
        run(products<decltype(R)::value, decltype(C)::value>(&a[std::size_t(t.i)], &b[std::size_t(t.j)]));
      });
    });
}

// Those that travel with the last end after it.
void Table::keep(int space, Vec to) const {
  for (auto t = tiles_.rbegin(); t != tiles_.rend(); ++t) {
    Keep f{.count = int(t->sums.size()), .to = to};
    for (std::size_t k = 0; k < t->sums.size(); k++) {
      f.sum[k] = k == 0 ? Get(finish(t->sums[k])) : Get(t->sums[k]);
      f.at[k] = t->at[k];
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
