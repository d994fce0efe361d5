#include "sordino/solvers/gmres.hpp"

namespace sordino {
namespace gmres {
namespace {

/// Vectors in tiles, as BasisOf has them.
template <class V>
std::vector<Vec> basis(const Problem& k, const char* name, int m) {
  const i32 rows = k.s.space(k.A.space()).rows;  // words
  if (i64(rows) * side<V> > std::numeric_limits<i32>::max())
    throw Error(Errc::unsupported, "gmres takes at most " + std::to_string(std::numeric_limits<i32>::max() / values * 2) +
                                       " rows a rank, not " + std::to_string(rows / words_of<V>));
  std::vector<Vec> tiles;
  for (int t = 0; Basis<V>::begin(t) < m; t++) {
    const int vectors = std::min(m, Basis<V>::begin(t + 1)) - Basis<V>::begin(t);
    tiles.push_back(k.s.vector(name, k.s.add_space(equal_parts(rows * vectors, k.s.id(), k.s.size()))));
  }
  return tiles;
}

/// Products of w, u and V with u and w, tile by tile in one reduction, and their way into a small vector.
template <class V>
class Products {
 public:
  Products(Rank& rank, int m) : rank_(rank), sums_(std::size_t((m + 2 + side<V> - 1) / side<V>)) {
    constexpr const char* part[] = {"", ", imaginary part"};
    for (std::size_t t = 0; t < sums_.size(); t++)
      for (int j = 0; j < side<V>; j++)
        for (const char* with : {"u", "w"})
          for (int word = 0; word < words_of<V>; word++)
            sums_[t].push_back(rank.scalar("product " + std::to_string(int(t) * side<V> + j) + " with " + with + part[word]));
  }

  void start(int m, Scal stored, Vec u, Vec w, const std::vector<Vec>& basis) const {
    const i64 rows = rank_.space(rank_.vectors()[std::size_t(u.id)].space).rows / words_of<V>;
    auto run = [&](auto f, std::size_t t) {
      f.first = Basis<V>::begin(int(t)), f.m = m, f.rows = rows;
      f.stored = stored, f.u = u, f.w = w, f.basis = basis[t];
      t + 1 == sums_.size() ? rank_.run(f, Start{sums_[t]}) : rank_.run(f, Join{sums_[t]});
    };
    run(Project<V, true>{}, 0);
    for (std::size_t t = 1; t < sums_.size(); t++) run(Project<V, false>{}, t);
  }
  /// Those that travel with the last end after it.
  void keep(int space, Vec to) const {
    for (std::size_t t = sums_.size(); t-- > 0;) {
      gram::Keep f{.count = values, .to = to};
      for (int j = 0; j < values; j++) {
        const Scal sum = sums_[t][std::size_t(j)];
        f.sum[j] = j == 0 ? Get(finish(sum)) : Get(sum);
        f.at[j] = int(t) * values + j;
      }
      rank_.run_over(space, f);
    }
  }
  i32 kept() const { return i32(sums_.size()) * values; }

 private:
  Rank& rank_;
  std::vector<std::vector<Scal>> sums_;
};

}  // namespace

Gmres::Gmres(const Problem& k) {
  if (k.is_complex())
    record<Number>(k);
  else
    record<double>(k);
}

template <class V>
void Gmres::record(const Problem& k) {
  auto& e = k.s;
  const int m = k.basis.restart;
  const i32 rows = e.space(k.A.space()).rows / words_of<V>;
  const Vec u = k.preconditioned("u"), z = k.operand("M^-1 u"), w = k.Ax, direct_z = k.M ? Vec{} : z;
  const std::vector<Vec> all_v = basis<V>(k, "V", m), all_z = k.M ? basis<V>(k, "Z", m) : std::vector<Vec>{};
  const typename FieldsOf<V>::Scaling d{Vec{k.d.id}};
  const int one = e.add_space(gram::replicated(1));
  auto small = [&](const char* name, i32 length) { return e.vector(name, e.add_space(gram::replicated(length))); };
  auto of_values = [&](const char* name, i32 length) { return small(name, length * words_of<V>); };
  const Products<V> all(e, m);
  const Vec products = small("products", all.kept()), weights = of_values("weights", WeightsOf<V>::length(m));
  const LeastSquares<V> problem{m, k.M != nullptr, of_values("H", LeastSquares<V>::length(m)), weights};
  const Scal stored = e.scalar("stored"), at = e.scalar("place in the cycle"), course = e.scalar("course");
  rr = e.scalar("(r,r)");
  normalizes = true;

  begin = e.record(
      [&] { k.run_and_precondition(Begin<V>{.b = k.b, .Ax = k.Ax, .d = d, .u = u, .z = direct_z, .stored = stored}, u, z); });
  auto catch_up = [&](Scal vectors, bool with_u) {
    e.run_over(one, Solve<V>{.with_u = with_u, .stored = vectors, .course = course, .l = problem});
    e.run(Advance<V>{.m = m,
                     .with_u = with_u,
                     .stored = vectors,
                     .weights = weights,
                     .u = k.M ? z : u,
                     .d = d,
                     .x = k.x,
                     .basis = {k.M ? all_z : all_v, rows}});
  };
  auto step = [&] {
    k.A.apply(e, z, w);
    all.start(m, stored, u, w, all_v);
    all.keep(one, products);
    e.run_over(one, Orthogonalize<V>{.stored = stored, .at = at, .products = products, .l = problem}, start(rr, course));
    e.exit_if(Lowered{finish(rr), course, k.target, k.bound});
    Update<V> update{.m = m,
                     .at = at,
                     .course = course,
                     .stored = stored,
                     .weights = weights,
                     .w = w,
                     .d = d,
                     .u = u,
                     .z = direct_z,
                     .x = k.x,
                     .basis = {all_v, rows}};
    if (k.M) update.kept_z = z, update.kept = {all_z, rows};
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
