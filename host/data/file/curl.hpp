#pragma once
// The functions of libcurl, without their prefix. libcurl is loaded for the first URL: with the thirty libraries that
// libcurl depends on, linking it would take almost half of the start time of a process. Any thread.

#include <memory>
#include <string>

#include <curl/curl.h>

namespace actorhost {

class Curl {
  std::string load_error_;  // declared first: the initialisers of the functions set it
  template <class Function>
  Function function(const char* name);

 public:
  static const Curl& get();

// NOLINTNEXTLINE(bugprone-macro-parentheses): a name
#define ACTORHOST_CURL(name) decltype(&curl_##name) name = function<decltype(&curl_##name)>("curl_" #name)
  ACTORHOST_CURL(global_init);
  ACTORHOST_CURL(easy_cleanup);
  ACTORHOST_CURL(easy_getinfo);
  ACTORHOST_CURL(easy_init);
  ACTORHOST_CURL(easy_pause);
  ACTORHOST_CURL(easy_setopt);
  ACTORHOST_CURL(easy_strerror);
  ACTORHOST_CURL(multi_add_handle);
  ACTORHOST_CURL(multi_cleanup);
  ACTORHOST_CURL(multi_info_read);
  ACTORHOST_CURL(multi_init);
  ACTORHOST_CURL(multi_perform);
  ACTORHOST_CURL(multi_poll);
  ACTORHOST_CURL(multi_remove_handle);
  ACTORHOST_CURL(slist_append);
  ACTORHOST_CURL(slist_free_all);
  ACTORHOST_CURL(version_info);
#undef ACTORHOST_CURL

  /// The reason that libcurl is unusable; empty if it is usable.
  const std::string& load_error() const { return load_error_; }

 private:
  Curl();
};

struct CurlMultiDelete {
  void operator()(CURLM* multi) const noexcept { Curl::get().multi_cleanup(multi); }
};
struct CurlEasyDelete {
  void operator()(CURL* easy) const noexcept { Curl::get().easy_cleanup(easy); }
};
struct CurlListDelete {
  void operator()(curl_slist* list) const noexcept { Curl::get().slist_free_all(list); }
};

}  // namespace actorhost
