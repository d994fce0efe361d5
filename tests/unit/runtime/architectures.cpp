// Which GPUs a build has kernels for.
#include "sordino/runtime/architectures.hpp"

#include "check.hpp"

using sordino::runs_on;

TEST("code runs within its major version, PTX on all that is newer") {
  CHECK(runs_on("90", 9, 0));
  CHECK(runs_on("90", 10, 0));
  CHECK(runs_on("90", 12, 0));
  CHECK(!runs_on("90", 8, 9));
  CHECK(runs_on("80-real", 8, 0));
  CHECK(runs_on("80-real", 8, 9));
  CHECK(!runs_on("80-real", 9, 0));
  CHECK(!runs_on("86-real", 8, 0));
  CHECK(runs_on("80-virtual", 9, 0));
  CHECK(runs_on("80-virtual", 8, 0));
  CHECK(!runs_on("90-virtual", 8, 0));
}

TEST("one of several is enough") {
  CHECK(runs_on("80-real;90", 8, 6));
  CHECK(runs_on("80-real;90", 9, 0));
  CHECK(runs_on("80-real;90", 10, 0));
  CHECK(!runs_on("80-real;90-real", 10, 0));
  CHECK(!runs_on("80-real;90", 7, 5));
}

TEST("what is made for one GPU alone runs on no other") {
  CHECK(runs_on("90a", 9, 0));
  CHECK(!runs_on("90a", 10, 0));
  CHECK(!runs_on("100a-virtual", 12, 0));
  CHECK(runs_on("80;90a", 12, 0));
}

TEST("what was made for the GPUs of the machine is taken for all") { CHECK(runs_on("native", 8, 9)); }
