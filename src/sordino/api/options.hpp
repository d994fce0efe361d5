// Every option of a solver, typed once: command-line flags, Python keywords, help and the documentation's table derive from
// here.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace sordino {

struct Options {
  std::string solver = "auto";
  std::string precond = "auto";
  int degree = 3;
  std::string cycle = "v";
  std::optional<int> level_rows = std::nullopt;  // none: auto
  std::string smoother = "chebyshev";
  std::string cycle_precision = "double";
  std::string tile = "auto";
  std::string grid = "";
  std::optional<int> s = 12;  // none: auto
  std::string basis = "chebyshev";
  std::string spectrum = "ritz";
  int batch = 1024;
  int restart = 30;
  double omega = 1;
  int inner = 20;
  std::string nullspace = "none";
  std::string symmetry = "auto";
  std::string storage = "auto";
  double rtol = 1e-5;
  double atol = 0;
  int maxiter = 0;
  std::string engine = "auto";
  int ranks = 0;
  std::string devices = "";
  std::string partition = "blocks";
  std::string boxes = "auto";
  std::string distribution = "rows";
  std::string gather = "rank";
  std::string vectors = "auto";
  std::string scalars = "device";
  std::string schedule = "pipe2";
  std::string transport = "auto";
  std::string deterministic = "auto";
  std::string all_reduce = "auto";
  int reduce_degree = 2;
  int broadcast_degree = 4;
  std::string progress = "commands";
  double time_limit = 0;
  double timeout = 60;
  int check_every = 32;
  int replace_every = 0;
  int seed = 0;
  bool trace = false;
  bool time_commands = false;

  /// visit(name, member, group, help, choices); an empty list of choices means any value.
  template <class V>
  void fields(V&& visit);
};

struct OptionInfo {
  std::string name, type, default_text, help, group;
  std::vector<std::string> choices;
};

/// The table of options, with the defaults as text.
std::vector<OptionInfo> option_table();
/// The name in the table of an option that may be called by another one: "max_iterations" -> "maxiter". Throws bad_argument,
/// with the nearest name if one is near, where there is no such option.
std::string option_named(const std::string& name);
/// The option `gather`: ranks of a group, or 0 for those of a node. Throws bad_argument for other words, and for none.
int parse_group(const std::string& gather);
/// Throws bad_argument with one sentence if a value is out of its range.
void validate(const Options& options);

/// The option `devices`: "0-3,5" -> {0, 1, 2, 3, 5}; "": none is named. Throws bad_argument.
std::vector<int> parse_devices(const std::string& text);

std::vector<std::string> solver_choices();
constexpr int most_degree = 64;
constexpr int most_inner = 64;
inline const std::vector<std::string> cycle_choices{"v", "f", "w"};
inline const std::vector<std::string> smoother_choices{"chebyshev", "sor", "block-ilu"};
inline const std::vector<std::string> cycle_precision_choices{"double", "single", "half"};
inline const std::vector<std::string> precond_choices{"auto", "none", "jacobi", "sqrt-jacobi", "chebyshev",   "block-ilu",
                                                      "ic0",  "ilu0", "mg",     "amg",         "block-jacobi"};
inline const std::vector<std::string> basis_choices{"chebyshev", "monomial"};
inline const std::vector<std::string> spectrum_choices{"ritz", "power"};
inline const std::vector<std::string> partition_choices{"blocks", "boxes", "metis"};
inline const std::vector<std::string> distribution_choices{"rows", "leaves", "grid"};
inline const std::vector<std::string> vectors_choices{"auto", "redundant", "hierarchical"};
inline const std::vector<std::string> scalars_choices{"device", "host"};
inline const std::vector<std::string> schedule_choices{"pipe2", "pipe1"};
inline const std::vector<std::string> nullspace_choices{"none", "constant"};
inline const std::vector<std::string> symmetry_choices{"auto", "hermitian", "symmetric", "general"};
inline const std::vector<std::string> storage_choices{"auto", "csr", "dia", "symdia", "constant"};
inline const std::vector<std::string> engine_choices{"auto", "host", "cuda", "model"};
inline const std::vector<std::string> transport_choices{"auto",    "memory", "host",       "nccl",
                                                        "nvshmem", "mpi",    "mpi-staged", "mpi-direct"};
inline const std::vector<std::string> deterministic_choices{"auto", "on", "off"};
inline const std::vector<std::string> all_reduce_choices{"auto", "fastest",   "ordered", "recursive_doubling",
                                                         "tree", "two_level", "mpi",     "nccl"};
inline const std::vector<std::string> progress_choices{"commands", "thread"};

