# Sourced by scripts/actorhost, scripts/test and scripts/check: installs missing Debian packages and builds a preset.
# POSIX sh. The caller has set $root to the top of the tree. Quiet on success; ends the script with 69 when packages
# are missing and cannot be installed, with 70 when configuring or building fails.

# The one list of packages. Needed to build and to run the tests:
required_packages="cmake g++ pkg-config libluajit-5.1-dev libnng-dev libeigen3-dev libspdlog-dev libfmt-dev \
nlohmann-json3-dev libsodium-dev libxxhash-dev liblz4-dev libarchive-dev zlib1g-dev libcurl4-openssl-dev libedit-dev \
libutf8proc-dev libmicrohttpd-dev prometheus-cpp-dev libjs-chart.js libcli11-dev catch2 openssl luajit"
# Done without where they cannot be installed: the first two make building faster, librsvg2-2 draws charts as PNG
# (actor.plot loads it at run time; nothing is linked with it), tests of the prompt have a terminal in tmux:
optional_packages="ninja-build ccache librsvg2-2 tmux"
# Tests of pages want a browser; they are skipped without it:
test_packages="chromium"
# Needed by scripts/check, the last two for sources of tests/bench:
check_packages="clang-format clang-tidy libzmq3-dev libdnnl-dev"

