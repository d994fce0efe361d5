#include "sordino/base/ledger.hpp"

#include <set>

#include "check.hpp"

using namespace sordino;

namespace {

Ledger some(int k) {
  Ledger l;
  l.commands = 3 * k;
  l.reductions = 5 * k;
  l.reduced_values = 7 * k;
  l.book_message(Carrier::peer_memory, 2, 4 * k);
  l.book_message(Carrier::mpi, 3, 7 * k);
  l.copied_bytes = 43 * k;
  l.memory_bytes = 17 * k;
  l.flops = 19 * k;
  l.exposed_reduction = 23 * k;
  l.hidden_reduction = 29 * k;
  l.exposed_halo = 31 * k;
  l.imbalance = 37 * k;
  l.time = 41 * k;
  l.kernels["SpMV"] = {k, 2.0 * k, 3.0 * k, 4.0 * k};
  return l;
}

}  // namespace

TEST("a difference of ledgers takes every number apart") {
  Ledger d = difference(some(10), some(3)), expected = some(7);
  CHECK(d.same_counts(expected));
  CHECK(d.messages == 77);
  CHECK(d.bytes_sent == 203);
  CHECK(d.carried == expected.carried);
  CHECK((d.carried[std::size_t(Carrier::mpi)] == MessageCount{49, 147}));
  CHECK(d.copied_bytes == expected.copied_bytes);
  CHECK(d.exposed_reduction == expected.exposed_reduction);
  CHECK(d.hidden_reduction == expected.hidden_reduction);
  CHECK(d.exposed_halo == expected.exposed_halo);
  CHECK(d.imbalance == expected.imbalance);
  CHECK(d.time == expected.time);
  const KernelLedger &k = d.kernels.at("SpMV"), &e = expected.kernels.at("SpMV");
  CHECK(k.calls == e.calls);
  CHECK(k.bytes == e.bytes);
  CHECK(k.flops == e.flops);
  CHECK(k.seconds == e.seconds);
}

TEST("a kernel that is new stays whole in a difference") {
  Ledger before, now;
  now.kernels["Update"] = {2, 10, 20, 30};
  CHECK(difference(now, before).kernels.at("Update").calls == 2);
}

TEST("ledgers have the same counts only if all counts are the same, whatever their times") {
  Ledger a = some(2), b = some(2);
  b.time = b.exposed_halo = b.exposed_reduction = b.hidden_reduction = b.imbalance = 0;
  b.kernels.clear();
  CHECK(a.same_counts(b));
  for (i64 Ledger::* count :
       {&Ledger::commands, &Ledger::reductions, &Ledger::reduced_values, &Ledger::messages, &Ledger::bytes_sent}) {
    Ledger c = a;
    c.*count += 1;
    CHECK(!a.same_counts(c));
  }
  for (double Ledger::* count : {&Ledger::memory_bytes, &Ledger::flops}) {
    Ledger c = a;
    c.*count += 1;
    CHECK(!a.same_counts(c));
  }
}

TEST("every carrier has a name of its own") {
  std::set<std::string> names;
  for (int c = 0; c < carriers; c++) CHECK(names.insert(name_of(Carrier(c))).second);
  CHECK(name_of(Carrier::network) == std::string("network"));
  CHECK(name_of(Carrier::nvshmem) == std::string("nvshmem"));
}
