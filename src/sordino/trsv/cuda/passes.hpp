// What solves on GPUs have in common, by blocks or by levels: taking turns, columns of b at once, and times.
#pragma once
#include <functional>
#include <mutex>
#include <vector>

#include "sordino/runtime/cuda/team.hpp"
#include "sordino/trsv/cuda/gpu_solve.hpp"

namespace sordino::trsv {

/// How many columns of b a pass can have: 1, 2, 4 or 8.
inline constexpr int most_columns_of_pass = 8;

/// Kernels that wait for other GPUs must be there together: solves of a process take turns.
std::mutex& turn_on_gpus();

/// Throws bad_argument for a number of columns that no pass has.
void validate(const GpuOptions& options);

/// Of the columns that are left, with at most so many in a pass.
int columns_of_pass(i64 left, int most);
u32 passes_of(i64 columns, int most);

/// Seconds of each of so many starts of work on all ranks, from the first one's begin to the last one's end: `prepare` what is
/// not counted, `start` what is, and `then` behind each.
std::vector<double> seconds_on_gpus(cuda::Team& team, int repeats, const std::function<void(cuda::TeamRank&)>& prepare,
                                    const std::function<void(cuda::TeamRank&)>& start, const std::function<void()>& then);

}  // namespace sordino::trsv
