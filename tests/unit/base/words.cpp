// Names by which Python and the command line know statuses and errors: part of the interface.
#include <set>
#include <string>

#include "check.hpp"
#include "sordino/base/error.hpp"
#include "sordino/base/status.hpp"

using namespace sordino;

TEST("every status has the name that DESIGN gives it") {
  std::vector<std::string> names;
  for (int s = int(Status::converged); s <= int(Status::stopped_by_user); s++) names.push_back(name(Status(s)));
  CHECK(names == std::vector<std::string>{"converged", "max_iterations", "time_limit", "breakdown", "indefinite", "stagnated",
                                          "diverged", "interrupted", "stopped_by_user"});
}

TEST("every error code has a name of its own") {
  std::set<std::string> names;
  for (Errc c : {Errc::bad_argument, Errc::io, Errc::device, Errc::peer_failed, Errc::unsupported}) names.insert(name(c));
  CHECK(names == std::set<std::string>{"bad_argument", "io", "device", "peer_failed", "unsupported"});
}

TEST("errors keep their code and their sentence") {
  CHECK_THROWS(bad_argument("no such thing"), Error, "no such thing");
  try {
    throw PeerFailed(Error(Errc::device, "rank 3: boom", {.rank = 3}));
  } catch (const Error& e) {
    CHECK(e.code() == Errc::peer_failed);
    CHECK(std::string(e.what()) == "rank 3: boom");
    CHECK(e.cause() == Cause{.rank = 3});
  }
}
