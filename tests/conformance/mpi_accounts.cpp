// Ranks of several processes that record different things are refused in all processes, with the same sentence.
#include "check.hpp"
#include "mpi_world.hpp"
#include "sordino/comm/transport/mpi.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "unit/runtime/different_programs.hpp"

using namespace sordino;
using namespace mpi_world;

namespace {

std::string refusal(int ranks, const std::function<void(Rank&)>& job) {
  host::HostEngine e({.ranks = ranks, .timeout = 20}, mpi::transport(ranks));
  try {
    e.run(job);
  } catch (const Error& error) {
    CHECK(error.code() == Errc::bad_argument);
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST("processes whose ranks record different commands are told so") {
  for (auto& c : different::cases()) {
    NOTE(c.what);
    int last = processes() - 1;
    std::string said = refusal(1, different::program(c));
    CHECK(has(said, "ranks " + std::to_string(last - 1) + " and " + std::to_string(last) + " record different commands: "));
    CHECK(has(said, "rank " + std::to_string(last - 1) + " " + c.of_usual + ", and "));
    CHECK(has(said, "rank " + std::to_string(last) + " " + c.of_other + ": all ranks must record the same in the same order"));
    CHECK(said == of_the_last(said));
    said = refusal(2, different::program(c));
    CHECK(has(said, " record different commands: "));
    CHECK(said == of_the_last(said));
  }
}

TEST("processes whose ranks record the same go on") {
  for (auto& c : different::cases())
    for (int ranks : {1, 2}) {
      NOTE(c.what, ", ranks a process: ", ranks);
      CHECK(refusal(ranks, [&](Rank& s) {
              different::run(s, c.is_loop, c.usual);
              different::run(s, c.is_loop, c.other);
            }) == "");
    }
}
