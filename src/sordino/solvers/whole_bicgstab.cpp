#include "sordino/solvers/whole_bicgstab.hpp"

#include "sordino/base/error.hpp"
#include "sordino/solvers/gram.hpp"

namespace sordino {
namespace {
using namespace bicgstab;

/// Blocks and tiles of a replicated space, by which its sums are taken.
struct Blocks {
  const i32 *tiles, *rows;  // [blocks + 1] first tile of each; [tiles + 1] first row of each
};

constexpr int places = 2;  // for values of a block, whether one is taken or two

/// Sums of own blocks, in the order of sum_order.hpp: (a,b), and of two values (a,a). Row 2 k + j is value j of block k.
struct PartDots {
  static constexpr const char* name = "Part dots";
  Blocks blocks;
  i32 values;
  i64 own_rows;
  Foreign<const double, Access::read> a, b;
  Out parts;

  void row(i32 i) const {
    const i32 block = i / places, value = i % places;
    const double *with = value == 0 ? b.p : a.p, *of = a.p;
    double sum = 0;
    for (i32 tile = blocks.tiles[block]; value < values && tile < blocks.tiles[block + 1]; tile++) {
      const i32 first = blocks.rows[tile], count = blocks.rows[tile + 1] - first;
      double running[running_sums] = {};
      for (i32 k = 0; k < count; k++) running[k % running_sums] += with[first + k] * of[first + k];
      sum += fold(running, count);
    }
    parts[i] = sum;
  }
  Cost cost() const { return {16.0 * double(own_rows), 2.0 * values * double(own_rows)}; }
};

/// The sums of all blocks of a group's ranks, blocks in their order.
template <int values>
struct AddParts {
  static constexpr const char* name = "Add parts";
  i32 blocks;
  Foreign<const double, Access::ghost> parts;
  Out added;

  Sums<values> row(i32) const {
    Sums<values> out;
    for (int j = 0; j < values; j++) {
      double running[running_sums] = {};
      for (i32 k = 0; k < blocks; k++) running[k % running_sums] += parts[places * k + j];
      added[0] = out.v[j] = fold(running, blocks);
    }
    return out;
  }
  Cost cost() const { return {8.0 * values * blocks, double(values) * blocks}; }
};

/// zeta = (t,s) / (t,t);  r = s - zeta t, without the update of x
struct StepR {
  Get ts, tt;
  Put zeta;
  In s, t;
  Out r;
  double omega = 0;
  static constexpr double flops = 2;
  SORDINO_HD void head() {
    omega = ratio(ts, tt);
    zeta = omega;
  }
  SORDINO_HD void row(i32 i) { r[i] = s[i] - omega * t[i]; }
};

/// x += alpha p + zeta s, of the rank's share
struct PartX {
  static constexpr const char* name = "Part of x";
  Get rho, rv, zeta;
  In ph, sh;
  InOut x;
  double alpha = 0;
  static constexpr double flops = 4;
  SORDINO_HD void head() { alpha = ratio(rho, rv); }
  SORDINO_HD void row(i32 i) { x[i] += alpha * ph[i] + zeta * sh[i]; }
};

struct Copy {
  Whole from;
  Out to;
  SORDINO_HD void row(i32 i) { to[i] = from[i]; }
};

/// What a rank of a group has of a vector: the others have the other shares. `cuts`: [group + 1] rows.
Exchange within_group(const Rank& rank, const std::vector<i32>& cuts) {
  const int group = int(cuts.size()) - 1, me = rank.id() % group, first = rank.id() - me;
  Exchange x;
  for (int k = 0; k < group; k++) {
    if (k == me) continue;
    ExchangePeer peer;
    peer.rank = first + k;
    peer.recv_first = cuts[std::size_t(k)];
    peer.recv_count = cuts[std::size_t(k) + 1] - peer.recv_first;
    peer.send_first = peer.remote_first = cuts[std::size_t(me)];
    peer.send_count = cuts[std::size_t(me) + 1] - peer.send_first;
    peer.remote_index = me < k ? me : me - 1;
    x.peers.push_back(peer);
  }
  return x;
}

Split share_of(const Rank& rank, const std::vector<i32>& cuts) {
  const std::size_t me = std::size_t(rank.id()) % (cuts.size() - 1);
  return {{{cuts[me], cuts[me + 1]}}, {}};
}

/// The blocks of a space, dealt to the ranks of a group.
struct Deal {
  std::vector<i32> tiles, rows;  // of Blocks
  std::vector<i32> block_cuts, row_cuts;

