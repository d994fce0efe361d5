// Whether a packet of 16 bytes is ever seen half written. Threads of all pairs of ranks exchange packets whose value is a
// function of the epoch in their tag; a packet may be overwritten while it is read, and every one that is read is checked.
#include "sordino/base/error.hpp"
#include "sordino/comm/cuda/litmus.hpp"
#include "sordino/runtime/cuda/team.cuh"

namespace sordino::cuda {
namespace {

constexpr int threads = 256;

struct Seen {
  u64 packets, reads, violations;
};

/// All words of a packet change with its epoch, so any mixture of two packets is none.
__device__ u64 bits_of(u32 epoch, u32 place) {
  u64 z = (u64(epoch) << 32 | place) * 0xd1342543de82ef95u + 0x2545f4914f6cdd1du;
  return (z ^ z >> 29) * 0xbf58476d1ce4e5b9u;
}
__device__ Packet packet_of(u32 epoch, u32 place) {
  return {__longlong_as_double(bits_of(epoch, place)), u64(~epoch) << 32 | epoch};
}
__device__ bool is_whole(const Packet& p, u32 place) {
  u32 epoch = u32(p.tag);
  return u64(__double_as_longlong(p.value)) == bits_of(epoch, place) && u32(p.tag >> 32) == ~epoch;
}

/// Thread i of the blocks that serve one peer writes packet i there, and reads the packet i that comes from there, `stride`
/// packets apart. Who is alone exchanges with the other half of its own grid.
__global__ void __launch_bounds__(threads) exchange(const __grid_constant__ DeviceTeam t, const __grid_constant__ TeamSlots s,
                                                    Symmetric<Packet> packets, i32 stride, u32 first, u32 epochs, Seen* found) {
  i32 peers = max(t.ranks - 1, 1), served = blockIdx.x % peers;
  i32 peer = t.ranks == 1 ? 0 : served + (served >= t.rank);
  i32 mine = i32(blockIdx.x) / peers * threads + threadIdx.x, n = gridDim.x / peers * threads;
  i32 there = t.ranks == 1 ? (mine + n / 2) % n : mine;
  Packet* out = t.at(peer, packets) + (i64(t.rank) * n + there) * stride;
  const Packet* in = t.mine(packets) + (i64(peer) * n + mine) * stride;
  u64 reads = 0, violations = 0;
  for (u32 epoch = first + 1; epoch - first <= epochs; epoch++) {
    store_packet(out, packet_of(epoch, there));
    bool there_in_time = spin(t, Wait::reduction, s.channel, peer, epoch << 1, [&](u32& seen) {
      Packet p = load_packet(in);
      reads++;
      violations += !is_whole(p, mine);
      seen = u32(p.tag) << 1;
      return i32(u32(p.tag) - epoch) >= 0;  // the peer may be ahead
    });
    if (!there_in_time) return;
  }
  atomicAdd(reinterpret_cast<unsigned long long*>(&found->packets), epochs);
  atomicAdd(reinterpret_cast<unsigned long long*>(&found->reads), reads);
  atomicAdd(reinterpret_cast<unsigned long long*>(&found->violations), violations);
}

__global__ void prepare(Packet* packets, i64 n, i32 stride, u32 first, i64 per_peer) {
  for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += i64(gridDim.x) * blockDim.x)
    packets[i * stride] = packet_of(first, u32(i % per_peer));
}

}  // namespace

Litmus exchange_packets(const TeamOptions& options, i64 epochs, int stride, u32 first) {
  const int ranks = options.ranks, peers = std::max(ranks - 1, 1);
  const int blocks = 48 / peers * peers;  // few enough to be resident on any GPU
  const i64 per_peer = i64(blocks / peers) * threads, n = per_peer * ranks;
  const i64 per_thread = epochs / (i64(blocks) * threads * ranks) + 1;
  if (per_thread >> 31) bad_argument("too many epochs for one litmus test");
  TeamOptions o = options;
  o.window = std::size_t(n * stride) * sizeof(Packet) + (1 << 20);
  Team team(o);
  TeamSlots name = team.slots("a litmus test", 1);
  auto packets = team.array<Packet>(n * stride);
  auto found = team.array<Seen>(1);
  team.run([&](TeamRank& rank) {
    const DeviceTeam& t = rank.team();
    rank.load(exchange);
    rank.launch({.blocks = 256}, prepare, t.mine(packets), n, stride, first, per_peer);
    rank.wait();
    rank.barrier();
    rank.launch({.blocks = blocks, .threads = threads, .resident = true}, exchange, t, name, packets, stride, first,
                u32(per_thread), t.mine(found));
    rank.wait();
  });
  Litmus all;
  for (int r = 0; r < ranks; r++) {
    Seen s;
    team.read(r, found, &s, 1);
    all.packets += i64(s.packets);
    all.reads += i64(s.reads);
    all.violations += i64(s.violations);
  }
  if (all.packets != per_thread * blocks * threads * ranks)
    throw Error(Errc::device, "a litmus test lost count of its packets");
  return all;
}

std::vector<CommFigure> count_torn_packets(const CommPlan& plan) {
  std::vector<CommFigure> figures;
  i64 epochs = plan.epochs > 0 ? plan.epochs : 1'000'000'000;
  for (int ranks : possible_ranks(plan, 1))
    for (int stride : {1, 8}) {  // packets side by side, which stores of a warp may be merged into; and one a line
      Litmus l = exchange_packets(team_options(plan, ranks), epochs / 2, stride, 0xfffffff0u);
      CommFigure f{
          .what = "litmus", .way = stride == 1 ? "packets side by side" : "one packet a line", .ranks = ranks, .bytes = 16};
      f.samples = l.packets;
      f.violations = l.violations;
      f.remark = std::to_string(l.reads) + " reads";
      figures.push_back(f);
    }
  return figures;
}

}  // namespace sordino::cuda
