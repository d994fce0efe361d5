// A product with an H-matrix on several GPUs of one process as the paper has it (000, section VI-A): for comparison. Ours is
// HMatrixOperator, a rank for each GPU.
#pragma once
#include "sordino/hmatrix/cuda/paper_products.hpp"

namespace sordino::hmatrix {

/// Batches of the first phase are dealt to the devices in turn, and U goes where its V is (deal() in gemv_batches.hpp). x is on
/// each device. Their y are sums of what each has: the first device copies them to itself, one after the other, adds them up,
/// and all others copy the sum, so that y is on each device, too. One thread launches all of it, an item on each device in
/// turn, and waits for none of it: what comes later on a device waits for others by events.
class PaperDevices final : public MeasuredProduct {
 public:
  /// Batches of variable sizes, on so many streams of each device, by CUDA numbers. Memory of all devices together: the matrix
  /// once; of each x and y, and of the first y again. Throws `unsupported` for too little of it.
  PaperDevices(const HMatrix& matrix, const GemvOptions& options, const std::vector<int>& devices, int streams);
  ~PaperDevices() override;

  std::vector<double> result_of(const std::vector<double>& x) override;
  double seconds(int products) override;
  i64 launches() const override;
  i64 bytes() const override;  // with the values

 private:
  struct Device;
  void multiply();
  void add_up();
  void broadcast();

  i64 n_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::unique_ptr<DeviceArray<double>> brought_;  // on the first device: y of another one; none of a device alone
};

}  // namespace sordino::hmatrix
