#pragma once

#include "session/base/log.hpp"
#include "session/base/mutex.hpp"

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

namespace agui::gateway {

/// Logs the origins of pages that were refused, so that the operator can allow them. Each is logged
/// once, at most 50 in all, because anybody can make up origins. Safe to call from any thread.
class refused_origins {
public:
    explicit refused_origins(logger& log) : log_(log) {}
    refused_origins(const refused_origins&) = delete;
    refused_origins& operator=(const refused_origins&) = delete;

    void report(std::string_view origin);

private:
    static constexpr std::size_t most_ = 50;
    static constexpr std::size_t most_bytes_ = 256;

    logger& log_;
    mutex mutex_;
    std::set<std::string, std::less<>> told_ AGUI_GUARDED_BY(mutex_);
};

} // namespace agui::gateway
