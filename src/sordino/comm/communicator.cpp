#include "sordino/comm/communicator.hpp"

namespace sordino {

Pending<std::vector<double>> Communicator::start_all_reduce(std::vector<double> mine) {
  for (int q = 0; q < size(); q++)
    if (q != rank()) send(q, mine);
  return Pending<std::vector<double>>([c = *this, mine = std::move(mine)]() mutable {
    std::vector<double> sum(mine.size());
    for (int q = 0; q < c.size(); q++) {
      auto part = q == c.rank() ? mine : c.receive<double>(q);
      if (part.size() != sum.size()) bad_argument("ranks reduce different numbers of values");
      for (std::size_t k = 0; k < sum.size(); k++) sum[k] += part[k];
    }
    return sum;
  });
}

}  // namespace sordino
