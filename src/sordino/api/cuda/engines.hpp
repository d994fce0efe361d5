// The cuda engine as the options ask for it. Knows no CUDA itself.
#pragma once
#include "sordino/api/doctor.hpp"
#include "sordino/api/engines.hpp"
#include "sordino/runtime/hall.hpp"
#include "sordino/runtime/transport.hpp"

namespace sordino::cuda {

class CudaEngine;
enum class Links;
enum class Staging;

/// This build can use at least one GPU of this machine.
bool usable();
int device_count();
/// Throws bad_argument for one that is not here, or is named twice.
void require_devices(const std::vector<int>& devices);
/// `hall` and `transport`: of all processes, if there are several. `late_sums`: as the engine's option.
EngineChoice make_engine(const sordino::Options& options, const std::vector<int>& devices, std::unique_ptr<Hall> hall,
                         std::unique_ptr<Transport> transport = nullptr, bool late_sums = false);
/// What a choice of the option `transport` (transport_choices) means to the engine.
Links links_of(const std::string& transport);
Staging staging_of(const std::string& transport);
/// That everything between processes goes over MPI, as if each were on a host of its own.
bool parts_processes(const std::string& transport);
/// What carries data between its ranks.
std::string carrier(const CudaEngine& engine);
sordino::DeviceReport report();
std::string toolkit_version();
std::string architectures();

/// Makes kernels of everything that is registered: methods, the driver's steps, matrix layouts.
void enable_kernels();
void enable_resident_sell();  // loops in one launch, for each layout of a matrix
void enable_resident_csr();
void enable_lattice_kernels();      // the dslash
void enable_fixed_order_kernels();  // those of deterministic engines

}  // namespace sordino::cuda
