# Shared by tools/run and tools/check: installs what is missing, configures and builds.
# Sourced, never run. It asks for root only when a package is missing, and says what it does.

say() { printf '== %s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${GEMMPEAK_BUILD:-$root/build}

# Without these nothing builds; without the optional ones a backend is left out.
required_packages=(g++ cmake ninja-build libfmt-dev nlohmann-json3-dev libcli11-dev)
test_packages=(libgtest-dev libgmock-dev python3)
optional_packages=(libdnnl-dev libopenblas-openmp-dev)

installed() { dpkg -s "$1" 2>/dev/null | grep -q '^Status: install ok installed'; }

# A tool that is there by other means than its package counts too.
present() {
  case $1 in
    g++ | cmake | python3) command -v "$1" >/dev/null || installed "$1" ;;
    ninja-build) command -v ninja >/dev/null || installed "$1" ;;
    *) installed "$1" ;;
  esac
}

missing_of() {
  local package
  for package in "$@"; do present "$package" || printf '%s\n' "$package"; done
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    say "root is needed for: $*"
    # Without a terminal sudo must not wait for a password that nobody can type.
    if [ -t 0 ]; then sudo "$@"; else sudo -n "$@"; fi
  else
    return 1
  fi
}

apt_get() { as_root env DEBIAN_FRONTEND=noninteractive apt-get "$@" </dev/null; }

# install_missing [PACKAGE...]: the packages named are required as well.
install_missing() {
  local required optional package
  mapfile -t required < <(missing_of "${required_packages[@]}" "$@")
  mapfile -t optional < <(missing_of "${optional_packages[@]}")
  if [ ${#required[@]} -eq 0 ] && [ ${#optional[@]} -eq 0 ]; then return 0; fi
  if ! command -v apt-get >/dev/null; then
    [ ${#required[@]} -eq 0 ] || die "this is no Debian or Ubuntu; install by hand what gives: ${required[*]}"
    say "going on without ${optional[*]}"
    return 0
  fi
  say "installing with apt: ${required[*]} ${optional[*]}"
  if ! apt_get update -qq; then
    if [ ${#required[@]} -gt 0 ] && [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
      die "root is needed: run as root  apt-get install ${required[*]} ${optional[*]}"
    fi
    say "apt-get update failed; trying with the lists there are"
  fi
  if [ ${#required[@]} -gt 0 ]; then
    apt_get install -y -qq --no-install-recommends "${required[@]}" \
      || die "could not install ${required[*]}; run as root: apt-get install ${required[*]}"
  fi
  for package in "${optional[@]}"; do
    apt_get install -y -qq --no-install-recommends "$package" \
      || say "$package is not to be had: the CPU backend goes without it"
  done
}

# One job a core, but no more than memory allows: the largest source takes about 1 GiB to compile.
jobs() {
  local cores gib
  cores=$(nproc)
  gib=$(awk '/MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo 2>/dev/null)
  [ "${gib:-0}" -ge 1 ] || gib=1
  [ "$cores" -le "$gib" ] && echo "$cores" || echo "$gib"
}

# build_all TESTS: ON builds the tests as well.
build_all() {
  say "configuring in $build"
  cmake -S "$root" -B "$build" -G Ninja -DGEMMPEAK_TESTS="$1" </dev/null || die "cmake failed"
  say "building"
  cmake --build "$build" -j "$(jobs)" </dev/null || die "the build failed"
}
