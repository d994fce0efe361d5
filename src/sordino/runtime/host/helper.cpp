#include "sordino/runtime/host/helper.hpp"

#include "sordino/runtime/host/engine.hpp"

namespace sordino::host {

void Helper::work(const std::stop_token& ends) try {
  constexpr long soon = 50'000, now_and_then = 1'000'000, long_time = 500'000'000;  // nanoseconds
  bool remote = engine_.transport_ != nullptr;
  while (!ends.stop_requested()) {
    if (remote) engine_.poll();
    u64 seen = letters();
    bool busy = attend();
    bell_.sleep([&] { return ends.stop_requested() || letters() != seen; }, !remote ? long_time : busy ? soon : now_and_then);
  }
} catch (const std::exception& e) {
  engine_.raise({Errc::peer_failed, std::string("the progress thread: ") + e.what()});
}

u64 Helper::letters() const {
  u64 sum = 0;
  for (auto& m : engine_.memory_) sum += m.letters.load(std::memory_order_acquire);
  return sum;
}

bool Helper::attend() {
  bool busy = false;
  for (int i = 0; i < engine_.options_.ranks; i++)
    if (Attendant* a = engine_.attendant(i)) {
      a->advance();
      busy |= a->busy();
    }
  return busy;
}

}  // namespace sordino::host