# Where builds go: ACTORHOST_BUILD_DIR, or build/ in the tree, or in the user's cache where nobody may write to the tree.
if [ -n "${ACTORHOST_BUILD_DIR-}" ]; then
  case $ACTORHOST_BUILD_DIR in /*) build_root=$ACTORHOST_BUILD_DIR ;; *) build_root=$PWD/$ACTORHOST_BUILD_DIR ;; esac
elif [ -w "$root/build" ] || { [ ! -e "$root/build" ] && [ -w "$root" ]; }; then
  build_root=$root/build
else
  build_root=${XDG_CACHE_HOME:-$HOME/.cache}/actorhost/$(printf '%s' "$root" | cksum | cut -d ' ' -f 1)
fi

# timed NAME COMMAND...: runs it, and says how long that took; its status is the command's.
timed() {
  timed_name=$1
  timed_begun=$(date +%s)
  timed_status=0
  shift
  "$@" || timed_status=$?
  say "$timed_name: $(($(date +%s) - timed_begun)) s"
  return $timed_status
}

say() { printf 'actorhost: %s\n' "$*" >&2; }

# Those of the given packages that are not installed.
missing_packages() {
  installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' "$@" 2>/dev/null | awk '$1 == "ii" { print $2 }')
  for package in "$@"; do
    printf '%s\n' "$installed" | grep -qxF "$package" || printf '%s ' "$package"
  done
}

# Prints what runs a command as root here ("" for root itself); fails where nothing does.
root_runner() {
  if [ "$(id -u)" = 0 ]; then
    return 0
  fi
  command -v sudo >/dev/null || return 1
  if sudo -n true 2>/dev/null; then
    printf 'sudo -n'
  elif [ -t 0 ] && [ -t 2 ]; then
    printf 'sudo'
  else
    return 1
  fi
}

# install_packages PACKAGE...: false when they could not be installed; what apt said is then in $install_log.
install_packages() {
  runner=$(root_runner) || return 1
  say "installing $*"
  apt="$runner env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120"
  $apt update >"$install_log" 2>&1 || true  # one unreachable source must not matter if the others have the packages
  $apt install -y --no-install-recommends "$@" >>"$install_log" 2>&1
}

# ensure_packages PACKAGE...: installs those of them, and of the optional ones, that are missing.
ensure_packages() {
  command -v dpkg-query >/dev/null || return 0  # not Debian: configuring will tell what is missing
  missing=$(missing_packages "$@" $optional_packages)
  [ -n "$missing" ] || return 0
  mkdir -p "$build_root"
  install_log=$build_root/install.log
  # shellcheck disable=SC2086
  install_packages $missing && return 0
  needed=$(missing_packages "$@")
  [ -n "$needed" ] || return 0
  [ -s "$install_log" ] && tail -n 20 "$install_log" >&2
  say "these Debian packages are missing and could not be installed from here (neither root nor sudo, or apt-get failed):"
  say "  $needed"
  say "install them with:  sudo apt-get update && sudo apt-get install -y $missing"
  exit 69
}

# ensure_test_tools: a browser, and promtool in the build folder. What cannot be had is tried again on another day; the
# tests that want it are skipped.
ensure_test_tools() {
  command -v dpkg-query >/dev/null || return 0
  mkdir -p "$build_root/tools"
  PATH=$PATH:$build_root/tools
  missing=$(missing_packages $test_packages)
  command -v promtool >/dev/null || missing="$missing promtool"
  [ -n "$missing" ] || return 0
  tried=$build_root/tools/tried
  install_log=$build_root/install.log
  if [ "$(cat "$tried" 2>/dev/null)" != "$(date +%F) $missing" ]; then
    # shellcheck disable=SC2086
    [ "${missing% promtool}" = "" ] || install_packages ${missing% promtool} || true
    # Taken out of its package, which would start a server, too.
    command -v promtool >/dev/null || (cd "$build_root/tools" && apt-get -qq download prometheus &&
      dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x --strip-components=3 ./usr/bin/promtool
      rm -f prometheus_*.deb) >>"$install_log" 2>&1 || true
    missing=$(missing_packages $test_packages)
    command -v promtool >/dev/null || missing="$missing promtool"
    [ -n "$missing" ] || return 0
    printf '%s %s' "$(date +%F)" "$missing" >"$tried"
  fi
  say "not here, so the tests that want it are skipped: $missing"
}

# Runs a command with its output in a log: on a terminal its last line is shown as it changes, elsewhere one line every ten
# seconds; the whole log is shown when it fails.
run_quietly() {
  log=$1
  what=$2
  shift 2
  : >"$log"
  { "$@" 2>&1 && echo ok >"$log.status" || rm -f "$log.status"; } | {
    said=$(date +%s)
    while IFS= read -r line; do
      printf '%s\n' "$line" >>"$log"
      if [ -t 2 ]; then
        printf '\r\033[K%s: %.90s' "$what" "$line" >&2
      elif now=$(date +%s) && [ "$now" -ge $((said + 10)) ]; then
        say "$what: $line"
        said=$now
      fi
    done
    [ ! -t 2 ] || printf '\r\033[K' >&2
  }
  [ -f "$log.status" ] && rm -f "$log.status" && return 0
  cat "$log" >&2
  say "$what failed; the output above is also in $log"
  exit 70
}

# configure PRESET: makes its folder if it is not there, or was made for a tree that has moved.
configure() {
  directory=$build_root/$1
  if [ -f "$directory/CMakeCache.txt" ]; then
    if grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$directory/CMakeCache.txt"; then
      [ -f "$directory/configured" ] && return 0
    else
      rm -rf "$directory"
    fi
  fi
  mkdir -p "$directory"
  command -v ninja >/dev/null && generator=Ninja || generator='Unix Makefiles'
  # shellcheck disable=SC2086
  (cd "$root" && run_quietly "$directory/configure.log" "configuring $1" \
    cmake --preset "$1" -B "$directory" -G "$generator" ${ACTORHOST_CMAKE_FLAGS-}) || exit $?
  touch "$directory/configured"
}

# build PRESET TARGET ("all" or "actorhost"): brings it up to date and stamps the moment that it is up to date with.
# Builds started together wait for each other.
build() {
  mkdir -p "$build_root"
  export CCACHE_BASEDIR="${CCACHE_BASEDIR-$root}" CCACHE_NOHASHDIR="${CCACHE_NOHASHDIR-1}"
  exec 9>"$build_root/lock"
  flock 9
  [ -f "$build_root/$1/fresh" ] || say "building $1 for the first time in $build_root/$1; this takes some minutes"
  configure "$1"
  touch "$build_root/$1/started"
  (cd "$root" && run_quietly "$build_root/$1/build.log" "building $1" \
    cmake --build "$build_root/$1" --target "$2" -j "${ACTORHOST_JOBS-$(nproc)}") || exit $?
  mv "$build_root/$1/started" "$build_root/$1/fresh"
  exec 9>&-
}
