#pragma once

#include "gateway/runs/requested_run.hpp"
#include "session/base/memory_budget.hpp"
#include "translator/input/run_input.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include <cstddef>
#include <string>

namespace agui::gateway {

/// Reads request bodies: small ones where it is called; those above 256 KB on one thread and those
/// above 4 MB on another, each one at a time, so that no I/O thread is blocked, several large
/// bodies never take memory at once, and a photo does not wait for them. Safe to call from any
/// thread; must outlive its callers.
class input_parser {
public:
    /// `budget` may be null.
    input_parser(translator::input_limits limits, memory_budget* budget)
        : limits_(limits), budget_(budget) {}
    /// Waits until the bodies being read are done.
    ~input_parser() {
        mid_size_.join();
        large_.join();
    }
    input_parser(const input_parser&) = delete;
    input_parser& operator=(const input_parser&) = delete;

    struct parsed {
        translator::run_input input; ///< Without its canonical form.
        std::string digest;          ///< Digest of the canonical form.
        memory_share
            memory; ///< The memory of a large input until its run has begun, copies included.
    };
    /// As translator::read_run_input; errc::overloaded if the budget has no room. Consumes the
    /// body.
    [[nodiscard]] boost::asio::awaitable<result<parsed>> read(std::string body);

    struct parsed_text {
        json_text text;
        memory_share memory; ///< The memory of a large text until it is stored, copies included.
    };
    /// As translator::read_body_text; otherwise as read().
    [[nodiscard]] boost::asio::awaitable<result<parsed_text>> read_text(std::string body);

private:
    [[nodiscard]] boost::asio::thread_pool& lane_of(std::size_t bytes) noexcept;

    const translator::input_limits limits_;
    memory_budget* const budget_;
    boost::asio::thread_pool mid_size_{1};
    boost::asio::thread_pool large_{1};
};

/// The input as part of a request.
void move_into(requested_run& what, input_parser::parsed input);

} // namespace agui::gateway
