# Sourced by scripts/actorhost, scripts/test, scripts/check and scripts/package: installs missing Debian packages and
# builds a preset. POSIX sh. The caller sets $root to the top of the tree. Quiet on success. Ends the script with 69 when
# packages are missing and cannot be installed, with 70 when configuring or building fails.

# The one list of packages. Needed to build and to run the tests:
required_packages="cmake g++ pkg-config libluajit-5.1-dev libnng-dev libeigen3-dev libspdlog-dev libfmt-dev \
nlohmann-json3-dev libsodium-dev libxxhash-dev liblz4-dev libarchive-dev zlib1g-dev libcurl4-openssl-dev libedit-dev \
libutf8proc-dev libpugixml-dev libmicrohttpd-dev prometheus-cpp-dev libjs-chart.js libcli11-dev libboost-context-dev \
catch2 openssl luajit"
# Optional packages: the first two make builds faster. librsvg2-2 draws charts as PNG for actor.plot, and libmd4c-html0
# formats the pages of `actorhost help --html`: both are loaded at run time, and nothing is linked with them. Tests of
# the prompt use a terminal in tmux:
optional_packages="ninja-build ccache librsvg2-2 libmd4c-html0 tmux"
# Packages for some tests, which are skipped without them: chromium for the pages, python3-numpy for the Python package,
# zsh and fish for completion, mandoc for the manual, openssh-client and libwrap0 (a library of sshd) for `actorhost
# launch`. This script does not install python3-torch and python3-ipython; with them more tests of the Python package run.
test_packages="chromium python3-numpy zsh fish mandoc openssh-client libwrap0"
# Programs for tests, as NAME:PACKAGE:PATH. They are unpacked from their packages, because an installation would also
# start a server.
test_programs="promtool:prometheus:./usr/bin/promtool sshd:openssh-server:./usr/sbin/sshd"
# Needed by scripts/check, the last two for sources of tests/bench:
check_packages="clang-format clang-tidy libzmq3-dev libdnnl-dev"
# Needed by scripts/package, and by its --check:
package_packages="dpkg-dev fakeroot lintian"
package_check_packages="debootstrap util-linux"

