#include "sordino/comm/signature.hpp"

namespace sordino {
namespace {

bool reduces(Collective kind) {
  return kind == Collective::reduce || kind == Collective::all_reduce || kind == Collective::reduce_scatter;
}
bool has_root(Collective kind) {
  return kind == Collective::broadcast || kind == Collective::reduce || kind == Collective::gather ||
         kind == Collective::scatter;
}

const char* word(Collective kind) {
  constexpr const char* words[] = {"barrier",    "broadcast", "reduce",     "all_reduce",    "gather",
                                   "all_gather", "scatter",   "all_to_all", "reduce_scatter"};
  return words[int(kind)];
}

const char* word(Fold fold) {
  constexpr const char* words[] = {"sum", "product", "min", "max"};
  return words[int(fold)];
}

std::string word(Scalar type) {
  if (type.kind == 'b') return std::to_string(type.bytes) + "-byte values";
  return type.kind + std::to_string(8 * type.bytes);
}

}  // namespace

bool Signature::operator==(const Signature& o) const {
  const AllReduceOptions &p = options, &q = o.options;
  return kind == o.kind && fold == o.fold && type == o.type && root == o.root && count == o.count &&
         p.algorithm == q.algorithm && p.reduce_degree == q.reduce_degree && p.broadcast_degree == q.broadcast_degree &&
         p.by_adapter == q.by_adapter;
}

std::string describe(const Signature& s) {
  std::string text = word(s.kind), about;
  auto add = [&](const std::string& more) { about += (about.empty() ? "" : ", ") + more; };
  if (s.kind == Collective::reduce || s.kind == Collective::all_reduce)
    add(std::string(word(s.fold)) + " of " + std::to_string(s.count) + " " + word(s.type));
  else if (s.kind == Collective::reduce_scatter)
    add(std::string(word(s.fold)) + " of " + word(s.type));
  else if (s.kind != Collective::barrier)
    add(word(s.type));
  if (has_root(s.kind)) add("root " + std::to_string(s.root));
  if (s.kind == Collective::all_reduce) {
    add(name(s.options.algorithm));
    if (s.options.algorithm == Algorithm::tree || s.options.algorithm == Algorithm::two_level)
      add("degrees " + std::to_string(s.options.reduce_degree) + " and " + std::to_string(s.options.broadcast_degree));
  }
  return about.empty() ? text : text + " (" + about + ")";
}

std::string disagreement(int a, const Signature& of_a, int b, const Signature& of_b, u32 number, int channel) {
  Signature same_count = of_b;
  same_count.count = of_a.count;
  std::string what = of_a.kind != of_b.kind                     ? "ranks call different collectives"
                     : reduces(of_a.kind) && same_count == of_a ? "ranks reduce different numbers of values"
                                                                : "ranks disagree about a collective";
  if (b < a) return disagreement(b, of_b, a, of_a, number, channel);
  return what + ": collective " + std::to_string(number) + " of channel " + std::to_string(channel) + " is " + describe(of_a) +
         " on rank " + std::to_string(a) + " and " + describe(of_b) + " on rank " + std::to_string(b);
}

}  // namespace sordino
