#include "bindings/commands/line_editor.hpp"

#include <algorithm>
#include <clocale>
#include <csignal>
#include <cstring>
#include <cwchar>

#include <dlfcn.h>
#include <histedit.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

namespace actorhost {

namespace {

constexpr int kIdleMilliseconds = 50;
constexpr wchar_t kNoCharacter = 0xfffd;  // for bytes that are not valid UTF-8

// With "bracketed paste" enabled, a terminal puts marks around pasted text.
constexpr const char* kEnableMarks = "\x1b[?2004h";
constexpr const char* kDisableMarks = "\x1b[?2004l";

/// The functions of libedit, which is loaded for the first prompt: jobs need no prompt and start as fast without it.
class Edit {
  std::string load_error_;  // declared before the functions, because their lookup sets it

 public:
  static const Edit& get() {
    static const Edit kEdit;
    return kEdit;
  }

// NOLINTNEXTLINE(bugprone-macro-parentheses): a name
#define ACTORHOST_EDIT(name) decltype(&::name) name = function<decltype(&::name)>(#name)
  ACTORHOST_EDIT(el_init);
  ACTORHOST_EDIT(el_end);
  ACTORHOST_EDIT(el_set);
  ACTORHOST_EDIT(el_get);
  ACTORHOST_EDIT(el_gets);
  ACTORHOST_EDIT(el_line);
  ACTORHOST_EDIT(el_insertstr);
  ACTORHOST_EDIT(el_resize);
  ACTORHOST_EDIT(el_source);
  ACTORHOST_EDIT(history_init);
  ACTORHOST_EDIT(history_end);
  ACTORHOST_EDIT(history);
#undef ACTORHOST_EDIT

  /// Why libedit cannot be used; empty if it can.
  const std::string& load_error() const { return load_error_; }

 private:
  Edit() = default;
  template <class Function>
  Function function(const char* name) {
    static void* const kLibrary = dlopen("libedit.so.2", RTLD_NOW | RTLD_LOCAL);
    void* const found = kLibrary != nullptr ? dlsym(kLibrary, name) : nullptr;
    if (found == nullptr && load_error_.empty())
      load_error_ = "the library libedit is missing (Debian's package libedit2)";
    return reinterpret_cast<Function>(found);
  }
};

const Edit& edit() { return Edit::get(); }

winsize window_size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) size.ws_col = 80;
  return size;
}

/// The number of terminal columns of the text.
size_t columns_of(std::string_view text) {
  std::mbstate_t state{};
  size_t columns = 0;
  while (!text.empty()) {
    wchar_t character = 0;
    const size_t size = std::mbrtowc(&character, text.data(), text.size(), &state);
    const bool whole = size != 0 && size <= text.size();
    columns += whole ? static_cast<size_t>(std::max(0, wcwidth(character))) : 1;
    if (!whole) state = {};
    text.remove_prefix(whole ? size : 1);
  }
  return columns;
}

/// The terminal's state before the first prompt.
class TerminalMode {
 public:
  void save() { saved_ = tcgetattr(STDIN_FILENO, &before_) == 0; }
  void restore() const {
    if (!saved_) return;
    (void)!::write(STDOUT_FILENO, kDisableMarks, std::strlen(kDisableMarks));
    tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  }

 private:
  termios before_{};
  bool saved_ = false;
};

TerminalMode terminal_mode;  // global: restored even if the editor is not destroyed

bool key_available() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return poll(&input, 1, kIdleMilliseconds) > 0;
}

