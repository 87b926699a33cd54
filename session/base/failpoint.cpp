#include "session/base/failpoint.hpp"

#ifdef AGUI_FAILPOINTS

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace agui {

namespace {

enum class action { none, kill, error, delay };

// Longer than a group window, the heartbeat in tests and the time between two tokens.
constexpr std::chrono::milliseconds delay_time{150};

struct chosen_failpoint {
    std::string name;
    action what = action::none;
    int at = 1;
    std::atomic<int> passed{0};

    chosen_failpoint() {
        const char* given = std::getenv("AGUI_FAILPOINT");
        const std::string_view text = given == nullptr ? "" : given;
        const std::size_t equals = text.find('=');
        if (equals == std::string_view::npos) {
            return;
        }
        name = text.substr(0, equals);
        std::string_view rest = text.substr(equals + 1);
        if (const std::size_t colon = rest.find(':'); colon != std::string_view::npos) {
            at = std::atoi(std::string(rest.substr(colon + 1)).c_str());
            rest = rest.substr(0, colon);
        }
        what = rest == "kill"    ? action::kill
               : rest == "error" ? action::error
               : rest == "delay" ? action::delay
                                 : action::none;
    }
};

// Returns true if the caller must fail.
bool stumble(std::string_view name) noexcept {
    static chosen_failpoint chosen;
    if (chosen.what == action::none || name != chosen.name ||
        chosen.passed.fetch_add(1) + 1 != chosen.at) {
        return false;
    }
    std::fprintf(stderr, "failpoint %s\n", chosen.name.c_str());
    switch (chosen.what) {
    case action::kill:
        (void)std::raise(SIGKILL);
        return false;
    case action::delay:
        std::this_thread::sleep_for(delay_time);
        return false;
    case action::error:
        return true;
    case action::none:
        return false;
    }
    return false;
}

// Held (shared) during a call of the hook, so that the hook is not destroyed meanwhile.
std::shared_mutex hook_mutex;
std::function<void(std::string_view)> current_hook;

void call_hook(std::string_view name) {
    const std::shared_lock lock(hook_mutex);
    if (current_hook) {
        current_hook(name);
    }
}

} // namespace

failpoint_hook::failpoint_hook(std::function<void(std::string_view)> hook) {
    const std::lock_guard lock(hook_mutex);
    current_hook = std::move(hook);
}

failpoint_hook::~failpoint_hook() {
    const std::lock_guard lock(hook_mutex);
    current_hook = nullptr;
}

void pass_failpoint(std::string_view name) noexcept {
    call_hook(name);
    (void)stumble(name);
}

void check_failpoint(std::string_view name) {
    call_hook(name);
    if (stumble(name)) {
        throw std::runtime_error("failpoint");
    }
}

} // namespace agui

#endif
