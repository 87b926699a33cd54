#pragma once

#include "session/base/memory_budget.hpp"
#include "translator/input/run_input.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include <string>

namespace agui::gateway {

/// Reads request bodies: small ones where it is called, large ones on a thread of its own, one at a
/// time, so that neither an I/O thread nor the memory has to bear several. Any thread; outlives its
/// callers.
class input_parser {
public:
    /// `budget` may be null.
    input_parser(translator::input_limits limits, memory_budget* budget)
        : limits_(limits), budget_(budget) {}
    /// Waits for the body that is being read.
    ~input_parser() { large_.join(); }
    input_parser(const input_parser&) = delete;
    input_parser& operator=(const input_parser&) = delete;

    struct parsed {
        translator::run_input input; ///< Without its canonical form.
        std::string digest;          ///< Of that form.
        memory_share memory; ///< What a large input takes until its run has begun, copies included.
    };
    /// As translator::read_run_input; errc::overloaded where the budget has no room. Takes the
    /// body.
    [[nodiscard]] boost::asio::awaitable<result<parsed>> read(std::string body);

    struct parsed_text {
        json_text text;
        memory_share memory; ///< What a large text takes until it is stored, copies included.
    };
    /// As translator::read_body_text; otherwise as read().
    [[nodiscard]] boost::asio::awaitable<result<parsed_text>> read_text(std::string body);

private:
    const translator::input_limits limits_;
    memory_budget* const budget_;
    boost::asio::thread_pool large_{1};
};

} // namespace agui::gateway
