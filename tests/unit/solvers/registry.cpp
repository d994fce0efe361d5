#include "sordino/solvers/registry.hpp"

#include <set>

#include "check.hpp"
#include "sordino/base/error.hpp"

using namespace sordino;

TEST("methods have names of their own and a line that says what they are") {
  std::set<std::string> names;
  for (auto& m : methods()) {
    CHECK(names.insert(m.name).second);
    CHECK(!m.summary.empty());
    CHECK(m.summary.find('\n') == std::string::npos);
    CHECK(m.make != nullptr);
    CHECK(&method(m.name) == &m);
  }
  for (const char* name : {"cg", "prcg", "bicgstab", "pipebicgstab", "gatherbicgstab"}) CHECK(names.count(name) == 1);
}

TEST("an unknown method is refused with a list of those there are") {
  CHECK_THROWS(method("minres"), Error, "there is no solver 'minres'; there are cg, ");
  CHECK_THROWS(method(""), Error, "there is no solver ''");
}

TEST("the CG family needs an SPD matrix, the BiCGStab family does not") {
  for (const char* name : {"cg", "fcg", "prcg", "cgcg"}) CHECK(method(name).needs_spd);
  for (const char* name : {"bicgstab", "pipebicgstab", "gatherbicgstab", "richardson"}) CHECK(!method(name).needs_spd);
}

TEST("three methods take preconditioners that change, or are not symmetric though the matrix is") {
  for (auto& m : methods()) CHECK(m.flexible == (m.name == "fcg" || m.name == "gmres" || m.name == "richardson"));
}
