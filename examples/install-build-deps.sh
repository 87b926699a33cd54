#!/usr/bin/env bash
# What the build needs from Debian 12, and the function that installs what of it is missing.
#   install-build-deps.sh           installs the packages that the program and the examples need
#   source install-build-deps.sh    defines build_packages and install_missing PACKAGE...
# Needs root or sudo when something is missing; says nothing and changes nothing otherwise.

# The list is read by scripts that source this file.
# shellcheck disable=SC2034
build_packages=(
  clang-19 lld-19 libstdc++-12-dev cmake ninja-build
  libboost1.81-dev libboost-json1.81-dev libboost-url1.81-dev
  libssl-dev libsqlite3-dev libpq-dev libspdlog-dev libtomlplusplus-dev libcli11-dev
  ca-certificates curl
)

# Installs those of the packages that are not there. Returns 1, after saying what is missing, where it cannot.
install_missing() {
  local package status as_root=()
  local missing=()
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "This is not a Debian system. Needed, by Debian's names: $*" >&2
    return 1
  fi
  for package in "$@"; do
    status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) || status=
    [ "$status" = installed ] || missing+=("$package")
  done
  [ "${#missing[@]}" -gt 0 ] || return 0

  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "Missing, and neither root nor sudo to install them: ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  echo "Installing ${#missing[@]} Debian packages: ${missing[*]}" >&2
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
  local log
  log=$(mktemp)
  if ! { "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    echo "apt-get could not install them (Debian 12 has all of them in its main archive)." >&2
    return 1
  fi
  rm -f "$log"
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  set -euo pipefail
  install_missing "${build_packages[@]}"
fi
