// Hops of the Wilson dslash, for tests that compare engines.
#pragma once
#include <memory>
#include <vector>

#include "sordino/lattice/dslash.hpp"
#include "sordino/runtime/rank.hpp"

namespace hops {

using namespace sordino;
using namespace sordino::lattice;

struct Case {
  Lattice lattice;
  Coords grid;
  Precision precision;
  int reals;
  Spreading spreading = Spreading::automatic;
};

/// Four hops from parity to parity: the words of every rank's even and odd fields.
inline std::vector<std::vector<double>> run(Engine& engine, const Case& c) {
  std::vector<std::vector<double>> words(2 * std::size_t(engine.size()));
  engine.run(
      [&](Rank& s) {
        Box box(c.lattice, c.grid, s.id());
        auto links = std::make_shared<LinkField>(s, box, random_links(c.lattice, 5), c.precision, c.reals);
        Dslash d(s, box, links, 1, c.spreading);
        Vec field[2] = {d.field(s, "even"), d.field(s, "odd")};
        auto source = random_source(c.lattice, 6);
        for (int parity = 0; parity < 2; parity++) s.write(field[parity], d.pack(s, source, parity).data());
        auto there_and_back = s.record([&] {
          d.apply(s, {.x = field[0], .y = field[1]}, 0.125, 1);
          d.apply(s, {.x = field[1], .y = field[0]}, 0.125, 0);
        });
        s.replay(there_and_back);
        s.replay(there_and_back);
        for (int parity = 0; parity < 2; parity++) {
          auto& w = words[2 * std::size_t(s.id()) + std::size_t(parity)];
          w.resize(std::size_t(s.space(d.space()).rows));
          s.read(field[parity], w.data());
        }
      },
      {});
  return words;
}

}  // namespace hops
