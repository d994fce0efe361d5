// Processes that meet in a hall: they are forked here, and the hall knows no device.
#include "sordino/runtime/hall.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <thread>

#include "check.hpp"
#include "sordino/runtime/hall_mail.hpp"
#include "within.hpp"

using namespace sordino;
using test::within;

namespace {

using Job = std::function<bool(Hall&)>;  // whether all was as it should be

struct Children {
  std::vector<pid_t> pids;
  std::vector<int> states;  // [process - 1] as waitpid() tells
  void wait() {
    for (pid_t child : pids) waitpid(child, &states.emplace_back(-1), 0);
    pids.clear();
  }
  bool all_well() {
    wait();
    for (int s : states)
      if (!WIFEXITED(s) || WEXITSTATUS(s) != 0) return false;
    return true;
  }
  ~Children() {
    for (pid_t child : pids) kill(child, SIGKILL);
    wait();
  }
};

/// Forks a child for each process but the first, which is this one.
Children fork_others(const std::string& name, const std::vector<int>& ranks, const Job& job) {
  Children children;
  for (int p = 1; p < int(ranks.size()); p++) {
    pid_t child = fork();
    if (child == 0) {
      bool well = false;
      try {
        well = job(*Hall::enter(name, ranks, p));
      } catch (const std::exception&) {
      }
      _exit(well ? 0 : 1);
    }
    children.pids.push_back(child);
  }
  return children;
}

/// Every process does the job; all must find that well.
void together(const std::vector<int>& ranks, const Job& job) {
  auto hall = Hall::make(ranks);
  Children children = fork_others(hall->name(), ranks, job);
  CHECK(job(*hall));
  CHECK(children.all_well());
}

bool pass(Hall& hall) {
  u32 round = hall.gate_of_ranks().enter(u32(hall.ranks()));
  return within(20, [&] { return hall.gate_of_ranks().is_over(round); });
}

}  // namespace

TEST("hall: processes know each other's ranks, and the name is gone when it is removed") {
  auto hall = Hall::make({2, 1, 3});
  CHECK(hall->ranks() == 6);
  CHECK(hall->processes() == 3);
  for (int r = 0; r < 6; r++) CHECK(hall->process_of(r) == (r < 2 ? 0 : r < 3 ? 1 : 2));
  auto third = Hall::enter(hall->name(), {2, 1, 3}, 2);
  CHECK(third->first_rank() == 3);
  CHECK(third->local_ranks() == 3);
  CHECK((third->is_local(5) && !third->is_local(2)));
  hall->remove_name();
  CHECK_THROWS(Hall::enter(hall->name(), {2, 1, 3}, 1), Error, "cannot share memory");
  third->pulse().beats[4].device = 17;
  CHECK(hall->heartbeats() == 17);
  Hall alone(4);
  CHECK((alone.ranks() == 4 && alone.is_local(3) && alone.find_lost() < 0 && alone.all_closed()));
  CHECK_THROWS(Hall::make(std::vector<int>(40, 1)), Error, "at most 32 processes");
  CHECK_THROWS(Hall::make({200, 100}), Error, "at most 256 ranks");
}

TEST("hall: nobody passes a barrier before all are there, a thousand times") {
  together({1, 1, 1}, [](Hall& hall) {
    for (u64 k = 1; k <= 1000; k++) {
      std::atomic_ref(hall.pulse().beats[hall.process()].host).store(k, std::memory_order_relaxed);
      if (!pass(hall)) return false;
      for (int r = 0; r < 3; r++) {
        u64 seen = std::atomic_ref(hall.pulse().beats[r].host).load(std::memory_order_relaxed);
        if (seen != k && seen != k + 1) return false;
      }
    }
    return true;
  });
}

TEST("hall: the first cause of a failure is kept, as far as there is room") {
  Hall hall(1);
  CHECK(!hall.raised());
  CHECK(hall.cause() == "");
  CHECK(hall.raise({Errc::device, std::string(5000, 'x'), {.rank = 0, .command = std::string(300, 'c'), .seen = 7}}));
  CHECK(!hall.raise({Errc::io, "later"}));
  CHECK(hall.cause() == std::string(2047, 'x'));
  CHECK(hall.code() == Errc::device);
  CHECK(hall.error().cause() == Cause{.rank = 0, .command = std::string(99, 'c'), .seen = 7});
}

TEST("hall: all processes read the same cause, and the first complaint of the program") {
  together({1, 1, 1}, [](Hall& hall) {
    int me = hall.process();
    hall.complain(me, 7 - me, me, "complaint of " + std::to_string(me), {.rank = me, .command = "Nothing", .expected = 3});
    hall.complain(me, 0, 0, "again");  // each rank complains once
    if (!within(10, [&] { return hall.complaints() == 3; })) return false;
    Error first = hall.first_complaint();
    hall.raise({Errc::peer_failed, "process " + std::to_string(me) + ": " + first.what(), first.cause()});
    if (!hall.raised() || !std::atomic_ref(hall.pulse().abort).load()) return false;
    bool same = hall.cause().ends_with(": complaint of 2") && hall.code() == Errc::peer_failed &&
                hall.error().cause() == Cause{.rank = 2, .command = "Nothing", .expected = 3};
    return pass(hall) && same && !hall.raise({Errc::io, "later"});
  });
}

