// Ranks that record different things are refused before they run, with one sentence about two of them.
#include "sordino/runtime/accounts.hpp"

#include "check.hpp"
#include "different_programs.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/model/engine.hpp"

using namespace sordino;

namespace {

model::Options modelled(int ranks) {
  model::Options o;
  o.ranks = ranks;
  return o;
}

/// What run() threw; "" if nothing.
std::string refusal(Engine& engine, const std::function<void(Rank&)>& job) {
  try {
    engine.run(job);
  } catch (const Error& e) {
    CHECK(e.code() == Errc::bad_argument);
    return e.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void on_both(int ranks, const std::function<void(Engine&)>& check) {
  host::HostEngine host({.ranks = ranks, .timeout = 20});
  check(host);
  model::ModelEngine model(modelled(ranks));
  check(model);
}

}  // namespace

TEST("ranks that record different commands are refused, with the first difference") {
  for (auto& c : different::cases()) {
    NOTE(c.what);
    on_both(2, [&](Engine& e) {
      std::string said = refusal(e, different::program(c));
      CHECK(has(said, "ranks 0 and 1 record different commands: "));
      CHECK(has(said, "rank 0 " + c.of_usual + ", and "));
      CHECK(has(said, "rank 1 " + c.of_other + ": all ranks must record the same in the same order"));
    });
    on_both(5, [&](Engine& e) { CHECK(has(refusal(e, different::program(c)), "and 4 record different commands: ")); });
  }
}

TEST("ranks that record the same go on, whichever of the programs it is") {
  for (auto& c : different::cases())
    for (auto& body : {c.usual, c.other}) {
      NOTE(c.what);
      on_both(4, [&](Engine& e) { CHECK(refusal(e, [&](Rank& s) { different::run(s, c.is_loop, body); }) == ""); });
    }
}

TEST("the sentence counts each rank's commands, and what meets nobody may differ") {
  auto job = [](bool agree) {
    return [agree](Rank& s) {
      different::Work w(s);
      auto r = s.record([&] {
        if (s.id() == 1) s.run(paper::Overwrite{w.x});
        w.fill_and_smooth(agree || s.id() == 0 ? w.u : w.v);
      });
      s.replay(r);
    };
  };
  on_both(2, [&](Engine& e) { CHECK(refusal(e, job(true)) == ""); });
  on_both(2, [&](Engine& e) {
    CHECK(
        has(refusal(e, job(false)),
            "command 1 of rank 0 is 'Overwrite', which sends 'u', and command 2 of rank 1 is 'Overwrite', which sends 'v': "));
  });
}

TEST("a loop is not the same as its commands, nor as one that rotates") {
  auto job = [](bool rotates) {
    return [rotates](Rank& s) {
      different::Work w(s);
      auto body = [&] { w.fill_and_smooth(w.u), w.make_sums(w.a), s.wait(w.a); };
      Rotation rotation;
      if (rotates) rotation = {.vectors = {{w.u, w.v}}};
      auto r = s.id() == 0 ? s.loop(rotation, body) : rotates ? s.loop({}, body) : s.record(body);
      s.replay(r, 3);
    };
  };
  on_both(2, [&](Engine& e) {
    CHECK(has(refusal(e, job(false)), "rank 0 records a loop, and rank 1 records commands without a loop: all"));
  });
  on_both(2, [&](Engine& e) {
    CHECK(has(refusal(e, job(true)),
              "rank 0 records a loop, in which these trade places: 'u', 'v', and rank 1 records a loop: all"));
  });
}

TEST("names that were made in another order are not the same") {
  auto job = [](Rank& s) {
    if (s.id() == 1) s.vector("spare", paper::space_of(s, 1));
    different::Work w(s);
    auto r = s.record([&] { w.fill_and_smooth(w.u); });
    s.replay(r);
  };
  on_both(2, [&](Engine& e) { CHECK(has(refusal(e, job), "which sends 'u', a name that was made in another order: all")); });
}

TEST("recordings that each rank replays in another order are refused") {
  auto job = [](Rank& s) {
    different::Work w(s);
    auto p = s.record([&] { w.fill_and_smooth(w.u); }), q = s.record([&] { w.fill_and_smooth(w.v); });
    s.replay(s.id() == 0 ? p : q);
    s.replay(s.id() == 0 ? q : p);
  };
  on_both(
      2, [&](Engine& e) { CHECK(has(refusal(e, job), "sends 'u', and command 1 of rank 1 is 'Overwrite', which sends 'v'")); });
}

TEST("unchecked, ranks that wait in a circle are a fault of the run, and a harmless difference is none") {
  auto unchecked = [](std::size_t which) {
    return [which](Rank& s) {
      s.checking = false;
      different::program(different::cases()[which])(s);
    };
  };
  model::ModelEngine circle(modelled(2));
  CHECK_THROWS(circle.run(unchecked(0)), Error, " waits for ");
  model::ModelEngine harmless(modelled(2));
  CHECK(refusal(harmless, unchecked(1)) == "");
}

TEST("comparing takes no virtual time") {
  auto seconds = [](bool checking) {
    model::ModelEngine e(modelled(3));
    double ended = 0;
    e.run([&](Rank& s) {
      s.checking = checking;
      different::run(s, true, different::cases()[3].usual);
      if (s.id() == 2) ended = e.now(s);
    });
    return ended;
  };
  CHECK(seconds(true) > 0);
  CHECK(seconds(true) == seconds(false));
}