  Deal(const Space& space, int group) : tiles(space.block_tiles), rows(space.tile_rows) {
    for (int k = 0; k <= group; k++) {
      block_cuts.push_back(i32(i64(space.my_blocks()) * k / group));
      row_cuts.push_back(rows[std::size_t(tiles[std::size_t(block_cuts.back())])]);
    }
  }
  i32 blocks() const { return i32(tiles.size()) - 1; }
};

/// Dot products that a group's ranks share: (a,b), or (a,b) and (a,a). All of a method go over one exchange, so that the next
/// ones say that everybody has read the last ones: each has a vector of its own.
class SharedDots {
 public:
  SharedDots(Rank& rank, const Deal& deal) : deal_(deal), me_(std::size_t(rank.id()) % (deal.block_cuts.size() - 1)) {
    std::vector<i32> cuts;
    for (i32 cut : deal.block_cuts) cuts.push_back(places * cut);
    exchange_ = within_group(rank, cuts);
    own_ = share_of(rank, cuts);
    const int space = rank.add_space(gram::replicated(places * deal.blocks()));
    for (Vec& parts : parts_) parts = rank.vector("sums of blocks", space, &exchange_);
    added_ = rank.vector("sum", rank.add_space(gram::replicated(1)));
  }
  SharedDots(const SharedDots&) = delete;  // vectors know its exchange by address

  /// `which`: of three in an iteration.
  template <class... S>
  void record(Rank& rank, int which, Vec a, Vec b, S... sums) const {
    constexpr int values = sizeof...(S);
    const Vec parts = parts_[which];
    const i64 rows = deal_.row_cuts[me_ + 1] - deal_.row_cuts[me_];
    rank.run_split(PartDots{{deal_.tiles.data(), deal_.rows.data()}, values, rows, a, b, parts}, own_, push(parts));
    rank.run(AddParts<values>{deal_.blocks(), parts, added_}, start(sums...));
  }

 private:
  const Deal& deal_;
  std::size_t me_;
  Exchange exchange_;
  Split own_;
  Vec parts_[3], added_;
};

/// x of a group's ranks, of which each has its share, brought together for those who look. Vectors take turns: the one that is
/// sent next is not the one that another rank may still read.
class SharedX {
 public:
  SharedX(const Problem& k, const Deal& deal)
      : k_(k),
        exchange_(within_group(k.s, deal.row_cuts)),
        own_(share_of(k.s, deal.row_cuts)),
        mine_(k.vector("own rows of x")) {
    for (int look = 0; look < (k.watcher ? 2 : 1); look++) turns_.push_back({vector(), vector()});
    for (Vec& last : last_) last = vector();
  }
  SharedX(const SharedX&) = delete;
  Vec mine() const { return mine_; }
  const Split& own() const { return own_; }
  const std::vector<std::vector<Vec>>& turns() const { return turns_; }
  void record_look() { record(turns_[std::size_t(looks_++)].front()); }
  void record_last(int which) const { record(last_[which]); }

 private:
  Vec vector() const { return k_.s.vector("x of the group", k_.A.space(), &exchange_); }
  void record(Vec sent) const {
    k_.s.run_split(Copy{mine_, sent}, own_, push(sent));
    k_.s.run(Copy{sent, k_.x});
  }

  Problem k_;
  Exchange exchange_;
  Split own_;
  Vec mine_;
  std::vector<std::vector<Vec>> turns_;  // one pair for each look in the loop
  Vec last_[2];                          // behind it
  int looks_ = 0;
};

struct Hierarchical final : Method {
  explicit Hierarchical(const Problem& k);

