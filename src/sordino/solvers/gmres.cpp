#include "sordino/solvers/gmres.hpp"

namespace sordino {
namespace gmres {
namespace {

/// Vectors in tiles, as BasisOf has them.
std::vector<Vec> basis(const Problem& k, const char* name, int m) {
  const i32 rows = k.s.space(k.A.space()).rows;
  if (i64(rows) * side > std::numeric_limits<i32>::max())
    throw Error(Errc::unsupported, "gmres takes at most " + std::to_string(std::numeric_limits<i32>::max() / side) +
                                       " rows a rank, not " + std::to_string(rows));
  std::vector<Vec> tiles;
  for (int t = 0; Basis::begin(t) < m; t++) {
    const int vectors = std::min(m, Basis::begin(t + 1)) - Basis::begin(t);
    tiles.push_back(k.s.vector(name, k.s.add_space(equal_parts(rows * vectors, k.s.id(), k.s.size()))));
  }
  return tiles;
}

/// Products of w, u and V with u and w, tile by tile in one reduction, and their way into a small vector.
class Products {
 public:
  Products(Rank& rank, int m) : rank_(rank), sums_(std::size_t((m + 2 + side - 1) / side)) {
    for (std::size_t t = 0; t < sums_.size(); t++)
      for (int j = 0; j < side; j++)
        for (const char* with : {"u", "w"})
          sums_[t].push_back(rank.scalar("product " + std::to_string(int(t) * side + j) + " with " + with));
  }

  void start(int m, Scal stored, Vec u, Vec w, const std::vector<Vec>& V) const {
    const i64 rows = rank_.space(rank_.vectors()[std::size_t(u.id)].space).rows;
    auto run = [&](auto f, std::size_t t) {
      f.first = Basis::begin(int(t)), f.m = m, f.rows = rows;
      f.stored = stored, f.u = u, f.w = w, f.V = V[t];
      t + 1 == sums_.size() ? rank_.run(f, Start{sums_[t]}) : rank_.run(f, Join{sums_[t]});
    };
    run(Project<true>{}, 0);
    for (std::size_t t = 1; t < sums_.size(); t++) run(Project<false>{}, t);
  }
  /// Those that travel with the last end after it.
  void keep(int space, Vec to) const {
    for (std::size_t t = sums_.size(); t-- > 0;) {
      gram::Keep f{.count = 2 * side, .to = to};
      for (int j = 0; j < 2 * side; j++) {
        const Scal sum = sums_[t][std::size_t(j)];
        f.sum[j] = j == 0 ? Get(finish(sum)) : Get(sum);
        f.at[j] = int(t) * 2 * side + j;
      }
      rank_.run_over(space, f);
    }
  }
  i32 kept() const { return i32(sums_.size()) * 2 * side; }

 private:
  Rank& rank_;
  std::vector<std::vector<Scal>> sums_;
};

}  // namespace

Gmres::Gmres(const Problem& k) {
  auto& e = k.s;
  const int m = k.basis.restart;
  const i32 rows = e.space(k.A.space()).rows;
  const Vec u = k.preconditioned("u"), z = k.operand("M^-1 u"), w = k.Ax, direct_z = k.M ? Vec{} : z;
  const std::vector<Vec> V = basis(k, "V", m), Z = k.M ? basis(k, "Z", m) : std::vector<Vec>{};
  const int one = e.add_space(gram::replicated(1));
  auto small = [&](const char* name, i32 length) { return e.vector(name, e.add_space(gram::replicated(length))); };
  const Products all(e, m);
  const Vec products = small("products", all.kept()), weights = small("weights", Weights::length(m));
  const LeastSquares problem{m, k.M != nullptr, small("H", LeastSquares::length(m)), weights};
  const Scal stored = e.scalar("stored"), at = e.scalar("place in the cycle"), course = e.scalar("course");
  rr = e.scalar("(r,r)");

  begin = e.record(
      [&] { k.run_and_precondition(Begin{.b = k.b, .Ax = k.Ax, .d = k.d, .u = u, .z = direct_z, .stored = stored}, u, z); });
  auto catch_up = [&](Scal vectors, bool with_u) {
    e.run_over(one, Solve{.with_u = with_u, .stored = vectors, .course = course, .l = problem});
    e.run(Advance{.m = m,
                  .with_u = with_u,
                  .stored = vectors,
                  .weights = weights,
                  .u = k.M ? z : u,
                  .d = k.d,
                  .x = k.x,
                  .V = {k.M ? Z : V, rows}});
  };
  auto step = [&] {
    k.A.apply(e, z, w);
    all.start(m, stored, u, w, V);
    all.keep(one, products);
    e.run_over(one, Orthogonalize{.stored = stored, .at = at, .products = products, .l = problem}, start(rr, course));
    e.exit_if(Lowered{finish(rr), course, k.target, k.bound});
    Update update{.m = m,
                  .at = at,
                  .course = course,
                  .stored = stored,
                  .weights = weights,
                  .w = w,
                  .d = k.d,
                  .u = u,
                  .z = direct_z,
                  .x = k.x,
                  .V = {V, rows}};
    if (k.M) update.kept_z = z, update.Z = {Z, rows};
    k.run_and_precondition(update, u, z);
  };
  iterate = k.loop({}, rr, step, [&] { catch_up(stored, false); });
  end = e.record([&] { catch_up(at, true); });
  after_all = e.record([&] { catch_up(stored, false); });
}

}  // namespace gmres

template <>
std::unique_ptr<Method> make<gmres::Gmres>(const Problem& problem) {
  return std::make_unique<gmres::Gmres>(problem);
}

}  // namespace sordino
