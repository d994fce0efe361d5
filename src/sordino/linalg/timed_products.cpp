#include "sordino/linalg/timed_products.hpp"

namespace sordino {

TimedProducts::TimedProducts(Rank& rank, const Operator& A, Vec x) : x_(x) {
  const Vec y = A.operand(rank, "y");
  first_push_ = rank.record([&] { rank.run(Nothing{}, push(x)); });
  products_ = rank.loop({}, [&] {
    A.apply(rank, x, y);
    rank.push_last(y);
    A.apply(rank, y, x);
    rank.push_last(x);
  });
}

double TimedProducts::seconds(Rank& rank, int pairs, const double* from) {
  auto run = [&](int count) {
    rank.reset_names();
    rank.write(x_, from);
    rank.replay(first_push_);
    rank.engine().barrier(rank);
    const double begin = rank.engine().now(rank);
    rank.replay(products_, count);
    return (rank.engine().now(rank) - begin) / (2 * count);
  };
  run(pairs);  // warms up: graphs, caches, clocks
  return run(pairs);
}

}  // namespace sordino
