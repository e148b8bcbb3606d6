#include "bindings/modules/packed_values.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <lua.hpp>

#include "bindings/modules/lua_tensor.hpp"
#include "bindings/vm/lua_codec.hpp"
#include "host/base/copy.hpp"
#include "host/wire/frame.hpp"
#include "host/wire/packer.hpp"

namespace actorhost {

namespace {

enum class Form : uint8_t { nil, tensor = kPackedTensor, small, mixed };

constexpr size_t kSmall = 1024;  // bytes of an encoding that goes into the head
constexpr uint8_t kMaxRank = 8;
constexpr uint64_t kMaxDim = uint64_t{1} << 48;

constexpr size_t padded(size_t bytes) { return (bytes + kBodyAlignment - 1) / kBodyAlignment * kBodyAlignment; }

Error malformed() { return {Code::bad_data, "what has come is not a value"}; }

void put_layout(Packer& out, const TensorValue& tensor) {
  out.put(static_cast<uint8_t>(tensor.dtype)).put(static_cast<uint8_t>(tensor.shape.size()));
  for (const int64_t dim : tensor.shape) out.put(static_cast<uint64_t>(dim));
}

/// The layout, and in `bytes` how many bytes its elements take; nothing when it is none.
std::optional<TensorValue> get_layout(Unpacker& in, size_t& bytes) {
  TensorValue tensor;
  const auto dtype = in.get<uint8_t>();
  const auto rank = in.get<uint8_t>();
  if (!in.ok() || dtype > static_cast<uint8_t>(kernel::Dtype::f64) || rank > kMaxRank) return std::nullopt;
  tensor.dtype = static_cast<kernel::Dtype>(dtype);
  for (uint8_t i = 0; i < rank; ++i) {
    const auto dim = in.get<uint64_t>();
    if (dim > kMaxDim) return std::nullopt;
    tensor.shape.push_back(static_cast<int64_t>(dim));
  }
  const auto size = tensor_bytes(tensor.dtype, tensor.shape);
  if (!in.ok() || !size) return std::nullopt;
  bytes = *size;
  return tensor;
}

void push_whole(lua_State* L, TensorValue tensor) {
  if (!tensor.bytes.empty() && !tensor.bytes.unique()) {
    tensor.bytes = Blob::copy_of(tensor.bytes.data(), tensor.bytes.size());
  }
  push_tensor(L, std::move(tensor));
}

/// Pushes the array of the tensors that begin at `at`.
Status push_tensors(lua_State* L, Unpacker& in, uint32_t count, const Blob& body, size_t at) {
  std::vector<TensorValue> tensors;
  for (uint32_t i = 0; i < count; ++i) {
    size_t bytes = 0;
    auto tensor = get_layout(in, bytes);
    const size_t from = padded(at);
    if (!tensor || (bytes > 0 && (from > body.size() || bytes > body.size() - from))) return malformed();
    if (bytes > 0) tensor->bytes = body.slice(from, bytes);
    if (bytes > 0) at = from + bytes;
    tensors.push_back(std::move(*tensor));
  }
  if (!in.done()) return malformed();
  lua_createtable(L, static_cast<int>(count), 0);
  for (uint32_t i = 0; i < count; ++i) {
    push_whole(L, std::move(tensors[i]));
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
  return {};
}

Status push_mixed(lua_State* L, Unpacker& in, const Blob& body) {
  const auto size = in.get<uint64_t>();
  const uint32_t count = in.count(2);
  if (!in.ok() || size > body.size()) return malformed();
  AH_TRY(push_tensors(L, in, count, body, size));
  const int tensors = lua_gettop(L);
  Status decoded = decode_value(L, body.view().substr(0, size), tensors);
  lua_remove(L, tensors);
  return decoded;
}

/// What is nothing but a tensor.
Result<TensorValue> read_tensor(PackedValue value) {
  Unpacker in(value.head);
  const auto form = in.get<Form>();
  size_t bytes = 0;
  auto tensor = get_layout(in, bytes);
  if (form != Form::tensor || !tensor || !in.done() || bytes != value.body.size()) return malformed();
  tensor->bytes = std::move(value.body);
  return std::move(*tensor);
}

bool same_rows(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  return a.size() == b.size() && std::equal(a.begin() + 1, a.end(), b.begin() + 1);
}

/// The bytes of all behind each other; takes them.
Blob join(std::vector<TensorValue>& parts) {
  Blob whole;
  size_t total = 0;
  bool lie_so = true;
  for (TensorValue& part : parts) {
    total += part.bytes.size();
    if (part.bytes.empty()) continue;
    if (whole.empty()) {
      whole = part.bytes;
    } else {
      lie_so = lie_so && whole.extend(part.bytes);
    }
  }
  if (!lie_so) {
    whole = Blob::allocate(total);
    std::byte* to = whole.data();
    for (const TensorValue& part : parts) {
      copy_bytes(to, part.bytes.data(), part.bytes.size(), total);
      to += part.bytes.size();
    }
  }
  parts.clear();  // so that the block has one holder
  return whole;
}

/// The encoding and the tensors behind each other.
PackedValue mixed(const std::string& encoding, const std::vector<TensorValue>& tensors) {
  Packer head;
  head.put(Form::mixed).put(static_cast<uint64_t>(encoding.size())).put(static_cast<uint32_t>(tensors.size()));
  size_t size = encoding.size();
  for (const TensorValue& tensor : tensors) {
    put_layout(head, tensor);
    if (!tensor.bytes.empty()) size = padded(size) + tensor.bytes.size();
  }
  Blob body = Blob::allocate(size);
  std::memcpy(body.data(), encoding.data(), encoding.size());
  size_t at = encoding.size();
  for (const TensorValue& tensor : tensors) {
    if (tensor.bytes.empty()) continue;
    const size_t from = padded(at);
    std::memset(body.data() + at, 0, from - at);
    std::memcpy(body.data() + from, tensor.bytes.data(), tensor.bytes.size());
    at = from + tensor.bytes.size();
  }
  return {std::move(head).bytes(), std::move(body)};
}

}  // namespace

Result<PackedValue> pack_value(lua_State* L, int index, const std::string& what, bool share) {
  Packer head;
  if (lua_isnoneornil(L, index)) return PackedValue{std::move(head.put(Form::nil)).bytes(), {}};
  if (is_tensor(L, index)) {
    TensorValue tensor = tensor_at(L, index, !share);
    put_layout(head.put(Form::tensor), tensor);
    return PackedValue{std::move(head).bytes(), std::move(tensor.bytes)};
  }
  auto encoded = encode_value(L, index, "value");
  if (!encoded) return Error{Code::bad_argument, what + ": " + encoded.error().message};
  std::vector<TensorValue> tensors;
  for (uint32_t i = 1; i <= encoded->tensors; ++i) {
    lua_rawgeti(L, -1, static_cast<int>(i));
    tensors.push_back(tensor_at(L, -1));
    lua_pop(L, 1);
  }
  // The array keeps the tensors' memory until it has been copied.
  PackedValue packed = tensors.empty() && encoded->bytes.size() <= kSmall
                           ? PackedValue{std::move(head.put(Form::small)).bytes() + encoded->bytes, {}}
                           : mixed(encoded->bytes, tensors);
  lua_pop(L, 1);
  return packed;
}

Status push_packed(lua_State* L, PackedValue value) {
  Unpacker in(value.head);
  const auto form = in.get<Form>();
  if (!in.ok()) return malformed();
  if (form == Form::small) return decode_value(L, in.rest());
  if (form == Form::mixed) return push_mixed(L, in, value.body);
  if (form == Form::nil) {
    if (!in.done()) return malformed();
    lua_pushnil(L);
    return {};
  }
  auto tensor = read_tensor(std::move(value));
  if (!tensor) return tensor.error();
  push_whole(L, std::move(*tensor));
  return {};
}

Status push_rows(lua_State* L, std::vector<PackedValue> parts) {
  std::vector<TensorValue> tensors;
  for (PackedValue& part : parts) {
    auto tensor = read_tensor(std::move(part));
    if (!tensor) return tensor.error();
    if (tensor->shape.empty()) tensor->shape.push_back(1);
    const TensorValue& first = tensors.empty() ? *tensor : tensors.front();
    if (tensor->dtype != first.dtype || !same_rows(tensor->shape, first.shape)) return malformed();
    tensors.push_back(std::move(*tensor));
  }
  if (tensors.empty()) return malformed();
  TensorValue whole{{}, tensors.front().dtype, tensors.front().shape};
  whole.shape[0] = 0;
  for (const TensorValue& tensor : tensors) whole.shape[0] += tensor.shape[0];
  if (!tensor_bytes(whole.dtype, whole.shape)) return malformed();
  whole.bytes = join(tensors);
  push_whole(L, std::move(whole));
  return {};
}

}  // namespace actorhost