TEST("hall: memory is found in the directory behind a barrier") {
  together({2, 1}, [](Hall& hall) {
    auto handle = [](int rank, int block) {
      BlockHandle h;
      h.bytes.fill(std::byte(16 * rank + block));
      return h;
    };
    for (int r = hall.first_rank(); r < hall.first_rank() + hall.local_ranks(); r++) {
      DeviceIdentity device{};
      device[15] = std::byte(r);
      hall.set_device(r, device);
      for (int b = 0; b < 3; b++) hall.publish(r, b, handle(r, b));
      for (int v = 0; v < 5; v++) hall.publish(r, Published::vector, v, {v % 3, u64(100 * r + v)});
      hall.publish(r, Published::reduction, 4, {1, 8, 0, r});
    }
    Invitation invitation{};
    invitation.id.fill('x');
    invitation.bytes = 7;
    if (hall.process() == 0) hall.invite(invitation);
    hall.meet(20);
    bool well = !hall.raised() && hall.invitation() == invitation;
    for (int r = 0; r < 3; r++) {
      well &= hall.device(r)[15] == std::byte(r);
      for (int b = 0; b < 3; b++) well &= hall.block(r, b).bytes == handle(r, b).bytes;
      for (int v = 0; v < 5; v++) well &= hall.place(r, Published::vector, v).offset == u64(100 * r + v);
      well &= hall.place(r, Published::reduction, 4).first_part == r;
    }
    try {
      hall.place(0, Published::reduction, 3);
      return false;
    } catch (const Error& e) {
      return well && std::string(e.what()).starts_with("rank 0 has no reduction 3");
    }
  });
}

TEST("hall: letters of any size arrive whole and in order, while everybody sends to everybody") {
  together({1, 2, 1}, [](Hall& hall) {
    HallMail mail(hall);
    std::vector<std::size_t> sizes{0, 1, 7, 100000, 3, 5 << 20, 64, 2 << 20, 0};
    std::vector<std::size_t> next(4, 0);  // [sender] which letter comes next
    bool well = true;
    auto fill = [](int from, std::size_t i) { return std::byte((std::size_t(from) * 31 + i * 7 + i / 1000) & 255); };
    for (std::size_t size : sizes)
      for (int to = 0; to < 4; to++)
        if (!hall.is_local(to)) {
          std::vector<std::byte> data(size);
          for (std::size_t i = 0; i < size; i++) data[i] = fill(hall.first_rank(), i);
          mail.send(hall.first_rank(), to, int(size), data);
        }
    auto deliver = [&](int from, int to, i64 tag, std::vector<std::byte> data) {
      if (to != hall.first_rank()) return;  // rank 2 gets the same
      std::size_t nth = next[std::size_t(from)]++;
      well &= nth < sizes.size() && data.size() == sizes[nth] && tag == int(data.size()) && hall.is_local(to);
      for (std::size_t i = 0; i < data.size(); i += 97) well &= data[i] == fill(from, i);
    };
    auto complete = [&] {
      mail.exchange(deliver);
      for (int p = 0; p < hall.processes(); p++)
        if (p != hall.process() && next[std::size_t(hall.first_rank(p))] < sizes.size()) return false;
      return mail.all_sent();
    };
    return within(60, complete) && well;
  });
}

TEST("hall: who dies is found by all others, also before its parent has asked for it") {
  std::vector<int> ranks{1, 2, 1};
  auto hall = Hall::make(ranks);
  auto job = [](Hall& here) {
    here.meet(20);
    if (here.process() == 1) raise(SIGKILL);
    here.meet(20);  // ends when it is found lost, and says so
    return here.raised() && here.cause().starts_with("ranks 1 to 2 are lost: process 1 of 3") &&
           here.cause().ends_with(", has died");
  };
  Children children = fork_others(hall->name(), ranks, job);
  auto begin = std::chrono::steady_clock::now();
  CHECK(job(*hall));
  NOTE(hall->cause());
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
  CHECK(within(1, [&] { return hall->find_lost() == 1; }));
  children.wait();
  CHECK(WIFSIGNALED(children.states[0]));
  CHECK((WIFEXITED(children.states[1]) && WEXITSTATUS(children.states[1]) == 0));
  CHECK(hall->find_lost() != 2);  // has died, but the first one found is told
}

TEST("hall: who leaves is told from who dies, and nobody waits for either") {
  std::vector<int> ranks{1, 1};
  auto hall = Hall::make(ranks);
  auto other = Hall::enter(hall->name(), ranks, 1);
  CHECK(!hall->all_closed());
  other->set_busy(true);
  CHECK(hall->others_busy());
  other.reset();
  CHECK(hall->all_closed());
  CHECK(!hall->others_busy());
  CHECK(within(1, [&] { return hall->find_lost() == 1; }));
  CHECK(hall->obituary(1).starts_with("rank 1 is lost: process 1 of 2, with the number "));
  CHECK(hall->obituary(1).ends_with(", has ended its engine or team"));
}

TEST("hall: a process that never comes is waited for in bounded time") {
  auto hall = Hall::make({1, 1});
  auto other = Hall::enter(hall->name(), {1, 1}, 1);
  hall->meet(1);
  CHECK(hall->cause() == "process 0 waited 1 s for the other processes to build the same engine");
}
