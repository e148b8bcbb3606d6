#pragma once
// A message is a struct that lists its fields once, in wire order. Packing, unpacking, the checks of bounds and
// enumerations, and the fuzz target follow from the list:
//
//   struct LostInput {
//     StageId stage = 0;
//     std::string reason;
//     std::vector<ProcessId> places;
//     static void fields(auto& m, auto&& field) { field(m.stage, words(m.reason), m.places); }
//   };
//
// The encoding of a field: a number as its little-endian bytes; a bool as one byte; an enumeration as its underlying
// type (`last_of`, found by its argument type, is the greatest value); a text, Blob, vector or map after its length
// (u32); an optional after a bool, a Status likewise with its error; another message as its fields. A message may
// validate itself: `bool is_valid() const`. One of these functions names the contents of the frame's body, which must
// be empty otherwise:
//
//   static auto& body(auto& m) { return m.rows; }                            a Blob, by reference
//   static void body_fields(auto& m, auto&& field) { field(m.inputs); }      packed like fields
//
// Thread-safe.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "host/wire/frame.hpp"
#include "host/wire/packer.hpp"

namespace actorhost {

/// The longest text that a script chooses (errors, names, places): a frame's metadata is bounded.
inline constexpr size_t kMaxTextBytes = size_t{64} << 10;

/// A text for people: packing cuts it at kMaxTextBytes, unpacking removes control characters.
template <typename Text>
struct ReadableField {
  Text& text;
  Lines lines;
};
/// A text of one line.
template <typename Text>
ReadableField<Text> words(Text& text) {
  return {text, Lines::escaped};
}
/// A text of several lines, such as a script's traceback.
template <typename Text>
ReadableField<Text> lines(Text& text) {
  return {text, Lines::kept};
}

/// A code unknown to this version is read as this code, so an error stays an error.
constexpr Code last_of(Code) { return Code::internal; }

template <typename M>
concept Message = requires(M& message) {
  M::fields(message, [](auto&&...) {});
};

class FieldPacker {
 public:
  explicit FieldPacker(Packer& out) : out_(out) {}
  template <typename... T>
  void operator()(const T&... fields) {
    (put(fields), ...);
  }

 private:
  template <typename T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void put(T value) {
    if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, Code>) {
      out_.put(static_cast<uint8_t>(value));
    } else {
      out_.put(value);
    }
  }
  void put(const std::string& text) { out_.put(text); }
  void put(const Blob& bytes) { out_.put(bytes.view()); }
  void put(const ReadableField<const std::string>& field) {
    out_.put(std::string_view(field.text).substr(0, kMaxTextBytes));
  }
  void put(const Error& error) { (*this)(error.code, actorhost::lines(error.message)); }
  void put(const Status& status) {
    put(status.ok());
    if (!status.ok()) put(status.error());
  }
  template <typename T>
  void put(const std::vector<T>& list) {
    out_.put(static_cast<uint32_t>(list.size()));
    for (const T& item : list) put(item);
  }
  template <typename K, typename V>
  void put(const std::map<K, V>& map) {
    out_.put(static_cast<uint32_t>(map.size()));
    for (const auto& [key, value] : map) (*this)(key, value);
  }
  template <typename T>
  void put(const std::optional<T>& field) {
    put(field.has_value());
    if (field) put(*field);
  }
  template <Message M>
  void put(const M& message) {
    M::fields(message, *this);
  }

  Packer& out_;
};

/// Reads zeros and empty texts after the end of the input; then the Unpacker is not `ok`.
class FieldUnpacker {
 public:
  /// Blobs become slices of `whole`, which holds the bytes of `in`; without it, copies.
  explicit FieldUnpacker(Unpacker& in, const Blob* whole = nullptr) : in_(in), whole_(whole) {}
  template <typename... T>
  void operator()(T&&... fields) {
    (get(fields), ...);
  }

