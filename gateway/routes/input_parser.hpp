#pragma once

#include "gateway/run/requested_run.hpp"
#include "session/base/heavy_work.hpp"
#include "session/base/memory_budget.hpp"
#include "translator/chat_stream/chat_request.hpp"
#include "translator/input/part_body.hpp"
#include "translator/input/run_input.hpp"
#include "translator/input/steer_request.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>
#include <utility>

namespace agui::gateway {

/// Reads request bodies, large ones on the threads of heavy_work. Each function takes a body and
/// its memory_share, which grows by the memory that parsing needs. Safe to call from any thread;
/// must outlive the awaits.
class input_parser {
public:
    input_parser(translator::input_limits limits, heavy_work& heavy)
        : limits_(std::make_shared<const translator::input_limits>(std::move(limits))),
          heavy_(heavy) {}

    struct parsed {
        translator::run_input input; ///< Without its canonical form.
        std::string digest;          ///< input_digest() of the canonical form.
        memory_share memory;         ///< Memory of the input and its copies until its run begins.
        std::string body;            ///< The unparsed body, if it is to be kept.
    };
    /// Says whether the caller needs the body afterwards.
    enum class afterwards { free_body, keep_body };
    /// Calls translator::read_run_input(). Completes on the caller's executor.
    [[nodiscard]] boost::asio::awaitable<result<parsed>>
    read(std::string body, memory_share memory, afterwards then = afterwards::free_body);

    struct parsed_chat {
        parsed run;
        translator::chat_mode mode;
        std::string workspace_root;
    };
    /// Calls translator::read_chat_request(). Completes on the caller's executor.
    [[nodiscard]] boost::asio::awaitable<result<parsed_chat>>
    read_chat(std::string body, memory_share memory, afterwards then = afterwards::free_body);

    struct parsed_text {
        json_text text;
        memory_share memory; ///< Memory of the text and its copies until it is stored.
    };
    /// Calls translator::read_body_text(). Completes on the caller's executor.
    [[nodiscard]] boost::asio::awaitable<result<parsed_text>>
    read_text(std::string body, memory_share memory);

    struct parsed_steer {
        translator::steer_request request;
        memory_share memory; ///< Memory of the message and its copies until it is stored.
        std::string body;    ///< The unparsed body, if it is to be kept.
    };
    /// Calls translator::read_steer_request(). Completes on the caller's executor.
    [[nodiscard]] boost::asio::awaitable<result<parsed_steer>>
    read_steer(std::string body, memory_share memory, afterwards then);

    struct parsed_part {
        translator::part_body part;
        memory_share memory; ///< Memory of the file and its copies until it is stored.
    };
    /// Calls translator::read_part_body(). `link` may be called on another thread. Completes on the
    /// caller's executor.
    [[nodiscard]] boost::asio::awaitable<result<parsed_part>>
    read_part(std::string body, memory_share memory, translator::part_link link);

private:
    template <class Outcome, class What>
    [[nodiscard]] boost::asio::awaitable<Outcome>
    read_with(What what, std::string body, memory_share memory);

    /// Shared with work in progress.
    const std::shared_ptr<const translator::input_limits> limits_;
    heavy_work& heavy_;
};

/// Moves the input into a request.
void move_into(requested_run& what, input_parser::parsed input);

} // namespace agui::gateway
