// The Wilson hopping term on many ranks: D psi (x) = sum over mu of (1 - gamma_mu) U_mu(x) psi(x + mu)
// + (1 + gamma_mu) U_mu(x - mu)^dagger psi(x - mu). It is the benchmark of 002, section V.D (GMH), which splits it into a
// kernel for the interior and one that waits for the neighbours; here both are one command, and only half spinors travel.
#pragma once
#include <memory>

#include "sordino/lattice/faces.hpp"
#include "sordino/lattice/links.hpp"

namespace sordino::lattice {

/// On GPUs, whether a site is a thread's, or spread over four, one a dimension, which is faster where a rank has few sites.
/// Engines host and model compute the same bits either way; on GPUs the order in which a site's terms are added depends on it.
enum class Spreading { automatic, never, always };

class Dslash {
 public:
  /// On fields over both parities, [even | odd], or over one. Collective; keeps `links`. Memory: two vectors of faces, that is
  /// 384 bytes (double precision) for each site of one parity on a cut face and parity of the fields.
  Dslash(Rank& rank, const Box& box, std::shared_ptr<const LinkField> links, int parities,
         Spreading spreading = Spreading::automatic);
  Dslash(const Dslash&) = delete;

  struct Fields {
    Vec x, y;
    Vec z = {};       // unset: 0
    Vec pushed = {};  // what has been pushed for this product, as solvers push operands; nothing of it travels
  };
  /// Records y = z + scale D x. On fields of one parity, y is of parity `target` and x of the other one. One command, one
  /// message to each neighbour, no reduction; synchronizes with neighbours only. z may be x; y is neither.
  void apply(Rank& rank, const Fields& f, double scale, int target = 0) const { record(rank, f, scale, target, {}); }
  /// The same with up to 3 dot products, of y from registers. Throws bad_argument in single precision.
  void apply(Rank& rank, const Fields& f, double scale, int target, const StartDots& epilogue) const {
    record(rank, f, scale, target, epilogue);
  }

  /// A field, zeroed; solvers may push it. It has 24 words a site in double precision, 12 in single.
  Vec field(Rank& rank, const char* name) const { return rank.vector(name, space_, &nothing_travels_); }
  int space() const { return space_; }  // of fields
  const Box& box() const { return box_; }
  Precision precision() const { return precision_; }

  /// The words of a field, as rank.write() and solvers take them: [words of this rank]. Empty where arithmetic is skipped.
  std::vector<double> pack(Rank& rank, const Source& source, int parity = 0) const;
  /// Visits what pack() or rank.read() made: visit(coordinates in the lattice, spinor).
  void unpack(const std::vector<double>& words, const std::function<void(const Coords&, const Spinor<double>&)>& visit,
              int parity = 0) const;

 private:
  void record(Rank& rank, const Fields& f, double scale, int target, const StartDots& epilogue) const;

  Box box_;
  std::shared_ptr<const LinkField> links_;
  Precision precision_;
  CutBox cut_;
  bool spread_;
  Exchange faces_exchange_, nothing_travels_;
  Split split_[2];              // [target]; of fields over both parities only the first
  int space_ = -1, rows_ = -1;  // of fields; of the command
  Vec faces_[2];                // taken in turn: a rank may then be one product ahead of its neighbour
  mutable int next_ = 0;
};

}  // namespace sordino::lattice
