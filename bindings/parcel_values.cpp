#include "bindings/parcel_values.hpp"

#include <cstring>
#include <vector>

#include <lua.hpp>

#include "bindings/lua_codec.hpp"
#include "bindings/lua_tensor.hpp"
#include "host/wire/packer.hpp"

namespace actorhost {

namespace {

// about = form:u8 ...
//   tensor   dtype:u8 shape                  body: its elements
//   value    encoded:u64 count:u32 {dtype:u8 shape}   body: the encoding, and each tensor at the next multiple of 64
// shape = dims:u8 {size:i64}
enum class Form : uint8_t { tensor, value };

size_t aligned(size_t size) { return (size + kBlobAlignment - 1) / kBlobAlignment * kBlobAlignment; }

void put_geometry(Packer& out, const TensorValue& tensor) {
  out.put(static_cast<uint8_t>(tensor.dtype)).put(static_cast<uint8_t>(tensor.shape.size()));
  for (const int64_t size : tensor.shape) out.put(size);
}

bool get_geometry(Unpacker& in, TensorValue& tensor, size_t& bytes) {
  const auto dtype = in.get<uint8_t>();
  tensor.dtype = dtype == 0 ? kernel::Dtype::f32 : kernel::Dtype::f64;
  tensor.shape.resize(in.get<uint8_t>());
  for (int64_t& size : tensor.shape) size = in.get<int64_t>();
  const auto wanted = tensor_bytes(tensor.dtype, tensor.shape);
  bytes = wanted.value_or(0);
  return in.ok() && dtype <= 1 && wanted.has_value();
}

Error malformed() { return {Code::bad_data, "a value that another rank sent cannot be read"}; }

Status push_value(lua_State* L, Unpacker& in, const Blob& body) {
  const auto encoded = in.get<uint64_t>();
  const uint32_t count = in.count(2);
  if (!in.ok() || encoded > body.size()) return malformed();
  const int top = lua_gettop(L);
  lua_createtable(L, static_cast<int>(count), 0);
  size_t at = aligned(encoded);
  for (uint32_t i = 1; i <= count; ++i) {
    TensorValue tensor;
    size_t bytes = 0;
    if (!get_geometry(in, tensor, bytes) || at > body.size() || bytes > body.size() - at) {
      lua_settop(L, top);
      return malformed();
    }
    tensor.bytes = body.slice(at, bytes);
    at += aligned(bytes);
    push_tensor(L, std::move(tensor));
    lua_rawseti(L, -2, static_cast<int>(i));
  }
  Status decoded = in.done() ? decode_value(L, body.view().substr(0, encoded), top + 1) : Status(malformed());
  if (!decoded.ok()) {
    lua_settop(L, top);
    return decoded;
  }
  lua_remove(L, top + 1);
  return {};
}

}  // namespace

Result<Parcel> to_parcel(lua_State* L, int index, const char* name) {
  Packer about;
  if (is_tensor(L, index)) {
    TensorValue tensor = tensor_at(L, index);
    about.put(Form::tensor);
    put_geometry(about, tensor);
    return Parcel{std::move(about).bytes(), std::move(tensor.bytes)};
  }
  auto encoded = encode_value(L, index, name);
  if (!encoded) return encoded.error();
  about.put(Form::value).put(static_cast<uint64_t>(encoded->bytes.size())).put(encoded->tensors);
  std::vector<TensorValue> tensors;
  size_t total = aligned(encoded->bytes.size());
  for (uint32_t i = 1; i <= encoded->tensors; ++i) {
    lua_rawgeti(L, -1, static_cast<int>(i));
    tensors.push_back(tensor_at(L, -1));
    lua_pop(L, 1);
    put_geometry(about, tensors.back());
    total += aligned(tensors.back().bytes.size());
  }
  lua_pop(L, 1);
  if (tensors.empty()) return Parcel{std::move(about).bytes(), Blob::copy_of(encoded->bytes)};
  Blob body = Blob::allocate(total);
  size_t at = 0;
  const auto put = [&](const void* bytes, size_t size) {
    if (size > 0) std::memcpy(body.data() + at, bytes, size);
    std::memset(body.data() + at + size, 0, aligned(size) - size);  // what travels is never memory of before
    at += aligned(size);
  };
  put(encoded->bytes.data(), encoded->bytes.size());
  for (const TensorValue& tensor : tensors) put(tensor.bytes.data(), tensor.bytes.size());
  return Parcel{std::move(about).bytes(), std::move(body)};
}

Status push_parcel(lua_State* L, Parcel parcel) {
  Unpacker in(parcel.about);
  const auto form = in.get<Form>();
  if (form == Form::value) return push_value(L, in, parcel.body);
  TensorValue tensor;
  size_t bytes = 0;
  if (form != Form::tensor || !get_geometry(in, tensor, bytes) || !in.done() || bytes != parcel.body.size()) {
    return malformed();
  }
  tensor.bytes = std::move(parcel.body);
  push_tensor(L, std::move(tensor));
  return {};
}

}  // namespace actorhost
