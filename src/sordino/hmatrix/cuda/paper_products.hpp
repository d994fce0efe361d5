// Products with an H-matrix on the current GPU as the paper launches them (000, section V): dense blocks and V on one or
// several streams, and U when all of t is there.
#pragma once
#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "sordino/hmatrix/cuda/cublas.hpp"
#include "sordino/hmatrix/cuda/gemv_kernels.hpp"
#include "sordino/runtime/cuda/call.hpp"

namespace sordino::hmatrix {

/// Throws `unsupported` if the current device has too little memory for `what`.
void* reserve_on_device(i64 bytes, const char* what);

/// Memory of the current device.
template <class T>
class DeviceArray {
 public:
  DeviceArray(i64 count, const char* what)
      : bytes_(count * i64(sizeof(T))), data_(static_cast<T*>(reserve_on_device(bytes_, what))) {}
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  T* data() const { return data_; }
  i64 bytes() const { return bytes_; }

 private:
  i64 bytes_;
  T* data_;
};

/// The values of a plan, on the device. Memory of the host while they are copied: 96 MiB, or that of the largest gemv.
class DeviceValues {
 public:
  DeviceValues(const HMatrix& matrix, const GemvBatches& plan);
  const double* data() const { return values_.data(); }
  i64 bytes() const { return values_.bytes(); }

 private:
  DeviceArray<double> values_;
};

/// What is measured of a way.
class MeasuredProduct {
 public:
  MeasuredProduct() = default;
  virtual ~MeasuredProduct() = default;
  MeasuredProduct(const MeasuredProduct&) = delete;

  /// y = A x of [n] values in the tree's order, and the result on the host.
  virtual std::vector<double> result_of(const std::vector<double>& x) = 0;
  /// Seconds of one of so many products in a row, with x and y where they are, from the first to the last on the device.
  virtual double seconds(int products) = 0;
  virtual i64 launches() const = 0;  // of kernels with values, a product
  virtual i64 bytes() const = 0;     // of vectors and tables
};

/// On the device that is current when it is made, and in all calls.
class PaperProduct : public MeasuredProduct {
 public:
  ~PaperProduct() override;

  std::vector<double> result_of(const std::vector<double>& x) override;
  double seconds(int products) override;
  i64 launches() const override;
  /// Seconds of each launch of a phase by itself, one of so many in a row, on the first stream.
  std::vector<double> seconds_of_items(int phase, int times);
  const GemvPhase& phase(int number) const { return plan_.phases[std::size_t(number)]; }
  i64 bytes() const override { return vectors_.bytes(); }

  /// A product in steps, on its streams: of each phase begin() and all items, then end(). What comes before them on the first
  /// stream is waited for, and what comes after them there waits.
  void begin(int phase);
  virtual i64 items(int phase) const = 0;
  void launch(int phase, i64 item) { start_item(phase, item, int(item % streams())); }
  void end();
  cudaStream_t stream(int s = 0) const { return streams_[std::size_t(s)]; }
  double* x() const { return vectors_.data(); }
  double* y() const { return vectors_.data() + plan_.result; }

 protected:
  /// Each of several copies of y is added to by itself; they are added up at the end.
  PaperProduct(const HMatrix& matrix, GemvBatches plan, int streams, int copies);
  virtual void start_item(int phase, i64 item, int stream) = 0;
  int streams() const { return int(streams_.size()); }
  i64 span() const { return plan_.places - plan_.result; }  // of a copy of y

  const GemvBatches plan_;
  DeviceArray<double> vectors_;

 private:
  void make_streams(int count);
  void free_streams();
  void multiply();
  double timed(int times, const std::function<void()>& work);  // seconds of one, on the first stream
  void meet();

  i64 n_;
  int copies_;
  std::vector<cudaStream_t> streams_;
  std::vector<cudaEvent_t> arrived_;              // [streams]
  cudaEvent_t first_ = nullptr, last_ = nullptr;  // of a measurement
};

/// Batches of gemvs, of sizes from a table, or of fixed ones where the plan is padded. Batches are dealt to streams in turn.
/// `values` are the plan's, and must outlive it.
std::unique_ptr<PaperProduct> batch_product(const HMatrix& matrix, GemvBatches plan, const DeviceValues& values, bool fixed,
                                            Subgrid subgrid, int streams);
/// A call of cuBLAS for each gemv, dealt to streams in turn. It adds without atomic operations, so each stream has a y of its
/// own.
std::unique_ptr<PaperProduct> cublas_product(const HMatrix& matrix, GemvBatches plan, const DeviceValues& values,
                                             const Cublas& library, int streams);

}  // namespace sordino::hmatrix
