// The plan of a substitution: rows in the order of their levels, cut into tasks.
//
// Its order is that of the rows' places, which every need of a row precedes: so it cannot hang, for the reason that plan.hpp
// gives, and a task may have rows that need one another. A rank owns rows that are consecutive in the triangle, as many entries
// as any other; in a level these are consecutive, too, so a task is a range of places.
#pragma once
#include "sordino/trsv/level_rows.hpp"

namespace sordino::trsv {

struct LevelPlanOptions {
  int ranks = 1;
  i64 task_entries = 1024;  // with the diagonal, that a task has at least, unless its level ends, or its rank's rows in it
};

/// Tasks of kind `rows`. Narrow levels are computed together. Memory and cost: linear in rows and entries. Throws bad_argument
/// for options out of range.
Plan make_level_plan(const LevelRows& rows, const LevelPlanOptions& options = {});

/// As check_plan(): throws Error with one sentence if such a plan could hang, leaves a row out, or reads what is not there.
/// Cost: entries times a logarithm, by so many threads; 0: as many as there are cores.
void check_level_plan(const LevelRows& rows, const Plan& plan, int threads = 1);

/// Bit r: rank r, another one, needs the x of this place. [n]
std::vector<u32> readers_of_rows(const LevelRows& rows, const Plan& plan);

}  // namespace sordino::trsv
