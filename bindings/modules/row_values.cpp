#include "bindings/modules/row_values.hpp"

#include <string>
#include <string_view>

#include "bindings/modules/lua_tensor.hpp"
#include "bindings/vm/lua_codec.hpp"
#include "bindings/vm/lua_support.hpp"
#include "host/wire/packer.hpp"

namespace actorhost {

//   packed = kPackedMark codec:text count:u32 *tensor
//   tensor = dtype:u8 dimensions:u8 *size:i64 data:text64
//   text64 = size:u64 bytes

namespace {

constexpr uint8_t kMostDimensions = 8;

void put_tensor(Packer& out, std::string& bytes, const TensorValue& tensor) {
  out.put(static_cast<uint8_t>(tensor.dtype)).put(static_cast<uint8_t>(tensor.shape.size()));
  for (const int64_t size : tensor.shape) out.put(size);
  out.put(static_cast<uint64_t>(tensor.bytes.size()));
  bytes.append(out.bytes());
  bytes.append(tensor.bytes.view());
  out = Packer();
}

/// False when the bytes are no tensor; else it is pushed and taken off `bytes`.
bool take_tensor(lua_State* L, std::string_view& bytes) {
  Unpacker in(bytes);
  TensorValue tensor;
  const auto dtype = in.get<uint8_t>();
  const auto dimensions = in.get<uint8_t>();
  if (!in.ok() || dimensions > kMostDimensions || dtype > static_cast<uint8_t>(kernel::Dtype::f64)) return false;
  tensor.dtype = static_cast<kernel::Dtype>(dtype);
  for (uint8_t i = 0; i < dimensions; ++i) tensor.shape.push_back(in.get<int64_t>());
  const auto size = in.get<uint64_t>();
  const auto expected = tensor_bytes(tensor.dtype, tensor.shape);
  if (!in.ok() || !expected || *expected != size || in.rest().size() < size) return false;
  tensor.bytes = Blob::copy_of(in.rest().substr(0, size));
  bytes = in.rest().substr(size);
  push_tensor(L, std::move(tensor));
  return true;
}

}  // namespace

int pack_value(lua_State* L) {
  lua_settop(L, 1);
  auto encoded = encode_value(L, 1, "row");
  if (!encoded) raise_at_user(L, encoded.error().message);
  std::string bytes(1, static_cast<char>(kPackedMark));
  Packer part;
  part.put(encoded->bytes).put(encoded->tensors);
  bytes.append(part.bytes());
  part = Packer();
  for (uint32_t i = 1; i <= encoded->tensors; ++i) {
    lua_rawgeti(L, -1, static_cast<int>(i));
    put_tensor(part, bytes, tensor_at(L, -1));
    lua_pop(L, 1);
  }
  lua_pushlstring(L, bytes.data(), bytes.size());
  return 1;
}

int unpack_value(lua_State* L) {
  std::string_view bytes = check_text(L, 1, "bytes", "unpack");
  const auto damaged = [L] { return push_failure(L, {Code::bad_data, "a packed value is damaged"}); };
  if (bytes.empty() || static_cast<unsigned char>(bytes[0]) != kPackedMark) return damaged();
  Unpacker in(bytes.substr(1));
  const std::string_view encoded = in.text();
  const auto count = in.get<uint32_t>();
  if (!in.ok()) return damaged();
  bytes = in.rest();
  lua_newtable(L);
  const int tensors = lua_gettop(L);
  for (uint32_t i = 1; i <= count; ++i) {
    if (!take_tensor(L, bytes)) return damaged();
    lua_rawseti(L, tensors, static_cast<int>(i));
  }
  if (auto decoded = decode_value(L, encoded, tensors); !decoded) return push_failure(L, decoded.error());
  return 1;
}

}  // namespace actorhost
