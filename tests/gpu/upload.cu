// Arrays that threads make on their way to a GPU: every byte in its place, of pieces that share a buffer and of large ones, and
// nobody waits for a GPU that another rank's failure keeps.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "on_gpu.hpp"
#include "unit/fresh.hpp"

using namespace sordino;

namespace {

/// Words of 8 bytes, of which each is its own number.
MadeArray counted(fresh::Random& random, i64 pieces, i64 most) {
  MadeArray array{{0}, {}};
  for (i64 k = 0; k < pieces; k++) array.begins.push_back(array.begins.back() + 8 * random.whole(0, most));
  array.make = [begins = array.begins](i64 piece, void* to) {
    i64* word = static_cast<i64*>(to);
    for (i64 k = begins[std::size_t(piece)] / 8; k < begins[std::size_t(piece) + 1] / 8; k++) *word++ = k;
  };
  return array;
}

/// Until it is released, or a minute has passed.
__global__ void hold(const volatile int* released) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    __nanosleep(10000);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (!*released && now - begin < 60'000'000'000ull);
}

/// Keeps the stream of a rank, whose device waits for a word of the host.
class Held {
 public:
  Held() { cuda::call("cudaHostAlloc", cudaHostAlloc(&released_, sizeof(int), cudaHostAllocPortable)), *released_ = 0; }
  ~Held() {
    release();
    cudaFreeHost(released_);  // which waits
  }
  Held(const Held&) = delete;

  void begin(cuda::CudaEngine& gpu, Rank& rank) {
    hold<<<1, 1, 0, side_.get()>>>(released_);
    cuda::call("hold", cudaGetLastError());
    gpu.follow(rank, side_.get());
    has_begun_ = true;
  }
  bool has_begun() const { return has_begun_; }
  void release() { *static_cast<volatile int*>(released_) = 1; }

 private:
  test::SideStream side_;
  int* released_ = nullptr;
  std::atomic<bool> has_begun_{false};
};

}  // namespace

TEST("what threads make arrives at a GPU, in its place, whatever the sizes of pieces") {
  NOTE(fresh::said());
  fresh::Random random(105);
  test::need_gpu();
  for (auto [pieces, most] : {std::pair<i64, i64>{0, 1}, {1, 5}, {20000, 300}, {100, 20000}, {9, 2000000}}) {
    const MadeArray array = counted(random, pieces, most);
    for (int threads : {1, 5}) {
      NOTE(pieces, " pieces of up to ", most, " words, ", threads, " threads");
      test::cuda_engine(2, {})->run(
          [&](Rank& rank) {
            const auto words = std::size_t(array.begins.back() / 8);
            void* const there = rank.engine().allocate_bytes(rank, 8 * words + 8);
            rank.engine().upload_made(rank, there, array, threads);
            std::vector<i64> back(words);
            cuda::call("cudaMemcpy", cudaMemcpy(back.data(), there, 8 * words, cudaMemcpyDefault));
            bool right = true;
            for (std::size_t k = 0; k < words; k++) right = right && back[k] == i64(k);
            CHECK(right);
            rank.engine().release_bytes(rank, there, 8 * words + 8);
          },
          {});
    }
  }
}

TEST("what is thrown while an array is made reaches the rank, and the next array arrives") {
  NOTE(fresh::said());
  fresh::Random random(106);
  test::need_gpu();
  const MadeArray array = counted(random, 1000, 3000);
  MadeArray broken = array;
  broken.make = [&](i64 piece, void* to) {
    if (piece == 700) throw std::runtime_error("seven hundred");
    array.make(piece, to);
  };
  test::cuda_engine(1, {})->run(
      [&](Rank& rank) {
        const auto words = std::size_t(array.begins.back() / 8);
        void* const there = rank.engine().allocate_bytes(rank, 8 * words);
        CHECK_THROWS(rank.engine().upload_made(rank, there, broken, 3), std::runtime_error, "seven hundred");
        rank.engine().upload_made(rank, there, array, 3);
        std::vector<i64> back(words);
        cuda::call("cudaMemcpy", cudaMemcpy(back.data(), there, 8 * words, cudaMemcpyDefault));
        CHECK(back.back() == i64(words) - 1);
        rank.engine().release_bytes(rank, there, 8 * words);
      },
      {});
}

TEST("a rank whose GPU is kept while arrays are on their way to it ends when another rank fails") {
  test::need_gpu();
  for (i64 pieces : {2, 40})  // fewer than there are buffers, and more: it waits at the end, or for one
    for (int threads : {1, 3}) {
      NOTE(pieces, " pieces, ", threads, " threads");
      Held held;
      std::once_flag once;
      MadeArray array{{0}, {}};
      for (i64 k = 1; k <= pieces; k++) array.begins.push_back(k << 20);
      double seconds = 0;
      bool as_peer = false;
      auto gpu = test::cuda_engine(2, {.devices = {0}});
      auto job = [&](Rank& rank) {
        if (rank.id() == 1) {
          while (!held.has_begun()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
          throw std::runtime_error("out of coffee");
        }
        array.make = [&](i64, void*) { std::call_once(once, [&] { held.begin(*gpu, rank); }); };
        void* const there = rank.engine().allocate_bytes(rank, std::size_t(array.begins.back()));
        const double begin = rank.engine().now(rank);
        try {
          rank.engine().upload_made(rank, there, array, threads);
        } catch (const PeerFailed&) {
          as_peer = true;
        }
        seconds = rank.engine().now(rank) - begin;
        rank.engine().release_bytes(rank, there, std::size_t(array.begins.back()));
      };
      CHECK_THROWS(gpu->run(job, {}), Error, "rank 1: out of coffee");
      CHECK(as_peer);
      NOTE(seconds, " s");
      CHECK(seconds < 4);
      CHECK(!gpu->has_lost_a_rank());
      held.release();
    }
}