template <class V>
void Options::fields(V&& v) {
  const std::vector<std::string> any;
  v("solver", solver, "solve",
    "Krylov method; auto takes cg for a Hermitian (if real: symmetric) matrix with a positive diagonal, or what its machine's "
    "description makes 5 % faster, cocg for a complex symmetric one, else bicgstab",
    solver_choices());
  v("precond", precond, "solve",
    "preconditioner; auto takes jacobi where the diagonal has no zero, or, with cg on engine host, mg of a grid that is "
    "given, if one solve is foretold to be faster by it; sqrt-jacobi scales rows and columns by the roots of a "
    "positive diagonal instead, which iterations then need not read; chebyshev, for symmetric positive definite matrices, is a "
    "polynomial that adds products but no sums; block-ilu, for matrices of grids, is an incomplete factorization of tiles; "
    "ic0, for symmetric positive definite matrices, and ilu0, for bicgstab and gmres, are those of each rank's rows, for any "
    "pattern; mg, for symmetric positive definite matrices of grids, is a cycle of multigrid; amg, for those of any pattern, "
    "is one whose levels add up rows by how strongly they are coupled; block-jacobi, for H-matrices, inverts the dense blocks "
    "on the diagonal",
    precond_choices);
  v("degree", degree, "solve", "products with A in an application of precond chebyshev", any);
  v("cycle", cycle, "solve",
    "of preconds mg and amg, and of a hierarchy as M: v visits each level once, f each once more often than the one before, "
    "for "
    "fcg, richardson, bicgstab and gmres, as it is not symmetric, w twice as often as the one before",
    cycle_choices);
  v("level_rows", level_rows, "solve",
    "of precond mg on several ranks: coarse levels of at most so many rows live on one rank, of up to 8 times as many on 64, "
    "and so on, and of amg, where processes bring rows, those on one; 0: on fewer ranks only where their layers of cells "
    "cannot be paired; auto: 16,384 on GPUs and described machines whose commands take a microsecond to launch, 512 on others",
    any);
  v("smoother", smoother, "solve",
    "of precond mg, what smooths a level: chebyshev, a polynomial; sor, relaxation of cells in two colours, of 7 points, or "
    "in eight, of 27; block-ilu, incomplete factors of tiles",
    smoother_choices);
  v("cycle_precision", cycle_precision, "solve",
    "of precond mg, in what its cycles keep matrices and vectors: double; single, in half the bytes; half, of matrices alone, "
    "with vectors as single. What is solved, and how far, is double in any case",
    cycle_precision_choices);
  v("tile", tile, "solve",
    "cells in x, y and z of a tile of precond block-ilu, such as 8,8,4; auto: on the host a rank's rows are one tile, on GPUs "
    "4,4,4 to 8,8,8, the larger the more cells a rank has",
    any);
  v("grid", grid, "solve",
    "cells in x, y and z whose unknowns the rows are, x fastest, for tiles, boxes and levels, such as 64,64,32; empty: one "
    "line of "
    "them",
    any);
  v("s", s, "solve",
    "iterations that cbcg takes at once, the most: fewer where their directions lose their conjugacy, or maxiter leaves fewer; "
    "auto: by what they take on the described machine, up to 12 of them, and up to 3 with basis monomial",
    any);
  v("basis", basis, "solve",
    "what cbcg makes its directions of: Chebyshev polynomials, or powers of A, which lose their independence beyond s = 3",
    basis_choices);
  v("spectrum", spectrum, "solve",
    "how cbcg finds the largest eigenvalue: Ritz values of 12 steps of conjugate gradients, or 100 steps of the power method",
    spectrum_choices);
  v("batch", batch, "solve",
    "rows that are a small product of their own where cbcg multiplies its directions with each other; the results are added up",
    any);
  v("restart", restart, "solve",
    "steps of gmres after which it begins a new basis; it keeps so many vectors, and twice as many with a preconditioner that "
    "is no diagonal",
    any);
  v("omega", omega, "solve", "of solver richardson: how much of M^-1 (b - A x) an iteration adds to x", any);
  v("inner", inner, "solve", "steps of BiCGStab with a coarser H-matrix, where one is given as the preconditioner", any);
  v("nullspace", nullspace, "solve",
    "what A is known to map to zero: the constant vector, or nothing; b is projected onto the range of A, and x is orthogonal "
    "to it",
    nullspace_choices);
  v("symmetry", symmetry, "solve",
    "what the matrix is: Hermitian (A^H = A), symmetric (A^T = A), or neither; auto looks at its entries where the choice of a "
    "solver hangs on it, and what is said is checked where there are entries",
    symmetry_choices);
  v("storage", storage, "solve",
    "how entries lie in memory: csr, by rows; dia, by at most 27 diagonals, without columns; symdia, the same with one entry "
    "for (i, j) and (j, i); constant, each of at most 256 different rows once, and a byte for each row; auto takes dia where "
    "two thirds of each diagonal are filled, symdia for large ones that are symmetric, else csr",
    storage_choices);
  v("rtol", rtol, "solve", "relative tolerance: ||b - A x|| <= max(rtol ||b||, atol), recomputed", any);
  v("atol", atol, "solve", "absolute tolerance", any);
  v("maxiter", maxiter, "solve", "most iterations; 0 means 10 n, between 1,000 and 100,000", any);
  v("time_limit", time_limit, "solve", "seconds after which to stop with the best x; 0 means none", any);
  v("check_every", check_every, "solve",
    "iterations between looks at the residual that keep the best x, rounded up to what cbcg takes at once; 200 at most, "
    "whatever is asked",
    any);
  v("replace_every", replace_every, "solve",
    "iterations between residual replacements of pipelined methods; 0 means the method's own", any);
  v("engine", engine, "run",
    "who executes: threads of this process, GPUs, or a described machine; auto takes cuda where there is a GPU",
    engine_choices);
  v("ranks", ranks, "run", "ranks of this process; 0 means one per visible GPU, or one per core on the host", any);
  v("devices", devices, "run",
    "GPUs to use, such as 0-3 or 0,2; empty means all visible; MPI processes share them out in order", any);
  v("partition", partition, "run",
    "which rows a rank owns: consecutive ones of equal weight, the cells of a box of the grid, or those that METIS finds to "
    "need few of others' (the latter two from Python and the command line, metis with pymetis); bits then depend on the number "
    "of ranks",
    partition_choices);
  v("boxes", boxes, "run",
    "of partition boxes: how many in x, y and z, such as 1,2,4, in all one a rank; auto: those with the fewest cells at cuts",
    any);
  v("distribution", distribution, "run",
    "of an H-matrix's product: a rank multiplies its rows of all leaves, with the same bits on any number of ranks; or leaves "
    "as a whole, about its rows, or in a grid of ranks about its rows and columns: each value is read once, and rows of the "
    "result are sent to their owners",
    distribution_choices);
  v("gather", gather, "run",
    "of solver gatherbicgstab, or bicgstab with whole vectors, and an H-matrix, who receives other ranks' rows of a product: "
    "rank, each for itself; or groups "
    "of neighbours, each row once, which they hand on: node, the ranks of a process, or of a node of a described machine; or "
    "so many, such as 2; the bits are the same",
    any);
  v("vectors", vectors, "run",
    "of solver bicgstab with an H-matrix: auto, each rank has its rows of all vectors; redundant, all ranks have whole vectors "
    "and repeat what is done with them; hierarchical, ranks of a group, which gather says, share the update of x and dot "
    "products among themselves; the latter two gather products, reduce nothing and have the same bits",
    vectors_choices);
  v("scalars", scalars, "run",
    "of solver bicgstab with real numbers: who computes alpha, zeta and beta: device, the commands that use them; host, a task "
    "between the sums and those, for which GPUs wait, with the same bits, to compare with",
    scalars_choices);
  v("schedule", schedule, "run",
    "of solver gatherbicgstab: pipe2, vector operations that need no product stand between it and the wait for other ranks' "
    "rows; pipe1, before it, and that wait hides behind nothing, with the same bits, to compare with",
    schedule_choices);
  v("transport", transport, "run",
    "engine cuda: how GPUs send to each other: straight into memory, through host memory, by NCCL, or by NVSHMEM, which takes "
    "a process a rank; mpi: over MPI between processes, as if each were on a host of its own; auto: straight wherever the "
    "hardware can, else through host memory or over MPI. MPI moves what lies on GPUs where it says that it can; mpi-staged: "
    "never; mpi-direct: whatever it says",
    transport_choices);
  v("deterministic", deterministic, "run",
    "engine cuda: add in the order of the other engines, for their bits on any number of ranks, at some cost; auto: for "
    "nonsymmetric methods, whose iterations hang on the last bit",
    deterministic_choices);
  v("all_reduce", all_reduce, "run",
    "how sums over all ranks come about; auto and ordered: everybody's parts to everybody, added in one order; the bits of the "
    "others depend on the number of ranks, those of two_level and mpi on the layout, too; fastest: what the machine's "
    "description says; nccl: engine cuda with transport nccl; on GPUs the host carries the others",
    all_reduce_choices);
  v("reduce_degree", reduce_degree, "run", "of the tree that reduces in all_reduce tree and two_level: 2, 3 or 4", any);
  v("broadcast_degree", broadcast_degree, "run", "of the tree that broadcasts there: 2, 3 or 4", any);
  v("progress", progress, "run",
    "engine host: collectives of host data go on when their rank waits or begins a command, or by a thread of their own",
    progress_choices);
  v("timeout", timeout, "run", "seconds without any progress after which a wait gives up; 0 means never", any);
  v("seed", seed, "run", "model engine: 0 delivers in order of time, others in an adversarial order", any);
  v("trace", trace, "run", "record when each command ran and waited", any);
  v("time_commands", time_commands, "run", "measure the time of each command", any);
}

}  // namespace sordino
