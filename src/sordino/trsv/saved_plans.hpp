// What is found out of a triangle's pattern alone, as plain arrays that a file can hold: its supernodes, and the plans of both
// directions. Who takes them back trusts nothing: whatever the arrays hold, a solve is right, or they are refused.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sordino/trsv/plan.hpp"

namespace sordino::trsv {

/// A plan without what follows from it. Empty: none was made.
struct SavedPlan {
  std::vector<i32> tasks;       // [tasks][5] kind, block, first, end, rank
  std::vector<i64> need_begin;  // and so on as in Plan
  std::vector<i32> needs;
  std::vector<u32> readers;
  std::vector<i32> owner;
  std::vector<double> seconds;  // [1]
};

/// Of a triangle that is kept by rows the facts alone.
struct SavedPlans {
  /// What plans must have been made for: the pattern's fingerprint and rows, bytes of a value, the width of blocks, ranks, and
  /// what tasks may have at most: bytes of a large block, bytes and blocks of subtrees. [8]
  std::vector<i64> facts;
  Supernodes nodes;
  SavedPlan forward, backward;
};

/// visit(name, array) for all arrays: "order", ..., "forward_tasks", ...
template <class Saved, class Visit>
void each_array(Saved& s, const Visit& visit) {
  visit("facts", s.facts);
  visit("order", s.nodes.order);
  visit("column", s.nodes.column);
  visit("row_begin", s.nodes.row_begin);
  visit("rows", s.nodes.rows);
  visit("parent", s.nodes.parent);
  auto each_of = [&](const std::string& way, auto& plan) {
    visit(way + "_tasks", plan.tasks);
    visit(way + "_need_begin", plan.need_begin);
    visit(way + "_needs", plan.needs);
    visit(way + "_readers", plan.readers);
    visit(way + "_owner", plan.owner);
    visit(way + "_seconds", plan.seconds);
  };
  each_of("forward", s.forward);
  each_of("backward", s.backward);
}

std::vector<i64> facts_of(const LowerPattern& pattern, i64 value_bytes, i32 width, const PlanOptions& options, int threads = 1);
/// Throws bad_argument with a sentence that names the first fact that differs.
void require_facts(const std::vector<i64>& saved, const std::vector<i64>& wanted);

/// Whether they say of a triangle that it is kept by rows: that is what facts without supernodes mean. Throws bad_argument
/// where some other array is left, of a file that has lost its supernodes.
bool are_by_rows(const SavedPlans& plans);

/// The supernodes that blocks were cut from. Cost: linear in their rows.
Supernodes nodes_of(const Blocks& blocks);
/// Throws bad_argument unless blocks that are cut from them hold all entries of the pattern, and their solves all sums: rows of
/// a supernode are among its parent's columns and rows, subtrees are consecutive, and each entry has a place. The pattern is
/// that of a valid triangle. Cost: entries, and rows of supernodes.
void check_supernodes(const LowerPattern& pattern, const Supernodes& nodes);

SavedPlan saved(const Plan& plan);
/// The plan, proved by check_plan, and with tasks no larger than the options say; none if none was saved. Throws bad_argument.
std::optional<Plan> restored(const SavedPlan& saved, const Blocks& blocks, Direction direction, i64 value_bytes,
                             const PlanOptions& options);

}  // namespace sordino::trsv
