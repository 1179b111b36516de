#!/usr/bin/env bash
# Chooses the Vulkan driver of a CI job, and makes sure that it is the one.
#
#   ci/setup.sh lavapipe | swiftshader | machine [--version TEXT] [--bits N] [--env FILE]
#
#   lavapipe      Mesa's CPU driver
#   swiftshader   the CPU driver that Chromium and Chrome come with
#   machine       the drivers of the machine, or those that VK_DRIVER_FILES names
#   --version     fails unless the driver's version, of the first device, begins with TEXT, such as 'Mesa 22.3'
#   --bits        the vector width of lavapipe, on which results may depend: 128, 256 or 512
#   --env         writes the variables as shell commands; GitHub's jobs get them in any case
#
# What is missing is installed by `cargo xtask setup --tests`: the loader, lavapipe, the Khronos validation layer,
# spirv-val, glslangValidator. It needs a Rust toolchain. VKARRAY_COMMAND names a `vkarray` that is already built.
# In the archive of `cargo xtask package --archive` both programs lie beside this file: Rust is not needed, and later
# steps of the job find `vkarray` on their PATH.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
[ ! -x "$here/vkarray" ] || VKARRAY_COMMAND=${VKARRAY_COMMAND:-$here/vkarray}

die() { echo "error: ci/setup.sh: $*" >&2; exit 1; }
vkarray() {
  if [ -n "${VKARRAY_COMMAND:-}" ]; then "$VKARRAY_COMMAND" "$@"
  else cargo run --quiet --locked --manifest-path "$root/Cargo.toml" --package vkarray-cli -- "$@"; fi
}
setup() {
  if [ -x "$here/xtask" ]; then "$here/xtask" setup --tests
  else (cd "$root" && cargo xtask setup --tests); fi
}
# The first of the files that exists.
first() { for file in "$@"; do if [ -f "$file" ]; then echo "$file"; return; fi; done; }
# A field of the first device, in the lines that `vkarray devices --json` writes.
field() { sed -n "s/^ *\"$1\": \"\(.*\)\",\{0,1\}\$/\1/p" <<<"$devices" | sed -n "${2}p"; }

driver=${1:-}; version='' bits='' env_file=''
[ $# -gt 0 ] && shift
while [ $# -gt 0 ]; do
  [ $# -gt 1 ] || die "$1 has no value"
  case $1 in
    --version) version=$2 ;;
    --bits) bits=$2 ;;
    --env) env_file=$2 ;;
    *) die "there is no option $1" ;;
  esac
  shift 2
done
case $bits in '' | 128 | 256 | 512) ;; *) die "--bits is $bits, not 128, 256 or 512" ;; esac
[ -z "$bits" ] || [ "$driver" = lavapipe ] || die '--bits is an option of lavapipe'

# Any driver will do for the installation; which one is used is decided below.
if [ "$driver" = machine ]; then
  setup >&2
else
  (unset VK_DRIVER_FILES VK_ICD_FILENAMES; setup) >&2
fi

variables=()
case $driver in
  lavapipe)
    file=$(first /usr/share/vulkan/icd.d/lvp_icd*.json /etc/vulkan/icd.d/lvp_icd*.json)
    [ -n "$file" ] || die 'lavapipe is not installed: mesa-vulkan-drivers (Debian, Ubuntu, Fedora), vulkan-swrast (Arch)'
    variables+=("VK_DRIVER_FILES=$file" VKARRAY_REQUIRE=cpu)
    [ -z "$bits" ] || variables+=("LP_NATIVE_VECTOR_WIDTH=$bits")
    ;;
  swiftshader)
    # Chrome is on GitHub's machines; Debian's package of Chromium has the driver in files that need nothing else.
    folder=${XDG_CACHE_HOME:-$HOME/.cache}/vkarray-ci
    library=$(first /opt/google/chrome/libvk_swiftshader.so /usr/lib/chromium/libvk_swiftshader.so \
      "$folder/usr/lib/chromium/libvk_swiftshader.so")
    if [ -z "$library" ]; then
      command -v dpkg >/dev/null || die 'SwiftShader is not here: install Chrome or Chromium'
      mkdir -p "$folder"
      (cd "$folder" && apt-get download chromium-common && dpkg -x chromium-common_*.deb . && rm chromium-common_*.deb) >&2
      library=$folder/usr/lib/chromium/libvk_swiftshader.so
    fi
    mkdir -p "$folder"
    printf '{"file_format_version": "1.0.0", "ICD": {"library_path": "%s", "api_version": "1.3.0"}}\n' "$library" \
      >"$folder/swiftshader.json"
    variables+=("VK_DRIVER_FILES=$folder/swiftshader.json" VKARRAY_REQUIRE=cpu)
    ;;
  machine)
    variables+=("VKARRAY_REQUIRE=${VKARRAY_REQUIRE:-virtual}") # No program falls back to a CPU driver.
    [ -z "${VK_DRIVER_FILES:-}" ] || variables+=("VK_DRIVER_FILES=$VK_DRIVER_FILES")
    ;;
  *) die "'$driver' is no driver; lavapipe, swiftshader and machine are" ;;
esac

for variable in ${variables[@]+"${variables[@]}"}; do export "${variable?}"; done
devices=$(vkarray devices --json) || die "vkarray finds no device with ${variables[*]-}"
name=$(field name 1) found=$(field info 1)
if [ -z "$found" ]; then # SwiftShader has a number alone.
  number=$(sed -n 's/^ *"version": \([0-9]*\),\{0,1\}$/\1/p' <<<"$devices" | head -n 1)
  found=$((number >> 22)).$((number >> 12 & 1023)).$((number & 4095))
fi
echo "driver: $(field name 2) $found" >&2
echo "device: $name" >&2
[ "$driver" != lavapipe ] || [[ $name == llvmpipe* ]] || die "the device is $name, not lavapipe"
[ "$driver" != swiftshader ] || [[ $name == SwiftShader* ]] || die "the device is $name, not SwiftShader"
[ "$driver" != machine ] || [ "${VKARRAY_REQUIRE:-}" = cpu ] || grep '"device_type"' <<<"$devices" | grep -vq '"cpu"' \
  || die "the machine has only a CPU driver, $name; VKARRAY_REQUIRE=cpu allows that"
[[ $found == "$version"* ]] || die "the driver's version is '$found', not '$version'"
[ -z "$bits" ] || [[ $name == *"$bits bits"* ]] || die "the device is $name, not of $bits bits"

for variable in ${variables[@]+"${variables[@]}"}; do
  echo "$variable" >&2
  [ -z "${GITHUB_ENV:-}" ] || echo "$variable" >>"$GITHUB_ENV"
done
[ ! -x "$here/vkarray" ] || [ -z "${GITHUB_PATH:-}" ] || echo "$here" >>"$GITHUB_PATH"
if [ -n "$env_file" ]; then
  for variable in ${variables[@]+"${variables[@]}"}; do printf "export %s='%s'\n" "${variable%%=*}" "${variable#*=}"; done >"$env_file"
  [ ! -x "$here/vkarray" ] || printf "export PATH='%s':\"\$PATH\"\n" "$here" >>"$env_file"
fi