 private:
  Deal deal_;
  SharedDots dots_;
  SharedX shared_;
};

Hierarchical::Hierarchical(const Problem& k)
    : deal_(k.s.space(k.A.space()), k.A.group()), dots_(k.s, deal_), shared_(k, deal_) {
  auto& q = k.s;
  const Vec rh = k.vector("rh"), p = k.vector("p"), s = k.vector("s"), ph = k.operand("M^-1 p"), sh = k.operand("M^-1 s");
  const Vec v = k.result("v"), v_old = k.result("v old"), t = k.Ax, mine = shared_.mine();
  const Scal rho = q.scalar("rho"), rho_new = q.scalar("rho new"), rv = q.scalar("(rh,v)"), ts = q.scalar("(t,s)"),
             tt = q.scalar("(t,t)"), zeta = q.scalar("zeta"), shadow = q.scalar("(rh,rh)");
  r = k.vector("r"), rr = q.scalar("(r,r)");
  begin = q.record([&] {
    q.run(Begin{.b = k.b, .Ax = t, .d = k.d, .r = r, .rh = rh, .p = p, .ph = ph}, start(rho, shadow));
    q.run_split(Copy{k.x, mine}, shared_.own());
    q.wait(rho);
  });
  auto body = [&] {
    k.A.apply(q, ph, v);  // v = A p
    q.run(Gathered{v});
    dots_.record(q, 0, v, rh, rv);
    q.run(HalfStep{.rho = rho, .rv = finish(rv), .v = v, .r = r, .d = k.d, .s = s, .sh = sh});  // s = r - alpha v
    k.A.apply(q, sh, t);                                                                        // t = A s
    q.run(Gathered{t});
    dots_.record(q, 1, t, s, ts, tt);
    q.run(StepR{.ts = finish(ts), .tt = tt, .zeta = zeta, .s = s, .t = t, .r = r});
    dots_.record(q, 2, r, rh, rho_new, rr);
    q.run_split(PartX{.rho = rho, .rv = rv, .zeta = zeta, .ph = ph, .sh = sh, .x = mine}, shared_.own());
    q.exit_if(ConvergedBi{finish(rr), rho_new, zeta, shadow, k.target, k.bound});
    q.run(Direction{.rho_new = rho_new, .rho = rho, .rv = rv, .zeta = zeta, .r = r, .v = v, .d = k.d, .p = p, .ph = ph});
  };
  Rotation rotation{.vectors = shared_.turns(), .scalars = {{rho_new, rho}}};
  rotation.vectors.push_back({v, v_old});
  iterate = k.loop(rotation, rr, body, [&] { shared_.record_look(); });
  end = q.record([&] { shared_.record_last(0); });
  after_all = q.record([&] { shared_.record_last(1); });
  x_is_apart = true;
}

/// What Bicgstab computes in, where products are gathered.
Vectors whole(const Problem& k) {
  return {.r = k.vector("r"),
          .rh = k.vector("rh"),
          .p = k.vector("p"),
          .s = k.vector("s"),
          .ph = k.operand("M^-1 p"),
          .sh = k.operand("M^-1 s"),
          .v = k.result("v"),
          .v_old = k.result("v old")};
}

std::unique_ptr<Method> redundant(const Problem& k) { return std::make_unique<Bicgstab>(k, whole(k)); }

std::unique_ptr<Method> hierarchical(const Problem& k) {
  if (k.A.group() == 1) return redundant(k);
  if (k.s.engine().is_device())
    throw Error(Errc::unsupported, "vectors 'hierarchical' is for engines host and model: use vectors redundant");
  return std::make_unique<Hierarchical>(k);
}

MethodEntry on_whole_vectors(const char* summary, std::unique_ptr<Method> (*make)(const Problem&)) {
  MethodEntry entry = method(Bicgstab::name);
  entry.summary = summary;
  entry.replicated = true;
  entry.any_preconditioner = false;
  entry.make = make;
  return entry;
}

}  // namespace

const MethodEntry& whole_bicgstab(WholeVectors how) {
  static const MethodEntry each = on_whole_vectors("BiCGStab on whole vectors, whose operations all ranks repeat", redundant),
                           shared = on_whole_vectors("BiCGStab on whole vectors, some of whose operations groups share",
                                                     hierarchical);
  return how == WholeVectors::redundant ? each : shared;
}

}  // namespace sordino
