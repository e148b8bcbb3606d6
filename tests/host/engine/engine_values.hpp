#pragma once
// Helpers that make keys, tensors and entries for the tests of host/engine.

#include "host/base/random.hpp"
#include "host/engine/values/value.hpp"
#include "tests/test.hpp"

namespace actorhost {

inline ParamKey key_of(double number) { return ParamKey::of(number).value(); }
inline ParamKey key_of(const char* text) { return ParamKey::of(std::string_view(text)).value(); }

inline Shape shape_of(const std::vector<int64_t>& dims) { return Shape::of(dims).value(); }

template <typename T>
ParamTensor tensor_of(const std::vector<T>& values, std::vector<int64_t> dims = {}) {
  if (dims.empty()) dims = {static_cast<int64_t>(values.size())};
  return ParamTensor::whole({sizeof(T) == 4 ? Dtype::f32 : Dtype::f64, shape_of(dims)},
                            Blob::copy_of(values.data(), values.size() * sizeof(T)));
}

/// The elements of a Tensor or a ParamTensor.
template <typename T = float>
std::vector<T> values_of(const auto& tensor) {
  std::vector<T> out(tensor.data.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), tensor.data.data(), tensor.data.size());
  return out;
}

inline std::vector<float> random_floats(Rng& rng, size_t n) {
  std::vector<float> out(n);
  for (float& x : out) x = static_cast<float>(rng.normal());
  return out;
}

/// A whole tensor, for functions without parts.
inline Tensor plain(ParamTensor whole) { return {whole, std::move(whole.data)}; }

inline LuaValue lua_of(const char* encoded) { return {Blob::copy_of(std::string_view(encoded)), {}}; }

/// The pieces of `tensor` as sent to a shard.
inline std::vector<ParamEntry> pieces_of(const ParamKey& key, const ParamTensor& tensor, const ElementRange& range) {
  std::vector<ParamEntry> out;
  for_each_chunk(cut(tensor, range), [&](ParamTensor piece) { out.push_back({key, std::move(piece), 0}); });
  return out;
}

}  // namespace actorhost
