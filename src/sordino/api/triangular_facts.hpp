// What is told of a triangular solver: bytes, chains, and why it has so many ranks.
#pragma once
#include <string>
#include <vector>

#include "sordino/comm/accord.hpp"
#include "sordino/trsv/prediction.hpp"
#include "sordino/trsv/saved_plans.hpp"

namespace sordino {

/// That are kept.
i64 bytes_of(const trsv::Blocks& blocks);
i64 bytes_of(const trsv::Plan& plan);
/// Blocks on the longest way from a leaf to a root.
i64 longest_chain(const trsv::Blocks& blocks);
/// "2 of 4 ranks forward: a solve is predicted to take 1.77 ms, 3.2 ms on 1, 1.9 ms on 4"
std::string said_of(const trsv::RanksChoice& choice, int there, trsv::Direction direction);
/// Throws in all processes where one has other facts of its plans: they would wait for one another in vain. Collective.
void require_same(Accord& accord, const std::vector<i64>& facts);
/// Of saved plans: processes that carry out other ones would take each other's messages for something else.
i64 print_of(const trsv::SavedPlans& plans);

}  // namespace sordino
