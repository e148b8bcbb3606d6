#include "bindings/commands/c_values.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <utility>

namespace actorhost {

namespace {

constexpr int kMostDepth = 100;
constexpr uint8_t kBoolCode = 6;  // kDLBool of newer versions of DLPack

struct DeleteManaged {
  void operator()(DLManagedTensor* tensor) const {
    if (tensor->deleter != nullptr) tensor->deleter(tensor);
  }
};
using Managed = std::unique_ptr<DLManagedTensor, DeleteManaged>;

struct TypeName {
  Dtype dtype;
  uint8_t code;
  uint8_t bits;
};
constexpr std::array<TypeName, 6> kTypes = {{{Dtype::f32, kDLFloat, 32},
                                             {Dtype::f64, kDLFloat, 64},
                                             {Dtype::i32, kDLInt, 32},
                                             {Dtype::i64, kDLInt, 64},
                                             {Dtype::u8, kDLUInt, 8},
                                             {Dtype::b8, kBoolCode, 8}}};

/// "float16", for messages.
std::string type_name(const DLDataType& type) {
  static constexpr const char* kNames[] = {"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
  std::string name = type.code < std::size(kNames) ? kNames[type.code] : "type " + std::to_string(type.code) + " of ";
  name += std::to_string(type.bits);
  return type.lanes == 1 ? name : name + "x" + std::to_string(type.lanes);
}

std::optional<Dtype> dtype_of(const DLDataType& type) {
  if (type.lanes != 1) return std::nullopt;
  for (const TypeName& known : kTypes) {
    if (known.code == type.code && known.bits == type.bits) return known.dtype;
  }
  return std::nullopt;
}

bool contiguous(const DLTensor& tensor) {
  if (tensor.strides == nullptr) return true;
  if (std::find(tensor.shape, tensor.shape + tensor.ndim, 0) != tensor.shape + tensor.ndim) return true;
  int64_t step = 1;
  for (int d = tensor.ndim - 1; d >= 0; --d) {
    if (tensor.shape[d] != 1 && tensor.strides[d] != step) return false;
    step *= tensor.shape[d];
  }
  return true;
}

/// Reads a tree of values. Goes on after a failure, so that it takes over every tensor.
class Reader {
 public:
  ProgramValue read(const ah_value& value, const std::string& name, int depth) {
    switch (value.type) {
      case AH_NIL: return {};
      case AH_BOOLEAN: return {value.boolean != 0};
      case AH_NUMBER: return {value.number};
      case AH_INTEGER: return {value.integer};
      case AH_TEXT: return text(value, name);
      case AH_LIST: return {items(value, value.size, name, depth)};
      case AH_MAP: return {ProgramValue::Map{items(value, 2 * value.size, name, depth)}};
      case AH_TENSOR: return tensor(value, name);
      default:
        return fail(name + " has the type " + std::to_string(value.type) + ", which actorhost.h does not define");
    }
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  ProgramValue fail(const std::string& why) {
    if (!error_) error_ = Error{Code::bad_argument, why};
    return {};
  }

  ProgramValue text(const ah_value& value, const std::string& name) {
    if (value.text == nullptr && value.size > 0) return fail(name + " is a text without bytes (text is null)");
    return {std::string(value.text == nullptr ? "" : value.text, value.size)};
  }

  ProgramValue::List items(const ah_value& value, size_t count, const std::string& name, int depth) {
    ProgramValue::List list;
    if (count > 0 && value.items == nullptr) fail(name + " has no items (items is null)");
    if (depth > kMostDepth) fail(name + " is nested too deeply");
    if (value.items == nullptr || depth > kMostDepth) return list;
    list.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      const bool pairs = value.type == AH_MAP;
      list.push_back(read(value.items[i], name + "[" + std::to_string((pairs ? i / 2 : i) + 1) + "]", depth + 1));
      if (pairs && i % 2 == 0) check_key(list.back(), name);
      if (!pairs && std::holds_alternative<std::monostate>(list.back().value)) {
        fail(name + "[" + std::to_string(i + 1) + "] is nil, and an array of Lua has no holes");
      }
    }
    return list;
  }

  void check_key(const ProgramValue& key, const std::string& name) {
    const auto* number = std::get_if<double>(&key.value);
    const bool fits = std::holds_alternative<bool>(key.value) || std::holds_alternative<int64_t>(key.value) ||
                      std::holds_alternative<std::string>(key.value) || (number != nullptr && *number == *number);
    if (!fits) fail(name + " has a key other than a number, a text or a boolean");
  }

  ProgramValue tensor(const ah_value& value, const std::string& name) {
    if (value.tensor == nullptr) return fail(name + " is a tensor without elements (tensor is null)");
    Managed managed(value.tensor);
    const DLTensor& from = managed->dl_tensor;
    if (from.device.device_type != kDLCPU) {
      return fail(name + " is on another device than the CPU; copy it to the CPU first");
    }
    const auto dtype = dtype_of(from.dtype);
    if (!dtype) {
      return fail(name + " has elements of " + type_name(from.dtype) +
                  "; expected float32, float64, int32, int64, uint8 or bool");
    }
    if (from.ndim < 0 || (from.ndim > 0 && from.shape == nullptr)) return fail(name + " is a tensor without a shape");
    auto shape = Shape::of({from.shape, static_cast<size_t>(from.ndim)});
    if (!shape) return fail(name + ": " + shape.error().message);
    if (!contiguous(from)) {
      return fail(name + " is not contiguous: its elements are not one behind the other in row-major order; copy it");
    }
    Tensor out{{*dtype, *shape}, {}};
    if (out.bytes() == 0) return {std::move(out)};
    if (from.data == nullptr) return fail(name + " is a tensor without elements (data is null)");
    char* bytes = static_cast<char*>(from.data) + from.byte_offset;
    out.data = Blob::foreign(bytes, out.bytes(), [owner = std::shared_ptr<DLManagedTensor>(std::move(managed))] {});
    return {std::move(out)};
  }

  std::optional<Error> error_;
};

/// A tensor for the program, which calls the deleter.
struct Lent {
  DLManagedTensor managed{};
  Tensor tensor;
  Shape steps;
};

DLManagedTensor* lend(const Tensor& tensor) {
  auto lent = std::make_unique<Lent>();
  lent->tensor = tensor;
  Shape& shape = lent->tensor.shape;
  lent->steps = shape;
  int64_t step = 1;
  for (size_t d = shape.rank; d-- > 0; step *= shape[d]) lent->steps[d] = step;
  DLTensor& out = lent->managed.dl_tensor;
  out.data = lent->tensor.data.data();
  out.device = {kDLCPU, 0};
  out.ndim = shape.rank;
  for (const TypeName& known : kTypes) {
    if (known.dtype == tensor.dtype) out.dtype = {known.code, known.bits, 1};
  }
  out.shape = shape.begin();
  out.strides = lent->steps.begin();
  lent->managed.manager_ctx = lent.get();
  lent->managed.deleter = [](DLManagedTensor* self) { delete static_cast<Lent*>(self->manager_ctx); };
  return &lent.release()->managed;
}

}  // namespace

Result<std::vector<ProgramValue>> values_from_c(const ah_value* values, size_t count, const std::string& name) {
  if (values == nullptr && count > 0) return Error{Code::bad_argument, "the values are null, and their count is not 0"};
  Reader reader;
  std::vector<ProgramValue> out;
  out.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    out.push_back(reader.read(values[i], count == 1 ? name : name + " " + std::to_string(i + 1), 0));
  }
  if (reader.error()) return *reader.error();
  return out;
}

CValues::CValues(std::vector<ProgramValue> values) : values_(std::move(values)) {
  lists_.emplace_back();
  std::vector<ah_value> top;
  fill(top, values_);
  lists_.front() = std::move(top);
}

CValues::~CValues() {
  for (auto& list : lists_) {
    for (ah_value& value : list) {
      if (value.type == AH_TENSOR && value.tensor != nullptr) Managed(value.tensor).reset();
    }
  }
}

void CValues::fill(std::vector<ah_value>& out, const std::vector<ProgramValue>& values) {
  out.resize(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    ah_value& to = out[i];
    const auto& from = values[i].value;
    if (const auto* boolean = std::get_if<bool>(&from)) {
      to.type = AH_BOOLEAN;
      to.boolean = *boolean ? 1 : 0;
    } else if (const auto* number = std::get_if<double>(&from)) {
      to.type = AH_NUMBER;
      to.number = *number;
    } else if (const auto* integer = std::get_if<int64_t>(&from)) {
      to.type = AH_INTEGER;
      to.integer = *integer;
    } else if (const auto* text = std::get_if<std::string>(&from)) {
      to.type = AH_TEXT;
      to.text = text->c_str();
      to.size = text->size();
    } else if (const auto* tensor = std::get_if<Tensor>(&from)) {
      to.type = AH_TENSOR;
      to.tensor = lend(*tensor);
    } else if (const auto* list = std::get_if<ProgramValue::List>(&from)) {
      std::vector<ah_value> items;
      fill(items, *list);
      to.type = AH_LIST;
      to.size = list->size();
      to.items = lists_.emplace_back(std::move(items)).data();
    } else if (const auto* map = std::get_if<ProgramValue::Map>(&from)) {
      std::vector<ah_value> items;
      fill(items, map->items);
      to.type = AH_MAP;
      to.size = map->items.size() / 2;
      to.items = lists_.emplace_back(std::move(items)).data();
    }
  }
}

}  // namespace actorhost
