#include "bindings/modules/engine/lua_filter.hpp"

#include <map>
#include <string>

#include "bindings/modules/array/lua_tensor.hpp"
#include "bindings/modules/engine/param_options.hpp"
#include "bindings/modules/engine/param_values.hpp"
#include "bindings/vm/lua_support.hpp"
#include "host/kernel/strided.hpp"
#include "host/wire/packer.hpp"

namespace actorhost {

namespace {

constexpr const char* kFilterModule = "actor.filter";
/// The largest tensor that can be encoded or decoded: a few bytes may claim many elements.
constexpr size_t kMaxBytes = size_t{1} << 30;

/// A Lua filter's state beside its description: scratch memory, and the residuals of error feedback by key.
struct FilterState {
  Filter filter;
  std::map<ParamKey, FilterResidual> residuals;
};

FilterState& state_at(lua_State* L, int index) { return *object_at<FilterState>(L, index, kFilterModule); }

/// open(description) -> state
int make_filter(lua_State* L) {
  check_table(L, 1, "description", "open");
  auto& state = push_object<FilterState>(L, kFilterModule);
  state.reset(new FilterState{Filter(filter_at(L, 1)), {}});
  return 1;
}

/// encode(state, tensor, key) -> string, bytes of the tensor. The string: layout filtered; the layout as in
/// host/base/tensor.hpp.
int encode(lua_State* L) {
  FilterState& state = state_at(L, 1);
  const Tensor tensor = tensor_at(L, 2);
  const auto count = static_cast<uint64_t>(tensor.shape.elements());
  if (!is_floating(tensor.dtype)) {
    raise_at_user(L, std::string("filter:encode: a tensor of ") + dtype_name(tensor.dtype) +
                         "; filters are for float32 and float64: convert it with t:to('float32')");
  }
  if (tensor.data.size() > kMaxBytes) {
    raise_at_user(L, "filter:encode: a tensor of more than 1 GiB; encode its parts");
  }
  void* residual = nullptr;
  if (state.filter.spec().feedback) {
    ParamKey key;
    if (!lua_isnoneornil(L, 3)) key = take(L, param_key_at(L, 3, "filter:encode: key"));
    residual = state.residuals[key].fit(tensor.dtype, count);
  }
  const Blob filtered = state.filter.encode(tensor.dtype, count, tensor.data.data(), residual);
  std::string bytes = pack(static_cast<const TensorLayout&>(tensor));
  bytes.append(filtered.view());
  lua_pushlstring(L, bytes.data(), bytes.size());
  lua_pushnumber(L, static_cast<lua_Number>(tensor.data.size()));
  return 2;
}

Result<Tensor> decoded(std::string_view bytes) {
  const Error bad{Code::bad_data, "filter.decode: the bytes are no filter's encoding"};
  Unpacker in(bytes);
  Tensor tensor;
  FieldUnpacker{in}(static_cast<TensorLayout&>(tensor));
  if (!in.ok() || !is_floating(tensor.dtype) || tensor.bytes() > kMaxBytes) return bad;
  tensor.data = Blob::allocate(tensor.bytes());
  const auto count = static_cast<uint64_t>(tensor.shape.elements());
  AH_TRY(decode_filtered(in.rest(), tensor.dtype, count, tensor.data.data()));
  return tensor;
}

/// decode(string) -> tensor; or nil, message, code
int decode(lua_State* L) {
  auto tensor = decoded(check_text(L, 1, "bytes", "filter.decode"));
  if (!tensor) return push_failure(L, tensor.error());
  push_tensor(L, std::move(*tensor));
  return 1;
}

/// reset(state): discards the residuals of error feedback
int reset(lua_State* L) {
  state_at(L, 1).residuals.clear();
  return 0;
}

}  // namespace

FilterSpec filter_at(lua_State* L, int index) {
  FilterSpec out;
  if (!lua_istable(L, index)) return out;
  // A description is a table, so the script may have changed it.
  const auto whole = [&](const char* name, uint32_t otherwise) {
    const double value = number_field(L, index, name, otherwise);
    if (value >= 0 && value <= UINT32_MAX) return static_cast<uint32_t>(value);
    raise_at_user(L, std::string("filter: ") + name + " is out of its range");
  };
  out.fraction = number_field(L, index, "fraction", 0);
  out.count = whole("count", 0);
  out.block = whole("block", out.block);
  out.random = boolean_field(L, index, "random");
  out.feedback = boolean_field(L, index, "feedback");
  const std::string values = text_field(L, index, "values");
  if (values == "fp16") out.values = FilterSpec::Values::half;
  if (values == "sign") out.values = FilterSpec::Values::sign;
  if (values == "int8") out.values = FilterSpec::Values::levels;
  if (const Status right = check(out); !right.ok()) raise_at_user(L, right.error().message);
  return out;
}

void open_filter(Vm& vm) {
  static constexpr luaL_Reg kFunctions[] = {
      {"open", guarded<make_filter>},
      {"encode", guarded<encode>},
      {"decode", guarded<decode>},
      {"reset", guarded<reset>},
  };
  vm.register_module("actor.c.filter", open_functions<kFunctions>);
}

}  // namespace actorhost
