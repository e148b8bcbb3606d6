#include "host/data/content/npz.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <archive.h>
#include <archive_entry.h>
#include <locale.h>
#include <unistd.h>

#include "host/base/non_copyable.hpp"
#include "host/base/printable.hpp"
#include "host/data/file/atomic_file.hpp"
#include "host/data/file/decompress.hpp"
#include "host/data/file/files.hpp"

namespace actorhost {

// Outside the unnamed namespace, since types with external linkage have members of it.
struct FreeArchive {
  void operator()(archive* a) const noexcept { archive_free(a); }
};
using ArchivePtr = std::unique_ptr<archive, FreeArchive>;

namespace {

constexpr size_t kReadBlock = 256 * 1024;
constexpr std::string_view kSuffix = ".npy";

struct FreeEntry {
  void operator()(archive_entry* e) const noexcept { archive_entry_free(e); }
};
using EntryPtr = std::unique_ptr<archive_entry, FreeEntry>;

std::string archive_message(archive* a) {
  const char* text = archive_error_string(a);
  return text != nullptr ? text : "unknown failure";
}

Status check_name(std::string_view name) {
  const bool control = std::any_of(name.begin(), name.end(), [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; });
  if (name.empty() || name.size() > 1024 || control || !is_utf8(name) || name.front() == ' ' || name.back() == ' ' ||
      name.front() == '/') {
    return Error{Code::bad_argument, "array name '" + printable(name.substr(0, 80)) +
                                         "' cannot be stored: 1 to 1024 bytes of UTF-8 without control characters are "
                                         "needed, no '/' first, no space first or last"};
  }
  return {};
}

/// During its lifetime libarchive treats names as UTF-8 and flags non-ASCII names: it uses the thread's locale.
class Utf8Names : private NonCopyable {
 public:
  Utf8Names() noexcept : names_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (names_ != nullptr) before_ = ::uselocale(names_);
  }
  ~Utf8Names() {
    if (names_ == nullptr) return;
    ::uselocale(before_);
    ::freelocale(names_);
  }

 private:
  locale_t names_;
  locale_t before_ = nullptr;
};

/// The characters of code page 437 from 128 on.
constexpr std::u16string_view kCodePage437 =
    u"ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡"
    u"±≥≤⌠⌡"
    u"÷≈°∙·√ⁿ²■\u00a0";
static_assert(kCodePage437.size() == 128);

/// Returns a member's name as UTF-8: unchanged if it is UTF-8, otherwise decoded from code page 437.
std::string name_from(std::string_view stored) {
  std::string out;
  if (is_utf8(stored)) return out = stored;
  for (const char c : stored) {
    const auto byte = static_cast<unsigned char>(c);
    append_utf8(out, byte < 128 ? byte : kCodePage437[byte - size_t{128}]);
  }
  return out;
}

/// Whether the file is only the end record of a zip directory. libarchive writes such a file for an archive without
/// members, but cannot open it.
bool is_empty_archive(int fd, uint64_t size) {
  std::array<char, 22> expected = {'P', 'K', 5, 6};
  std::array<char, 22> found{};
  return size == found.size() && ::pread(fd, found.data(), found.size(), 0) == ssize_t{22} && found == expected;
}

/// The data of the reader's current member.
class MemberSource final : public ByteSource {
 public:
  MemberSource(archive* a, std::string where) : archive_(a), where_(std::move(where)) {}

  Result<size_t> read(std::span<std::byte> out) override {
    const la_ssize_t n = archive_read_data(archive_, out.data(), out.size());
    if (n < 0) {
      return Error{Code::bad_data, where_ + ", byte " + std::to_string(offset_) + ": " + archive_message(archive_)};
    }
    offset_ += static_cast<uint64_t>(n);
    return static_cast<size_t>(n);
  }

 private:
  archive* archive_;
  std::string where_;
  uint64_t offset_ = 0;
};

}  // namespace

struct NpzWriter::Impl {
  std::filesystem::path path;
  AtomicFile file;
  ArchivePtr zip;
  std::set<std::string, std::less<>> names;
  std::optional<Error> write_error;
  bool abandoned = false;

  Impl(std::filesystem::path where, AtomicFile begun) : path(std::move(where)), file(std::move(begun)) {}
  ~Impl() {
    abandoned = true;  // freeing `zip` writes the end of the archive, which must not reach the file
    zip.reset();
  }

  /// Always reports success to libarchive, which leaks its memory after a failure.
  static la_ssize_t on_write(archive*, void* self_pointer, const void* bytes, size_t size) {
    auto* self = static_cast<Impl*>(self_pointer);
    if (!self->abandoned && !self->write_error) {
      auto written = self->file.write({static_cast<const std::byte*>(bytes), size});
      if (!written) self->write_error = std::move(written).error();
    }
    return static_cast<la_ssize_t>(size);
  }

  /// The result of a libarchive call that returned `status`.
  Status outcome(int status, const std::string& operation) const {
    if (write_error) return *write_error;
    if (status == ARCHIVE_OK) return {};
    return Error{Code::io, path.string() + ": " + operation + ": " + archive_message(zip.get())};
  }
  Status put(std::span<const std::byte> bytes, const std::string& name) {
    while (!bytes.empty()) {
      const la_ssize_t n = archive_write_data(zip.get(), bytes.data(), bytes.size());
      AH_TRY(outcome(n > 0 ? ARCHIVE_OK : ARCHIVE_FATAL, "writing array '" + name + "'"));
      bytes = bytes.subspan(static_cast<size_t>(n));
    }
    return {};
  }
};