 private:
  template <typename T>
  requires std::is_arithmetic_v<T>
  void get(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      const auto byte = in_.get<uint8_t>();
      if (byte > 1) in_.fail();
      value = byte != 0;
    } else {
      value = in_.get<T>();
    }
  }
  template <typename T>
  requires std::is_enum_v<T>
  void get(T& value) {
    value = in_.get<T>();
    if (value > last_of(T{})) in_.fail();
  }
  void get(Code& code) {
    const auto byte = in_.get<uint8_t>();
    code = byte > static_cast<uint8_t>(last_of(Code{})) ? last_of(Code{}) : static_cast<Code>(byte);
  }
  void get(std::string& text) { text = in_.text(); }
  void get(Blob& bytes) {
    const std::string_view text = in_.text();
    if (text.empty()) return;
    bytes = whole_ ? whole_->slice(static_cast<size_t>(text.data() - whole_->view().data()), text.size())
                   : Blob::copy_of(text);
  }
  void get(const ReadableField<std::string>& field) { field.text = printable(in_.text(), field.lines); }
  void get(Error& error) { (*this)(error.code, actorhost::lines(error.message)); }
  void get(Status& status) {
    bool ok = false;
    get(ok);
    Error error;
    if (!ok) get(error);
    status = ok ? Status() : Status(std::move(error));
  }
  template <typename T>
  void get(std::vector<T>& list) {
    // Grows item by item: the count may be wrong.
    for (auto left = in_.get<uint32_t>(); left > 0 && in_.ok(); --left) get(list.emplace_back());
  }
  template <typename K, typename V>
  void get(std::map<K, V>& map) {
    for (auto left = in_.get<uint32_t>(); left > 0 && in_.ok(); --left) {
      K key{};
      get(key);
      get(map[std::move(key)]);
    }
  }
  template <typename T>
  void get(std::optional<T>& field) {
    bool present = false;
    get(present);
    if (present) get(field.emplace());
  }
  template <Message M>
  void get(M& message) {
    M::fields(message, *this);
    if constexpr (requires { message.is_valid(); }) {
      // Fields of an invalid message must not be used, so an outer message is checked only after a valid inner message.
      if (in_.ok() && !message.is_valid()) in_.fail();
    }
  }

  Unpacker& in_;
  const Blob* whole_;
};

/// Packs the fields of all messages consecutively.
template <typename... M>
std::string pack(const M&... messages) {
  Packer out;
  FieldPacker{out}(messages...);
  return std::move(out).bytes();
}

inline constexpr const char* kBadFields = "its fields do not fill it exactly, or are invalid";

/// Code::bad_data unless `M` (a message or a list of messages) fills `bytes` exactly. Blobs become copies.
template <typename M>
Result<M> unpack(std::string_view bytes) {
  M message{};
  Unpacker in(bytes);
  FieldUnpacker{in}(message);
  if (!in.done()) return Error{Code::bad_data, kBadFields};
  return message;
}

/// Reads the message at the beginning of `in`; more bytes may follow.
template <typename M>
Result<M> unpack_head(Unpacker& in) {
  M message{};
  FieldUnpacker{in}(message);
  if (!in.ok()) return Error{Code::bad_data, "its head is truncated or invalid"};
  return message;
}

/// Code::bad_data: "malformed message 0x0312 of parameter server from worker 3: reason".
Error malformed(const Frame& frame, std::string_view reason = {});

/// Makes a frame; for small metadata.
Frame make_frame(Kind kind, Address src, Address dst, uint32_t tag, std::string_view meta = {}, Blob body = {});

/// Makes the frame of a message, with its body. The sender sets `src`.
template <Message M>
Frame message_frame(Kind kind, Address dst, uint32_t tag, const M& message) {
  Frame frame = make_frame(kind, kNoAddress, dst, tag, pack(message));
  if constexpr (requires { M::body(message); }) {
    frame.body = M::body(message);
  } else if constexpr (requires { M::body_fields(message, [](auto&&...) {}); }) {
    Packer out;
    M::body_fields(message, FieldPacker{out});
    frame.body = Blob::copy_of(out.bytes());
  }
  return frame;
}

template <Message M>
Result<M> read_message(const Frame& frame) {
  M message{};
  if constexpr (requires { M::body(message); }) {
    M::body(message) = frame.body;
  } else if constexpr (requires { M::body_fields(message, [](auto&&...) {}); }) {
    Unpacker body(frame.body.view());
    M::body_fields(message, FieldUnpacker{body, &frame.body});
    if (!body.done()) return Error{Code::bad_data, "the fields of its body do not fill it exactly, or are invalid"};
  } else if (!frame.body.empty()) {
    return Error{Code::bad_data, "it must not have a body"};
  }
  Unpacker in(frame.meta.view());
  FieldUnpacker{in}(message);
  if (!in.done()) return Error{Code::bad_data, kBadFields};
  return message;
}

/// Returns the frame, or an Error of this code and text if the frame exceeds the limits.
Result<Frame> check_frame_size(Frame frame, Code code, const char* message);

/// A reply that reports an error.
struct ErrorMessage {
  Error error;
  static void fields(auto& m, auto&& field) { field(m.error); }
};
/// The error in such a frame; for an unreadable frame, an error that says so.
Error error_of(const Frame& frame);

}  // namespace actorhost