# Build folder: ACTORHOST_BUILD_DIR, or build/ in the tree.
if [ -n "${ACTORHOST_BUILD_DIR-}" ]; then
  case $ACTORHOST_BUILD_DIR in /*) build_root=$ACTORHOST_BUILD_DIR ;; *) build_root=$PWD/$ACTORHOST_BUILD_DIR ;; esac
else
  build_root=$root/build
fi

# Before a build: chooses the user's cache as the build folder if the tree is not writable.
choose_build_folder() {
  if [ -z "${ACTORHOST_BUILD_DIR-}" ] && [ ! -w "$root/build" ] && { [ -e "$root/build" ] || [ ! -w "$root" ]; }; then
    cache=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}
    build_root=${cache:+$cache/actorhost/$(printf '%s' "$root" | cksum | cut -d ' ' -f 1)}
  fi
  [ -n "$build_root" ] && mkdir -p "$build_root" 2>/dev/null && [ -w "$build_root" ] && return 0
  if [ -z "$build_root" ]; then
    report "a build is needed, $root is not writable, and neither XDG_CACHE_HOME nor HOME is set"
  else
    report "a build is needed, and its folder $build_root is not writable"
  fi
  report "choose a build folder:  ACTORHOST_BUILD_DIR=DIR $0"
  exit 70
}

# timed NAME COMMAND...: runs the command and prints its duration; its status is the command's.
timed() {
  timed_name=$1
  timed_begun=$(date +%s)
  timed_status=0
  shift
  "$@" || timed_status=$?
  report "$timed_name: $(($(date +%s) - timed_begun)) s"
  return $timed_status
}

report() { printf 'actorhost: %s\n' "$*" >&2; }

# Prints the uninstalled packages among the given packages.
missing_packages() {
  installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' "$@" 2>/dev/null | awk '$1 == "ii" { print $2 }')
  for package in "$@"; do
    printf '%s\n' "$installed" | grep -qxF "$package" || printf '%s ' "$package"
  done
}

# Prints the command that runs another as root here ("" for root itself); fails without one.
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

# install_packages PACKAGE...: false when the installation failed; $install_log has the output of apt.
install_packages() {
  runner=$(root_runner) || return 1
  report "installing $*"
  apt="$runner env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120 -o Acquire::Retries=3"
  $apt update >"$install_log" 2>&1 || true  # one unreachable source must not matter if the others have the packages
  $apt install -y --no-install-recommends "$@" >>"$install_log" 2>&1
}

# ensure_packages PACKAGE...: installs missing packages, including optional packages.
ensure_packages() {
  command -v dpkg-query >/dev/null || return 0  # not Debian: configuring will name missing libraries
  missing=$(missing_packages "$@" $optional_packages)
  [ -n "$missing" ] || return 0
  install_log=$build_root/install.log
  # shellcheck disable=SC2086
  install_packages $missing && return 0
  needed=$(missing_packages "$@")
  [ -n "$needed" ] || return 0
  [ -s "$install_log" ] && tail -n 20 "$install_log" >&2
  report "these Debian packages are missing and could not be installed from here (neither root nor sudo, or apt-get failed):"
  report "  $needed"
  report "install them with:  sudo apt-get update && sudo apt-get install -y $missing"
  exit 69
}

# Prints the programs of $test_programs that are not here, as NAME:PACKAGE:PATH.
missing_programs() {
  for program in $test_programs; do
    name=${program%%:*}
    command -v "$name" >/dev/null || [ -x "/usr/sbin/$name" ] || printf '%s ' "$program"
  done
}

# ensure_test_tools: the packages and, in the build folder, the programs that tests need. A failed installation is tried
# again on another day; the tests that need a missing tool are skipped.
ensure_test_tools() {
  command -v dpkg-query >/dev/null || return 0
  mkdir -p "$build_root/tools"
  PATH=$PATH:$build_root/tools
  missing="$(missing_packages $test_packages)$(missing_programs)"
  [ -n "$missing" ] || return 0
  tried=$build_root/tools/tried
  install_log=$build_root/install.log
  if [ "$(cat "$tried" 2>/dev/null)" != "$(date +%F) $missing" ]; then
    packages=$(missing_packages $test_packages)
    # shellcheck disable=SC2086
    [ -z "$packages" ] || install_packages $packages || true
    for program in $(missing_programs); do
      package=${program#*:}
      (cd "$build_root/tools" && apt-get -qq download "${package%:*}" &&
        dpkg-deb --fsys-tarfile "${package%:*}"_*.deb | tar -x --strip-components=3 "${package#*:}"
        rm -f "${package%:*}"_*.deb) >>"$install_log" 2>&1 || true
    done
    missing="$(missing_packages $test_packages)$(missing_programs)"
    [ -n "$missing" ] || return 0
    printf '%s %s' "$(date +%F)" "$missing" >"$tried"
  fi
  report "missing, so the tests that need it are skipped: $missing"
}

# Runs a command with its output in a log. A terminal shows its last line as it changes, other outputs one line every
# ten seconds. A failure prints the whole log.
run_quietly() {
  log=$1
  label=$2
  shift 2
  : >"$log"
  { "$@" 2>&1 && echo ok >"$log.status" || rm -f "$log.status"; } | {
    reported_at=$(date +%s)
    while IFS= read -r line; do
      printf '%s\n' "$line" >>"$log"
      if [ -t 2 ]; then
        printf '\r\033[K%s: %.90s' "$label" "$line" >&2
      elif now=$(date +%s) && [ "$now" -ge $((reported_at + 10)) ]; then
        report "$label: $line"
        reported_at=$now
      fi
    done
    [ ! -t 2 ] || printf '\r\033[K' >&2
  }
  [ -f "$log.status" ] && rm -f "$log.status" && return 0
  cat "$log" >&2
  report "$label failed; the output above is also in $log"
  exit 70
}

# configure PRESET: makes its folder if it is missing, or was made for a tree at another path.
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

# build PRESET TARGET ("all" or "actorhost"): builds the target and stamps the time of its sources.
# Builds started together wait for each other.
build() {
  export CCACHE_BASEDIR="${CCACHE_BASEDIR-$root}" CCACHE_NOHASHDIR="${CCACHE_NOHASHDIR-1}"
  [ -w "${HOME-}" ] || export CCACHE_DIR="${CCACHE_DIR-$build_root/ccache}"
  exec 9>"$build_root/lock"
  flock 9
  [ -f "$build_root/$1/fresh" ] || report "building $1 for the first time in $build_root/$1; this takes some minutes"
  configure "$1"
  touch "$build_root/$1/started"
  (cd "$root" && run_quietly "$build_root/$1/build.log" "building $1" \
    cmake --build "$build_root/$1" --target "$2" -j "${ACTORHOST_JOBS-$(nproc)}") || exit $?
  mv "$build_root/$1/started" "$build_root/$1/fresh"
  exec 9>&-
}
