// Arrays that are made where an engine of the host has them.
#include "sordino/base/parallel.hpp"
#include "sordino/runtime/engine.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino {

void Engine::upload_made(Rank& rank, void* to, const MadeArray& array, int threads) {
  rank.check_idle("memory is written");
  if (!to || array.begins.empty()) return;
  auto make = [&](i64 piece, i64, int) { array.make(piece, static_cast<char*>(to) + array.begins[std::size_t(piece)]); };
  deal_out(i64(array.begins.size()) - 1, 1, threads, make);
}

}  // namespace sordino
