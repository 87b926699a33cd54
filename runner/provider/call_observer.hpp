#pragma once

#include "runner/base/model_provider.hpp"
#include "runner/base/secret_cutter.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace agui::runner {

/// Sees the calls of providers: each request as it is sent, and how its call ended. Called on any
/// thread; must not block.
class call_observer {
public:
    virtual ~call_observer() = default;

    /// Larger bodies are not passed on: the copies would take memory that no budget counts.
    static constexpr std::size_t body_bytes_max = 4U << 20U;

    /// The request is about to be sent, with a body of `bytes` bytes. `body` is that body without
    /// secrets (secret_cutter); nullopt if it is larger than body_bytes_max. It holds neither the
    /// URL nor headers. `request` is valid during the call. Returns the call's number for ended().
    [[nodiscard]] virtual std::uint64_t
    sending(const model_request& request, std::size_t bytes, std::optional<std::string> body) = 0;

    /// Follows each sending(), also after a cancellation or an exception.
    virtual void ended(std::uint64_t call, const model_outcome& outcome) = 0;
};

/// Tells an observer of one call. Used by one coroutine at a time.
class call_report {
public:
    explicit call_report(call_observer& to) : to_(to) {}
    call_report(const call_report&) = delete;
    call_report& operator=(const call_report&) = delete;
    /// A call that ends by an exception counts as cancelled.
    ~call_report() {
        if (call_) {
            to_.ended(
                *call_, model_failure{.what = model_failure::kind::cancelled, .detail = "cancelled"}
            );
        }
    }

    void begin(const model_request& request, std::string_view body, const secret_cutter& secrets) {
        std::optional<std::string> shown;
        if (body.size() <= call_observer::body_bytes_max) {
            // A mark may be longer than the secret in its place.
            shown = secrets.cut(body, std::numeric_limits<std::size_t>::max());
        }
        call_ = to_.sending(request, body.size(), std::move(shown));
    }
    void end(const model_outcome& outcome) {
        if (call_) {
            to_.ended(*std::exchange(call_, std::nullopt), outcome);
        }
    }

private:
    call_observer& to_;
    std::optional<std::uint64_t> call_; ///< Nullopt unless a request was sent and has not ended.
};

} // namespace agui::runner
