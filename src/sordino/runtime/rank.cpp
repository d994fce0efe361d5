#include "sordino/runtime/rank.hpp"

namespace sordino {

Rank::Rank(Engine& engine, int rank) : engine_(engine), rank_(rank), under_way_(std::make_shared<UnderWay>()) {
  under_way_->rank = this;
}

int Rank::add_space(Space space) {
  space.id = int(spaces_.size());
  spaces_.push_back(std::move(space));
  return spaces_.back().id;
}

Vec Rank::wrap(std::string name, int space, double* storage, const Exchange* exchange) {
  if (!storage) bad_argument("vector '" + name + "' is to lie in memory of the caller's, which is null");
  return vector(std::move(name), space, exchange, storage);
}

Vec Rank::vector(std::string name, int space, const Exchange* exchange, double* callers) {
  check_idle("a vector is made");
  int id = int(vectors_.size());
  vectors_.push_back({std::move(name), space, exchange, i64(spaces_[space].rows) + (exchange ? exchange->ghosts : 0), callers});
  vector_map_.push_back(id);
  pushed.push_back(0);
  seen.push_back(0);
  try {
    engine_.allocate(*this, id);
  } catch (...) {  // the name never was
    vectors_.pop_back();
    vector_map_.pop_back();
    pushed.pop_back();
    seen.pop_back();
    throw;
  }
  return {id};
}

Scal Rank::scalar(std::string name, double value, bool known) {
  check_idle("a scalar is made");
  int id = int(scalar_names_.size());
  scalar_names_.push_back(std::move(name));
  scalar_map_.push_back(id);
  reduction_of_.push_back(-1);
  scalar_values.push_back(value);
  scalar_known.push_back(known);
  if (known) engine_.set_scalar(*this, id, value);
  return {id};
}

void Rank::write(Vec v, const double* host) {
  check_idle("a vector is written");
  require_at_rest(v, "a vector is written");
  engine_.write(*this, vector_map_[v.id], host, spaces_[vectors_[v.id].space].rows);
}

void Rank::read(Vec v, double* host) {
  check_idle("a vector is read");
  require_at_rest(v, "a vector is read");
  engine_.read(*this, vector_map_[v.id], host, spaces_[vectors_[v.id].space].rows);
}

void Rank::set(Scal s, double value) {
  check_idle("a scalar is set");
  engine_.set_scalar(*this, scalar_map_[s.id], value);
}

double Rank::get(Scal s) {
  check_idle("a scalar is read");
  return engine_.get_scalar(*this, scalar_map_[s.id]);
}

void Rank::reset_names() {
  check_idle("names are reset");
  require_no_copies("names are reset, and that of a vector");
  for (std::size_t i = 0; i < vector_map_.size(); i++) vector_map_[i] = int(i);
  for (std::size_t i = 0; i < scalar_map_.size(); i++) scalar_map_[i] = int(i);
}

}  // namespace sordino
