// Replays that were started and not yet waited for, on GPUs: the programs of tests/conformance/started.cpp, in all ways in
// which a loop reaches the device.
#include <chrono>
#include <thread>

#include "sordino/runtime/cuda/enable.cuh"
#include "support.hpp"
#include "unit/runtime/started_program.hpp"

using namespace started;

namespace {

void prepare() {
  test::need_gpu();
  cuda::enable(started::Kernels{});
  cuda::enable<cuda::SumOrder::fixed>(started::Kernels{});
  cuda::enable(host_tasks::Kernels{});
}

struct Setting {
  std::string name;
  int ranks;
  cuda::Options options;
};

/// Every way that this machine can take, with as many ranks as it is worth. Chunks are short, so that loops have many.
std::vector<Setting> settings() {
  prepare();
  std::vector<Setting> all;
  auto add = [&](std::string name, int ranks, cuda::Options o) {
    o.chunk = 4;
    all.push_back({std::move(name), ranks, std::move(o)});
  };
  using cuda::Looping;
  for (int ranks : {1, 2, 4}) {
    if (ranks > test::gpus()) continue;
    for (auto [name, looping] : {std::pair{"graph", Looping::graph}, {"launches", Looping::launches}}) {
      cuda::Options o;
      o.looping = looping;
      add(name, ranks, o);
    }
    cuda::Options repeated, fixed, by_host;
    repeated.looping = Looping::while_graph;
    add("while graph", ranks, repeated);
    fixed.deterministic = true;
    if (ranks == 2) add("fixed order", ranks, fixed);
    by_host.links = cuda::Links::host;
    if (ranks == 2) add("through host memory", ranks, by_host);
  }
  cuda::Options shared;
  shared.devices = {0};
  add("shared device", 3, shared);
  add("one device, spinning", 2, test::spinning());
  return all;
}

void in_all(const std::function<void(const Setting&, const Make&)>& test, int least = 1) {
  for (auto& s : settings()) {
    if (s.ranks < least) continue;
    NOTE(s.name, ", ", s.ranks, " ranks");
    test(s, [&] { return test::cuda_engine(s.ranks, s.options); });
  }
}

}  // namespace

TEST("start: replays leave the bits of blocking ones, waited for or tested, in all ways") {
  in_all([](const Setting&, const Make& make) { compare_ways(make); });
}

TEST("start: while a replay is under way all else on its rank is refused with a sentence") {
  in_all([](const Setting&, const Make& make) { refuse_others(*make()); });
}

TEST("start: replays go on while their ranks wait for host data") {
  in_all([](const Setting&, const Make& make) { talk_meanwhile(*make()); }, 2);
}

TEST("start: over NCCL, too") {
  test::need_nccl();
  prepare();
  Make make = [] {
    cuda::Options o = test::by_nccl();
    o.chunk = 4;
    return test::cuda_engine(2, o);
  };
  compare_ways(make);
  talk_meanwhile(*make());
}

TEST("start: host tasks compute what they do in a blocking replay") {
  prepare();
  for (int ranks : {1, 3}) {
    NOTE(ranks, " ranks");
    auto first = test::cuda_engine(ranks);
    host_tasks::Result expected = host_tasks::run(*first, 24, 400, 8);
    for (Way way : {Way::wait, Way::poll}) {
      auto gpu = test::cuda_engine(ranks);
      CHECK((host_tasks::run(*gpu, 24, 400, 8, in_the_way(way)) == expected));
    }
  }
}

TEST("start: a replay that fits what is launched ahead ends while the host stays away") {
  prepare();
  auto gpu = test::cuda_engine(1);
  gpu->run([&](Rank& s) {
    Waves w(s);
    s.replay(w.begin);
    s.replay(w.loop, 20);
    s.replay(w.begin);
    Replay replay = s.start(w.loop, 20);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    CHECK(replay.test());  // the first look
    CHECK(replay.wait().iterations == 20);
  });
}

TEST("start: a stop request ends all ranks in the same iteration") {
  static constexpr int most = 1'000'000'000;
  in_all([](const Setting& setting, const Make&) {
    for (Way way : {Way::wait, Way::poll}) {
      auto gpu = test::cuda_engine(setting.ranks, setting.options);
      std::vector<Outcome> outcome(std::size_t(setting.ranks));
      gpu->run(
          [&](Rank& s) {
            Waves w(s);
            s.replay(w.begin);
            outcome[std::size_t(s.id())] = replay(s, w.loop, most, way);
          },
          [&] {
            if (gpu->progress().iteration >= 300) gpu->request_stop();
          });
      for (auto& o : outcome) {
        CHECK(o.verdict == asked_to_stop);
        CHECK(o.iterations == outcome[0].iterations);
        CHECK(o.iterations < most);
      }
    }
  });
}

TEST("start: a rank that throws while its replay is under way stops the others with its cause") {
  in_all([](const Setting&, const Make& make) { throw_meanwhile(make, 1'000'000'000); }, 2);
}

TEST("start: a replay that its job leaves under way, or gives up, fails the run") {
  in_all([](const Setting&, const Make& make) { leave_behind(make); });
}

TEST("start: a mute rank is what ranks that only test complain of, and all say the same") {
  in_all(
      [](const Setting& setting, const Make&) {
        if (setting.options.sharing != cuda::Sharing::never && setting.ranks > test::gpus()) return;  // nobody waits there
        for (Way way : {Way::wait, Way::poll}) {
          cuda::Options o = setting.options;
          o.timeout = 0.5;
          o.inject = {.rank = 1, .command = "Smooth", .iteration = 9, .mute = true};
          auto gpu = test::cuda_engine(setting.ranks, o);
          Failure f = fail(*gpu, [&](Rank& s) {
            Waves w(s);
            s.replay(w.begin);
            replay(s, w.loop, 1000, way);
          });
          NOTE(f.cause);
          CHECK(f.cause.find("waited 0.5 s without any progress for rank ") != std::string::npos);
          for (auto& said : f.said) CHECK(said == f.cause);
          CHECK_THROWS(gpu->run([](Rank&) {}, {}), Error, "these ranks have failed before");
        }
      },
      2);
}
