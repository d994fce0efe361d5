#include "sordino/api/options.hpp"

#include <cmath>
#include <set>

#include "check.hpp"
#include "sordino/api/engines.hpp"
#include "sordino/base/error.hpp"

using namespace sordino;

namespace {

Options with(auto change) {
  Options o;
  change(o);
  return o;
}

}  // namespace

TEST("the defaults are valid") { validate(Options{}); }

TEST("every option is in the table, with its type and default, once") {
  std::set<std::string> names;
  for (auto& o : option_table()) {
    NOTE(o.name);
    CHECK(names.insert(o.name).second);
    CHECK(!o.help.empty());
    CHECK((o.group == "solve" || o.group == "run"));
    const std::set<std::string> types{"float", "int", "int or auto", "bool", "str", "choice"};
    CHECK(types.count(o.type) == 1);
    if (o.name == "s") CHECK(o.type == "int or auto");
    if (o.name == "s") CHECK(o.default_text == "12");
    CHECK((o.type == "choice") == !o.choices.empty());
    if (o.name == "rtol") CHECK(o.default_text == "1e-05");
    if (o.name == "timeout") CHECK(o.default_text == "60");
    if (o.name == "trace") CHECK(o.default_text == "false");
    if (o.name == "solver") CHECK(o.default_text == "auto");
  }
  for (const char* name : {"solver", "precond", "rtol", "atol", "maxiter", "engine", "ranks", "devices", "time_limit",
                           "timeout", "check_every", "replace_every", "seed", "trace", "time_commands"})
    CHECK(names.count(name) == 1);
}

TEST("options out of range are refused with their name") {
  CHECK_THROWS(validate(with([](Options& o) { o.rtol = -1; })), Error, "rtol must be a finite number >= 0");
  CHECK_THROWS(validate(with([](Options& o) { o.rtol = NAN; })), Error, "rtol must be a finite number >= 0");
  CHECK_THROWS(validate(with([](Options& o) { o.atol = INFINITY; })), Error, "atol must be a finite number >= 0");
  CHECK_THROWS(validate(with([](Options& o) { o.rtol = o.atol = 0; })), Error, "rtol and atol are both 0");
  CHECK_THROWS(validate(with([](Options& o) { o.ranks = -1; })), Error, "ranks must be >= 0, not -1");
  CHECK_THROWS(validate(with([](Options& o) { o.maxiter = -5; })), Error, "maxiter must be >= 0, not -5");
  CHECK_THROWS(validate(with([](Options& o) { o.time_limit = -1; })), Error, "time_limit");
  for (int few : {0, -1})
    CHECK_THROWS(validate(with([few](Options& o) { o.check_every = few; })), Error, "check_every must be at least 1");
  CHECK_THROWS(validate(with([](Options& o) { o.s = 0; })), Error, "s must be auto, or from 1 to 16, not 0");
  CHECK_THROWS(validate(with([](Options& o) { o.s = 17; })), Error, "s must be auto, or from 1 to 16, not 17");
  validate(with([](Options& o) { o.s = std::nullopt; }));
  CHECK_THROWS(validate(with([](Options& o) { o.solver = "minres"; })), Error,
               "there is no solver 'minres'; there are auto, cg");
  CHECK_THROWS(validate(with([](Options& o) { o.precond = "ilu"; })), Error,
               "there is no precond 'ilu'; there are auto, none, jacobi");
  CHECK_THROWS(validate(with([](Options& o) { o.engine = "gpu"; })), Error,
               "there is no engine 'gpu'; there are auto, host, cuda, model");
  CHECK_THROWS(validate(with([](Options& o) { o.transport = "fax"; })), Error,
               "there is no transport 'fax'; there are auto, memory, host, nccl, nvshmem, mpi");
  validate(with([](Options& o) { o.transport = "nvshmem"; }));
}

TEST("a list of devices is numbers and ranges") {
  using Devices = std::vector<int>;
  CHECK(parse_devices("") == Devices{});
  CHECK(parse_devices("3") == Devices{3});
  CHECK(parse_devices("0-3") == (Devices{0, 1, 2, 3}));
  CHECK(parse_devices("0-1,5,7-7") == (Devices{0, 1, 5, 7}));
  for (const char* bad : {"x", "0-", "-1", "3-1", "0,,1", "0-1-2", "1 2", "0;1", "0x1", ","}) {
    NOTE(bad);
    CHECK_THROWS(parse_devices(bad), Error, "is not a list such as 0-3 or 0,2");
  }
  CHECK_THROWS(parse_devices("0-2000000000"), Error, "0-2000000000");
}
