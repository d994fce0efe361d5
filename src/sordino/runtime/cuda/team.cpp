#include "sordino/runtime/cuda/team.hpp"

#include <algorithm>

#include "sordino/runtime/cuda/call.hpp"
#include "sordino/runtime/cuda/captured.hpp"
#include "sordino/runtime/cuda/neighbours.hpp"
#include "sordino/runtime/cuda/team_state.hpp"

namespace sordino::cuda {
namespace {

/// A rank's stream is the caller's, as long as this lives; what is there by then is known to be under way.
struct LentStream {
  TeamState& team;
  cudaError_t& recorded;
  cudaStream_t own;
  LentStream(TeamState& t, cudaStream_t callers, cudaError_t& r)
      : team(t), recorded(r), own(std::exchange(t.members[0].stream, callers)) {}
  ~LentStream() {
    recorded = cudaEventRecord(team.started, team.members[0].stream);
    team.is_under_way = recorded == cudaSuccess;
    team.members[0].stream = own;
  }
  LentStream(const LentStream&) = delete;
};

}  // namespace

// --- a rank ----------------------------------------------------------------------------------------------------------------

int TeamRank::size() const { return state_.hall->ranks(); }
int TeamRank::device() const { return state_.member(id_).device; }
cudaStream_t TeamRank::stream() const { return state_.member(id_).stream; }
const DeviceTeam& TeamRank::team() const { return state_.member(id_).team; }

void TeamRank::load(const void* kernel, int shared) {
  cudaFuncAttributes attributes;
  call("cudaFuncGetAttributes", cudaFuncGetAttributes(&attributes, kernel));
  if (shared > 0)
    call("cudaFuncSetAttribute", cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
}

void TeamRank::launch(const Grid& grid, const void* kernel, void** arguments) {
  cudaLaunchAttribute attributes[2]{};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(unsigned(grid.blocks));
  config.blockDim = dim3(unsigned(grid.threads));
  config.dynamicSmemBytes = std::size_t(grid.shared);
  config.stream = stream();
  config.attrs = attributes;
  if (grid.resident) {
    // What cannot be launched is not tried: tools report calls that fail, even where that is expected.
    int at_once = 0;
    call("cudaOccupancyMaxActiveBlocksPerMultiprocessor",
         cudaOccupancyMaxActiveBlocksPerMultiprocessor(&at_once, kernel, grid.threads, std::size_t(grid.shared)));
    if (grid.blocks > at_once * state_.member(id_).multiprocessors)
      call("cudaLaunchKernelExC", cudaErrorCooperativeLaunchTooLarge);
    attributes[config.numAttrs].id = cudaLaunchAttributeCooperative;
    attributes[config.numAttrs++].val.cooperative = 1;
  }
  if (grid.chained) {
    attributes[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
  }
  call("cudaLaunchKernelExC", cudaLaunchKernelExC(&config, kernel, arguments));
}

void TeamRank::wait() {
  const auto& mine = state_.member(id_);
  state_.wait_for_stream(mine);
  state_.look_for_fault(mine, id_);
  state_.check();
}

void TeamRank::barrier() {
  state_.pass(state_.hall->gate_of_ranks(), size(), "the host threads of the other ranks do not come to a barrier");
}

// --- the team --------------------------------------------------------------------------------------------------------------

Team::Team(const TeamOptions& options) : Team(options, nullptr) {}
Team::Team(const TeamOptions& options, std::unique_ptr<Hall> hall)
    : state_(std::make_shared<TeamState>(options, std::move(hall))) {}
Team::~Team() = default;

int Team::size() const { return state_->hall->ranks(); }
int Team::first_rank() const { return state_->hall->first_rank(); }
int Team::local_ranks() const { return state_->hall->local_ranks(); }
int Team::device(int rank) const { return state_->member(rank).device; }
bool Team::shares_devices() const { return state_->devices.size() < state_->members.size(); }
const DeviceTeam& Team::on(int rank) const { return state_->member(rank).team; }

i64 Team::take(i64 bytes) {
  i64 at = state_->taken, end = at + TeamState::aligned(bytes);
  if (bytes < 0 || end > i64(state_->options.window))
    bad_argument("a window of " + std::to_string(state_->options.window) + " bytes has no place for " + std::to_string(bytes) +
                 " more: set TeamOptions::window");
  state_->taken = end;
  return at;
}

void Team::copy_in(int rank, i64 at, const void* host, std::size_t bytes) {
  if (!state_->hall->is_local(rank) && rank >= 0 && rank < size()) return;  // its own process does
  auto& m = state_->member(rank);
  OnDevice on(m.device);
  state_->wait_for_started();
  call("cudaMemcpyAsync", cudaMemcpyAsync(m.window + at, host, bytes, cudaMemcpyHostToDevice, m.stream));
  state_->wait_for_stream(m);
}

void Team::copy_out(int rank, i64 at, void* host, std::size_t bytes) {
  auto& m = state_->member(rank);
  OnDevice on(m.device);
  state_->wait_for_started();
  call("cudaMemcpyAsync", cudaMemcpyAsync(host, m.window + at, bytes, cudaMemcpyDeviceToHost, m.stream));
  state_->wait_for_stream(m);
}

TeamSlots Team::slots(const std::string& name, int values, int most_blocks) {
  if (values < 1 || values > most_values || most_blocks < 1)
    bad_argument("slots are for 1 to " + std::to_string(most_values) + " values and 1 block or more, not for " +
                 std::to_string(values) + " and " + std::to_string(most_blocks));
  TeamSlots s;
  s.packets = array<Packet>(2 * size() * values);
  s.partials = array<Packet>(i64(values) * most_blocks);
  s.epoch = array<u32>(1);
  s.values = values;
  s.most_blocks = most_blocks;
  s.channel = i32(state_->channels.size());
  state_->channels.push_back(name);
  u32 first = state_->options.first_epoch;
  // No packet may look like one of the next two epochs.
  std::vector<Packet> old(std::size_t(std::max(s.packets.count, s.partials.count)), {0.0, flag_word(first - 2, false)});
  for (int r = 0; r < size(); r++) {
    write(r, s.packets, old.data(), s.packets.count);
    write(r, s.partials, old.data(), s.partials.count);
    write(r, s.epoch, &first, 1);
  }
  return s;
}

TeamSignals Team::signals(const std::string& name) {
  TeamSignals s;
  s.flags = array<u32>(i64(size()) * flag_stride);
  s.sent = array<u32>(size());
  s.seen = array<u32>(size());
  s.ticket = array<u32>(size());
  s.channel = i32(state_->channels.size());
  state_->channels.push_back(name);
  u32 first = state_->options.first_epoch;
  std::vector<u32> words(std::size_t(s.flags.count), flag_word(first, false)), epochs(std::size_t(size()), first);
  for (int r = 0; r < size(); r++) {
    write(r, s.flags, words.data(), s.flags.count);
    write(r, s.sent, epochs.data(), size());
    write(r, s.seen, epochs.data(), size());
  }
  return s;
}

void Team::run(const std::function<void(TeamRank&)>& job) {
  TeamState& s = *state_;
  if (s.hall->raised()) s.tell_cause();
  struct Busy {
    Hall& hall;
    explicit Busy(Hall& h) : hall(h) { hall.set_busy(true); }
    ~Busy() { hall.set_busy(false); }
  } busy(*s.hall);
  auto guarded = [keep = state_, job](int i) {  // a thread that does not come back still has what it uses
    TeamState& s = *keep;
    const int id = s.hall->first_rank() + i;
    const std::string me = "rank " + std::to_string(id) + ": ";
    auto& member = s.member(id);
    s.attempt(me, {.rank = id}, [&] {
      call("cudaSetDevice", cudaSetDevice(member.device));
      job(s.rank(id));
    });
    s.attempt(me, {.rank = id}, [&] {
      s.wait_for_stream(member);
      s.look_for_fault(member, id);
    });
  };
  const std::string here = "process " + std::to_string(s.hall->process()) + ": ";
  s.attempt(here, {}, [&] {
    s.wait_for_started();
    s.meet_alike();
  });
  if (!s.hall->raised()) {
    if (s.is_alone()) {
      const OnDevice on(s.members[0].device);
      guarded(0);
    } else {
      s.threads->run(guarded, [&] {
        look_for_lost(*s.hall);
        return s.hall->raised() ? s.options.timeout + 10 : -1.0;
      });
    }
  }
  s.attempt(here, {}, [&] { s.meet(); });
  if (s.hall->raised()) s.tell_cause();
}

void Team::start(cudaStream_t stream, const std::function<void(TeamRank&)>& job) {
  TeamState& s = *state_;
  if (!s.is_alone())
    bad_argument("a team of one rank starts work in a caller's stream, and this one has " + std::to_string(size()));
  if (s.hall->raised()) s.tell_cause();
  const OnDevice on(s.members[0].device);
  refuse_captured(stream);
  const int id = first_rank();
  s.attempt("rank " + std::to_string(id) + ": ", {.rank = id}, [&] {
    s.look_for_fault(s.members[0], id);
    if (!s.started) call("cudaEventCreateWithFlags", cudaEventCreateWithFlags(&s.started, cudaEventDisableTiming));
    call("cudaStreamWaitEvent", cudaStreamWaitEvent(stream, s.started, 0));  // nothing, of an event that was not recorded
    cudaError_t recorded = cudaSuccess;
    {
      const LentStream lent(s, stream, recorded);
      job(s.rank(id));
    }
    call("cudaEventRecord", recorded);
  });
  if (s.hall->raised()) s.tell_cause();
}

bool Team::has_failed() const { return state_->hall->raised(); }

void Team::settle() {
  TeamState& s = *state_;
  if (s.hall->raised()) s.tell_cause();
  s.attempt("rank " + std::to_string(first_rank()) + ": ", {}, [&] { s.wait_for_started(); });
  if (s.hall->raised()) s.tell_cause();
}

}  // namespace sordino::cuda