NpzWriter::NpzWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
NpzWriter::NpzWriter(NpzWriter&&) noexcept = default;
NpzWriter& NpzWriter::operator=(NpzWriter&&) noexcept = default;
NpzWriter::~NpzWriter() = default;

Result<NpzWriter> NpzWriter::create(const std::filesystem::path& path) {
  AH_LET(auto file, AtomicFile::begin(path));
  auto impl = std::make_unique<Impl>(path, std::move(file));
  impl->zip.reset(archive_write_new());
  archive* zip = impl->zip.get();
  int status = archive_write_set_format_zip(zip);
  if (status == ARCHIVE_OK) status = archive_write_set_options(zip, "zip:compression=store");
  if (status == ARCHIVE_OK) status = archive_write_set_bytes_per_block(zip, 0);  // directly from the caller's memory
  if (status == ARCHIVE_OK) status = archive_write_open(zip, impl.get(), nullptr, Impl::on_write, nullptr);
  AH_TRY(impl->outcome(status, "cannot start a zip archive"));
  return NpzWriter(std::move(impl));
}

Status NpzWriter::add(std::string_view name, const Tensor& array) {
  AH_TRY(check_name(name));
  const auto [at, fresh] = impl_->names.emplace(name);
  if (!fresh) {
    return Error{Code::bad_argument, impl_->path.string() + ": array '" + *at + "' is written twice"};
  }
  const std::string header = npy_header(array);
  const Utf8Names names;
  const EntryPtr entry(archive_entry_new());
  archive_entry_set_pathname(entry.get(), (*at + std::string(kSuffix)).c_str());
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), 0644);
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(header.size() + array.bytes()));
  AH_TRY(impl_->outcome(archive_write_header(impl_->zip.get(), entry.get()), "starting array '" + *at + "'"));
  AH_TRY(impl_->put(std::as_bytes(std::span(header)), *at));
  AH_TRY(impl_->put({array.data.data(), array.bytes()}, *at));
  return impl_->outcome(archive_write_finish_entry(impl_->zip.get()), "ending array '" + *at + "'");
}

Status NpzWriter::close() {
  AH_TRY(impl_->outcome(archive_write_close(impl_->zip.get()), "ending the archive"));
  return impl_->file.commit();
}

struct NpzReader::Impl {
  std::filesystem::path path;
  Fd fd;
  uint64_t size = 0;
  bool at_end = false;
  ArchivePtr zip;
  std::set<std::string, std::less<>> names;

  Error bad(const std::string& what) const { return {Code::bad_data, path.string() + ": " + what}; }
};

NpzReader::NpzReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
NpzReader::NpzReader(NpzReader&&) noexcept = default;
NpzReader& NpzReader::operator=(NpzReader&&) noexcept = default;
NpzReader::~NpzReader() = default;

Result<NpzReader> NpzReader::open(const std::filesystem::path& path) {
  auto file = open_for_reading(path);
  if (!file) return std::move(file).error();
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  impl->fd = std::move(file->fd);
  impl->size = file->size;
  impl->zip.reset(archive_read_new());
  archive* zip = impl->zip.get();
  if (!file->regular) return impl->bad("an .npz archive has to be a regular file");
  if (is_empty_archive(impl->fd.get(), impl->size)) {
    impl->at_end = true;
    return NpzReader(std::move(impl));
  }
  if (archive_read_support_format_zip_seekable(zip) != ARCHIVE_OK ||
      archive_read_open_fd(zip, impl->fd.get(), kReadBlock) != ARCHIVE_OK) {
    return impl->bad("no .npz archive (no zip directory at its end): truncated or not an .npz file; " +
                     std::to_string(impl->size) + " bytes found");
  }
  return NpzReader(std::move(impl));
}

Result<std::optional<NamedArray>> NpzReader::next() {
  if (impl_->at_end) return std::optional<NamedArray>();
  const Utf8Names names;
  archive_entry* entry = nullptr;
  const int status = archive_read_next_header(impl_->zip.get(), &entry);
  if (status == ARCHIVE_EOF) return std::optional<NamedArray>();
  if (status != ARCHIVE_OK && status != ARCHIVE_WARN) {
    return impl_->bad("reading the zip directory: " + archive_message(impl_->zip.get()));
  }
  const char* member = archive_entry_pathname(entry);
  const std::string full = name_from(member != nullptr ? member : "");
  if (!full.ends_with(kSuffix)) return impl_->bad("member '" + printable(full) + "' is no .npy array");
  std::string name = full.substr(0, full.size() - kSuffix.size());
  if (auto valid = check_name(name); !valid) return impl_->bad(valid.error().message);
  if (!impl_->names.insert(name).second) return impl_->bad("array '" + name + "' occurs twice");

  uint64_t available = impl_->size > UINT64_MAX / kDeflateLimit ? UINT64_MAX : impl_->size * kDeflateLimit;
  if (archive_entry_size_is_set(entry) != 0) {
    available = std::min(available, static_cast<uint64_t>(std::max<la_int64_t>(archive_entry_size(entry), 0)));
  }
  const std::string where = impl_->path.string() + ": array '" + name + "'";
  MemberSource source(impl_->zip.get(), where);
  AH_LET(auto array, decode_npy(source, where, available));
  return std::optional<NamedArray>(NamedArray{std::move(name), std::move(array)});
}

Result<std::vector<NamedArray>> read_npz(const std::filesystem::path& path) {
  AH_LET(auto reader, NpzReader::open(path));
  std::vector<NamedArray> arrays;
  for (;;) {
    AH_LET(auto next, reader.next());
    if (!next.has_value()) return arrays;
    arrays.push_back(*std::move(next));
  }
}

}  // namespace actorhost
