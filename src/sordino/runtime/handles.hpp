// The names a program uses for distributed vectors and device scalars, and the typed fields a command's functor is made of.
//
// A functor is a plain aggregate. The types of its fields say how it touches memory, so reads, writes, bytes, hazards and
// halos are never stated twice:
//
//   struct Update {
//     Get rz, pq;  In p, q;  InOut x, r;           // scalars read, vectors read, vectors updated
//     double alpha = 0;                            // computed once, in the head
//     SORDINO_HD void head() { alpha = rz / pq; }
//     SORDINO_HD Sums<1> row(i32 i) { x[i] += alpha * p[i]; double ri = r[i] - alpha * q[i]; r[i] = ri; return {ri * ri}; }
//   };
#pragma once
#include "sordino/base/types.hpp"

namespace sordino {

/// A distributed vector, by its logical name on this rank; where it lives, and which buffer it means after a rotation, is
/// the engine's business.
struct Vec {
  int id = -1;
};

/// A scalar that lives where the commands run. It has no conversion to a number inside a recorded body.
struct Scal {
  int id = -1;
};

/// "The reduction into `scalar` ends here, in the head of this command."
struct Finish {
  Scal scalar;
};
inline Finish finish(Scal s) { return {s}; }

/// "The value of `scalar` that was finished last", while the next reduction into it may be under way.
struct Last {
  Scal scalar;
};
inline Last last(Scal s) { return {s}; }

/// Read own rows.
struct In {
  const double* p = nullptr;
  int id = -1;
  In() = default;
  In(Vec v) : id(v.id) {}
  SORDINO_HD double operator[](i32 i) const { return p[i]; }
};

/// Read own rows, or 1 everywhere if left unset: a diagonal that may be absent.
struct Scaling {
  const double* p = nullptr;
  int id = -1;
  Scaling() = default;
  Scaling(Vec v) : id(v.id) {}
  SORDINO_HD double operator[](i32 i) const { return p ? p[i] : 1.0; }
};

/// Read own rows and those that other ranks send; the command waits for them before the rows that need them.
struct Ghost {
  const double* p = nullptr;
  int id = -1;
  Ghost() = default;
  Ghost(Vec v) : id(v.id) {}
  SORDINO_HD double operator[](i32 i) const { return p[i]; }
};

/// Read all rows of the space: a Ghost where ranks compute slices of a replicated vector and gather it, an In elsewhere.
struct Whole {
  const double* p = nullptr;
  int id = -1;
  Whole() = default;
  Whole(Vec v) : id(v.id) {}
  SORDINO_HD double operator[](i32 i) const { return p[i]; }
};

/// Write own rows, every one of them; the old content is not read.
struct Out {
  double* p = nullptr;
  int id = -1;
  Out() = default;
  Out(Vec v) : id(v.id) {}
  SORDINO_HD double& operator[](i32 i) const { return p[i]; }
};

/// Read and write own rows.
struct InOut {
  double* p = nullptr;
  int id = -1;
  InOut() = default;
  InOut(Vec v) : id(v.id) {}
  SORDINO_HD double& operator[](i32 i) const { return p[i]; }
};

/// Read a scalar in the head; `Get(finish(s))` first ends the reduction into it, `Get(last(s))` takes what the last one left.
struct Get {
  double v = 0;
  int id = -1;
  bool finishes = false, last = false;
  Get() = default;
  Get(Scal s) : id(s.id) {}
  Get(Finish f) : id(f.scalar.id), finishes(true) {}
  Get(Last l) : id(l.scalar.id), last(true) {}
  SORDINO_HD operator double() const { return v; }
};

/// Write a scalar in the head.
struct Put {
  double v = 0;
  int id = -1;
  Put() = default;
  Put(Scal s) : id(s.id) {}
  SORDINO_HD void operator=(double a) { v = a; }
  SORDINO_HD operator double() const { return v; }
};

/// What a row adds to the K sums that its command reduces. Returned from registers: no operand is read back from memory.
template <int K>
struct Sums {
  double v[K > 0 ? K : 1];
};

// --- epilogues -------------------------------------------------------------------------------------------------------

struct Dot {
  Vec a, b;
};
struct DotTo {
  Vec a, b;
  Scal to;
};
inline Dot dot(Vec a, Vec b) { return {a, b}; }
inline DotTo operator>>(Dot d, Scal s) { return {d.a, d.b, s}; }

/// "Send the rows of v that other ranks need, as soon as this command has them."
struct Push {
  Vec v;
};
inline Push push(Vec v) { return {v}; }

}  // namespace sordino