void write_now(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

struct LineEditor::State {
  State(const std::string& path, size_t most) : file(path, most) {}
  ~State() {
    if (line != nullptr) edit().el_end(line);
    if (past != nullptr) edit().history_end(past);
    terminal_mode.restore();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  HistoryFile file;
  EditLine* line = nullptr;
  History* past = nullptr;
  std::string prompt;
  Calls calls;
  Outcome outcome = Outcome::line;
  unsigned short columns = 80;
  bool pasted = false;  // the present input is pasted, also across line ends
  std::mbstate_t decoding{};

  static State& of(EditLine* line) {
    void* state = nullptr;
    edit().el_get(line, EL_CLIENTDATA, &state);
    return *static_cast<State*>(state);
  }

  Status set_up(size_t most);
  void add_to_history(const std::string& text) const {
    HistEvent event{};
    edit().history(past, &event, H_ENTER, text.c_str());
  }
  void show_above(std::string_view text);
  bool wait_for_key();
  int next_key(wchar_t& key);
  void on_tab();

  static char* prompt_of(EditLine* line) { return State::of(line).prompt.data(); }
  static int get_key(EditLine* line, wchar_t* key) { return State::of(line).next_key(*key); }
  static unsigned char tab(EditLine* line, int /*key*/) {
    State::of(line).on_tab();
    return CC_REFRESH;
  }
  static unsigned char paste_begins(EditLine* line, int /*key*/) {
    State::of(line).pasted = true;
    return CC_NORM;
  }
  static unsigned char paste_ends(EditLine* line, int /*key*/) {
    State::of(line).pasted = false;
    return CC_NORM;
  }
  static unsigned char interrupt(EditLine* line, int /*key*/) {
    State::of(line).outcome = Outcome::interrupt;
    return CC_EOF;
  }
  static unsigned char suspend(EditLine* line, int /*key*/) {
    edit().el_set(line, EL_PREP_TERM, 0);
    terminal_mode.restore();
    raise(SIGTSTP);  // returns when the user resumes the program
    edit().el_set(line, EL_PREP_TERM, 1);
    write_now(std::string("\r\n") + kEnableMarks);
    edit().el_set(line, EL_REFRESH);
    return CC_NORM;
  }
};

Status LineEditor::State::set_up(size_t most) {
  if (setlocale(LC_CTYPE, "C.UTF-8") == nullptr) setlocale(LC_CTYPE, "");
  line = edit().el_init("actorhost", stdin, stdout, stderr);
  past = edit().history_init();
  if (line == nullptr || past == nullptr) return Error{Code::unsupported, "libedit cannot use this terminal"};
  HistEvent event{};
  edit().history(past, &event, H_SETSIZE, static_cast<int>(most));
  edit().history(past, &event, H_SETUNIQUE, 1);
  edit().el_set(line, EL_CLIENTDATA, this);
  edit().el_set(line, EL_EDITOR, "emacs");
  edit().el_source(line, nullptr);  // the user's ~/.editrc; the settings below override it
  edit().el_set(line, EL_SIGNAL, 0);
  edit().el_set(line, EL_PROMPT, &prompt_of);
  edit().el_set(line, EL_HIST, edit().history, past);
  edit().el_set(line, EL_GETCFN, &get_key);
  edit().el_set(line, EL_ADDFN, "actorhost-complete", "Completes the word before the cursor", &tab);
  edit().el_set(line, EL_ADDFN, "actorhost-clear", "Discards the line", &interrupt);
  edit().el_set(line, EL_ADDFN, "actorhost-suspend", "Suspends the program", &suspend);
  edit().el_set(line, EL_ADDFN, "actorhost-paste-begins", "Takes tabs as they are", &paste_begins);
  edit().el_set(line, EL_ADDFN, "actorhost-paste-ends", "Completes words again", &paste_ends);
  edit().el_set(line, EL_BIND, "\\e[200~", "actorhost-paste-begins", nullptr);
  edit().el_set(line, EL_BIND, "\\e[201~", "actorhost-paste-ends", nullptr);
  edit().el_set(line, EL_BIND, "^I", "actorhost-complete", nullptr);
  edit().el_set(line, EL_BIND, "^C", "actorhost-clear", nullptr);
  edit().el_set(line, EL_BIND, "^Z", "actorhost-suspend", nullptr);
  edit().el_set(line, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  edit().el_set(line, EL_SETTY, "-d", "-isig", nullptr);  // ^C and ^Z are keys
  // Between prompts, typed keys are stored for the next prompt instead of echoed, and ^C is a signal.
  edit().el_set(line, EL_SETTY, "-x", "-icanon", "-echo", nullptr);
  return {};
}

/// Writes lines in place of the prompt, and the prompt below them.
void LineEditor::State::show_above(std::string_view text) {
  const LineInfo* info = edit().el_line(line);
  const size_t before =
      columns_of(prompt) + columns_of({info->buffer, static_cast<size_t>(info->cursor - info->buffer)});
  const size_t rows = before / std::max<size_t>(1, columns);
  std::string out = "\r";
  if (rows > 0) out += "\x1b[" + std::to_string(rows) + "A";
  out.append("\x1b[J").append(text);
  if (!text.ends_with('\n')) out += '\n';
  write_now(out);
  edit().el_set(line, EL_REFRESH);
}

/// Waits for a key; false when `idle` ends the prompt.
bool LineEditor::State::wait_for_key() {
  for (;;) {
    if (const auto now = window_size().ws_col; now != columns) {
      columns = now;
      edit().el_resize(line);
    }
    if (key_available()) return true;
    const IdleResult result = calls.idle();
    if (!result.text.empty()) show_above(result.text);
    if (result.end) return false;
  }
}

/// Reads a character for libedit: returns 1, or 0 at the end of input.
int LineEditor::State::next_key(wchar_t& key) {
  for (;;) {
    if (!wait_for_key()) {
      outcome = Outcome::woken;
      return 0;
    }
    char byte = 0;
    if (::read(STDIN_FILENO, &byte, 1) != 1) return 0;
    const size_t size = std::mbrtowc(&key, &byte, 1, &decoding);
    if (size == static_cast<size_t>(-2)) continue;  // needs more bytes
    if (size == static_cast<size_t>(-1)) {
      decoding = {};
      key = kNoCharacter;
    }
    return 1;
  }
}

void LineEditor::State::on_tab() {
  const LineInfo* info = edit().el_line(line);
  const std::string before(info->buffer, info->cursor);
  const std::string after(info->cursor, info->lastchar);
  const bool indents = before.find_first_not_of(' ') == std::string::npos;
  const Completion found = indents || pasted ? Completion{"  ", {}} : calls.complete(before, after);
  if (!found.list.empty()) show_above(found.list);
  if (!found.insert.empty()) edit().el_insertstr(line, found.insert.c_str());
}

LineEditor::LineEditor(std::unique_ptr<State> state) : state_(std::move(state)) {}
LineEditor::~LineEditor() = default;

Result<std::unique_ptr<LineEditor>> LineEditor::open(const std::string& file, size_t most) {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) {
    return Error{Code::unsupported, "standard input or output is no terminal"};
  }
  if (!edit().load_error().empty()) return Error{Code::unsupported, edit().load_error()};
  terminal_mode.save();
  auto state = std::make_unique<State>(file, most);
  AH_TRY(state->set_up(most));
  // An unreadable history does not prevent the prompt; `remember` reports the error.
  if (const auto lines = state->file.load(); lines) {
    for (const std::string& text : *lines) state->add_to_history(text);
  }
  return std::unique_ptr<LineEditor>(new LineEditor(std::move(state)));
}

LineEditor::Read LineEditor::read(const std::string& prompt, Calls calls) {
  State& state = *state_;
  state.prompt = prompt;
  state.calls = std::move(calls);
  state.outcome = Outcome::line;
  state.columns = window_size().ws_col;
  int size = 0;
  write_now(kEnableMarks);
  const char* text = edit().el_gets(state.line, &size);
  write_now(kDisableMarks);
  if (text == nullptr || size <= 0) {
    write_now(state.outcome == Outcome::interrupt ? "^C\r\n" : "\r\n");
    return {state.outcome == Outcome::line ? Outcome::end : state.outcome, {}};
  }
  std::string line(text, static_cast<size_t>(size));
  while (line.ends_with('\n') || line.ends_with('\r')) line.pop_back();
  return {Outcome::line, std::move(line)};
}

void LineEditor::restore_terminal() { terminal_mode.restore(); }

Status LineEditor::remember(const std::string& line) {
  state_->add_to_history(line);
  return state_->file.add(line);
}

}  // namespace actorhost
