// Programs in which ranks record different things, each of which is sound by itself.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "paper_engine.hpp"

namespace different {

using namespace sordino;

struct Smooth {
  Ghost x;
  Out y;
  SORDINO_HD void row(i32 i) { y[i] = x[i]; }
};

/// What a rank has to record with. Sums go into `a` and `b`.
class Work {
 public:
  explicit Work(Rank& rank) : s(rank), exchange_(paper::first_rows_to_all(rank.id(), rank.size(), rows)) {}

  void make_sums(Scal to) { s.run(paper::Square{x}, start(to)); }
  void fill(Vec g) { s.run(paper::Overwrite{g}, push(g)); }
  void smooth(Vec g) { s.run(Smooth{g, x}); }
  void fill_and_smooth(Vec g) { fill(g), smooth(g); }

  static constexpr i32 rows = 4;
  Rank& s;

 private:
  Exchange exchange_;
  int space_ = paper::space_of(s, rows);

 public:
  Vec u = s.vector("u", space_, &exchange_), v = s.vector("v", space_, &exchange_), x = s.vector("x", space_);
  Scal a = s.scalar("a"), b = s.scalar("b");
};

using Body = std::function<void(Work&)>;
struct Case {
  const char* what;
  bool is_loop;
  Body usual, other;               // `other`: what the last rank records
  std::string of_usual, of_other;  // what is said of the first difference, behind the rank
};

inline std::vector<Case> cases() {
  auto sum = [](Work& w, Scal to) { w.make_sums(to), w.s.wait(to); };
  return {
      {"a circle: each waits for what the other sends last", false,
       [](Work& w) { w.fill_and_smooth(w.u), w.fill_and_smooth(w.v); },
       [](Work& w) { w.fill_and_smooth(w.v), w.fill_and_smooth(w.u); }, "is 'Overwrite', which sends 'u'",
       "is 'Overwrite', which sends 'v'"},
      {"pushed in one order, read in two", false, [](Work& w) { w.fill(w.u), w.fill(w.v), w.smooth(w.u), w.smooth(w.v); },
       [](Work& w) { w.fill(w.u), w.fill(w.v), w.smooth(w.v), w.smooth(w.u); }, "is 'Smooth', which waits for 'u'",
       "is 'Smooth', which waits for 'v'"},
      {"a shorter list", false, [](Work& w) { w.fill_and_smooth(w.u), w.fill_and_smooth(w.v); },
       [](Work& w) { w.fill_and_smooth(w.u); }, "is 'Overwrite', which sends 'v'",
       "records no more commands that send or wait"},
      {"another reduction", true, [sum](Work& w) { w.fill_and_smooth(w.u), sum(w, w.a), sum(w, w.b); },
       [sum](Work& w) { w.fill_and_smooth(w.u), sum(w, w.a), sum(w, w.a); }, "is 'Square', which starts the reduction into 'b'",
       "is 'Square', which starts the reduction into 'a'"},
      {"in some iterations only", true, [sum](Work& w) { sum(w, w.a), w.fill_and_smooth(w.u); },
       [sum](Work& w) { sum(w, w.a), w.s.when(2, [&] { w.fill_and_smooth(w.u); }); }, "is 'Overwrite', which sends 'u'",
       "is 'Overwrite', which sends 'u' once in 2 iterations"},
  };
}

inline void run(Rank& s, bool is_loop, const Body& body) {
  Work w(s);
  auto r = is_loop ? s.loop({}, [&] { body(w); }) : s.record([&] { body(w); });
  s.replay(r, 3);
}

/// A program in which the last rank records `other`.
inline std::function<void(Rank&)> program(const Case& c) {
  return [&c](Rank& s) { run(s, c.is_loop, s.id() + 1 == s.size() ? c.other : c.usual); };
}

}  // namespace different
