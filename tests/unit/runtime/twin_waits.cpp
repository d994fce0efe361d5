// A twin whose copy was not waited for to its end may still be written to: so its vector is refused until the copy is over.
#include <optional>

#include "check.hpp"
#include "paper_engine.hpp"

using namespace paper;

namespace {

struct Copied {
  Copied() {
    v = rank.vector("v", rank.add_space(equal_parts(10, 0, 2)));
    other = rank.vector("w", 0);
    engine.copies_stick = true;
  }
  void is_refused() {
    const char* said = "'v', that may still be copied to or from its twin: the wait for it has failed";
    CHECK_THROWS(rank.read(v, room), Error, said);
    CHECK_THROWS(rank.write(v, room), Error, said);
    CHECK_THROWS((void)rank.start_store(v), Error, said);
    CHECK_THROWS(rank.reset_names(), Error, said);
    rank.read(other, room);
  }
  void ends() {
    engine.copies_stick = false;
    rank.read(v, room);
    rank.store(v);
    rank.reset_names();
  }

  PaperEngine engine;
  Rank& rank = engine.rank(0);
  Vec v, other;
  double room[10] = {};
};

}  // namespace

TEST("a wait that fails ends the handle, and the vector is refused until its copy is over") {
  Copied c;
  {
    Transfer fetch = c.rank.start_fetch(c.v);
    CHECK_THROWS(fetch.wait(), Error, "waited in vain");
    CHECK(fetch.test());
  }  // and does not wait again
  c.is_refused();
  c.ends();
}

TEST("so it is where an error passes a copy that cannot be waited for") {
  Copied c;
  auto passes = [&] {
    Transfer fetch = c.rank.start_fetch(c.v);
    throw std::runtime_error("out of coffee");
  };
  CHECK_THROWS(passes(), std::runtime_error, "out of coffee");
  c.is_refused();
  c.ends();
}

TEST("and where a job leaves a copy under way") {
  Copied c;
  std::optional<Transfer> left;
  CHECK_THROWS(c.rank.run_job([&](Rank& s) { (void)left.emplace(s.start_fetch(c.v)); }), Error,
               "the job ends with a vector, 'v', that is still being copied");
  c.rank.leave_job();
  CHECK(left->test());
  c.is_refused();
  c.ends();
}
