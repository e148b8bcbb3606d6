#include "host/wire/carried_value.hpp"

#include <cstring>
#include <optional>

#include "host/wire/message.hpp"

namespace actorhost {

namespace {

enum class Form : uint8_t { nil, tensor, small, mixed };

constexpr size_t kAlignment = 8;

constexpr size_t padded(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

Error malformed_value() { return {Code::bad_data, "malformed value"}; }

PackedValue pack_tensor(Tensor tensor) {
  Packer head;
  FieldPacker{head}(Form::tensor, static_cast<const TensorLayout&>(tensor));
  return {std::move(head).bytes(), std::move(tensor.data)};
}

PackedValue pack_mixed(const LuaValue& value) {
  Packer head;
  FieldPacker put{head};
  put(Form::mixed, uint64_t{value.encoded.size()}, static_cast<uint32_t>(value.tensors.size()));
  size_t size = value.encoded.size();
  for (const Tensor& tensor : value.tensors) {
    put(static_cast<const TensorLayout&>(tensor));
    if (!tensor.data.empty()) size = padded(size) + tensor.data.size();
  }
  Blob body = Blob::allocate(size);
  size_t at = value.encoded.size();
  if (at > 0) std::memcpy(body.data(), value.encoded.data(), at);
  for (const Tensor& tensor : value.tensors) {
    if (tensor.data.empty()) continue;
    const size_t from = padded(at);
    std::memset(body.data() + at, 0, from - at);
    std::memcpy(body.data() + from, tensor.data.data(), tensor.data.size());
    at = from + tensor.data.size();
  }
  return {std::move(head).bytes(), std::move(body)};
}

/// Reads consecutive parts of a body.
class BodyReader {
 public:
  BodyReader(std::string_view body, const Blob* whole) : body_(body), whole_(whole) {}

  /// The next `size` bytes at the next aligned offset; nothing if the body is too short.
  std::optional<Blob> take(uint64_t size) {
    const size_t from = padded(at_);
    if (size == 0) return Blob();
    if (from > body_.size() || size > body_.size() - from) return std::nullopt;
    at_ = from + size;
    return whole_ != nullptr ? whole_->slice(from, size) : Blob::copy_of(body_.substr(from, size));
  }
  bool done() const noexcept { return at_ == body_.size(); }

 private:
  std::string_view body_;
  const Blob* whole_;
  size_t at_ = 0;
};

/// Reads a layout from `in` and its elements from `body`.
std::optional<Tensor> take_tensor(Unpacker& in, BodyReader& body) {
  Tensor tensor;
  FieldUnpacker{in}(static_cast<TensorLayout&>(tensor));
  if (!in.ok()) return std::nullopt;
  auto data = body.take(tensor.bytes());
  if (!data) return std::nullopt;
  tensor.data = std::move(*data);
  return tensor;
}

std::optional<LuaValue> take_mixed(Unpacker& in, BodyReader& body) {
  const auto size = in.get<uint64_t>();
  const uint32_t count = in.count(2);
  auto encoded = in.ok() ? body.take(size) : std::nullopt;
  if (!encoded) return std::nullopt;
  LuaValue value{std::move(*encoded), {}};
  for (uint32_t i = 0; i < count; ++i) {
    auto tensor = take_tensor(in, body);
    if (!tensor) return std::nullopt;
    value.tensors.push_back(std::move(*tensor));
  }
  return value;
}

}  // namespace

PackedValue pack_small(std::string_view encoded) {
  std::string head(1, static_cast<char>(Form::small));
  head.append(encoded);
  return {std::move(head), {}};
}

std::string_view small_encoding(const PackedValue& value) noexcept {
  const bool small = !value.head.empty() && value.head[0] == static_cast<char>(Form::small) && value.body.empty();
  return small ? std::string_view(value.head).substr(1) : std::string_view();
}

PackedValue pack_value(CarriedValue value) {
  if (auto* tensor = std::get_if<Tensor>(&value)) return pack_tensor(std::move(*tensor));
  const auto* lua = std::get_if<LuaValue>(&value);
  if (lua == nullptr) return {std::string(1, static_cast<char>(Form::nil)), {}};
  if (lua->tensors.empty() && is_small(lua->encoded.size())) return pack_small(lua->encoded.view());
  return pack_mixed(*lua);
}

std::string pack_row(const PackedValue& value) {
  Packer out;
  out.put(kPackedRow).put(value.head);
  std::string row = std::move(out).bytes();
  row.append(value.body.view());
  return row;
}

Result<CarriedValue> unpack_row(std::string_view row) {
  if (!is_packed_row(row)) return malformed_value();
  Unpacker in(row.substr(1));
  const std::string_view head = in.text();
  if (!in.ok()) return malformed_value();
  return unpack_value(head, in.rest(), nullptr);
}

Result<CarriedValue> unpack_value(std::string_view head, std::string_view body, const Blob* whole) {
  Unpacker in(head);
  BodyReader parts(body, whole);
  const auto form = in.get<Form>();
  CarriedValue value;
  bool good = in.ok();
  if (form == Form::tensor) {
    auto tensor = take_tensor(in, parts);
    good = tensor.has_value();
    if (good) value = std::move(*tensor);
  } else if (form == Form::small) {
    value = LuaValue{Blob::copy_of(in.rest()), {}};
    in = Unpacker({});
  } else if (form == Form::mixed) {
    auto mixed = take_mixed(in, parts);
    good = mixed.has_value();
    if (good) value = std::move(*mixed);
  } else {
    good = good && form == Form::nil;
  }
  if (!good || !in.done() || !parts.done()) return malformed_value();
  return value;
}

}  // namespace actorhost
