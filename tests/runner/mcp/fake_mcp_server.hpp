#pragma once

#include "runner/mcp/mcp_channel.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_to.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace agui::test {

/// An MCP server without a network, which handles each message with `answer`. It lives on one
/// thread.
class fake_mcp_server {
public:
    class channel;
    using handler = std::function<void(channel&, const boost::json::object&)>;

    class channel final : public runner::mcp_channel, public std::enable_shared_from_this<channel> {
    public:
        channel(boost::asio::any_io_executor executor, fake_mcp_server& server, int count)
            : number(count), executor_(std::move(executor)), server_(server) {}

        std::optional<runner::mcp_failure> open(receiver& to) override {
            receiver_ = &to;
            return server_.refuse_open;
        }
        void send(std::string text, std::optional<std::int64_t>) override { take(std::move(text)); }
        boost::asio::awaitable<std::optional<runner::mcp_failure>> deliver(std::string text
        ) override {
            take(std::move(text));
            if (server_.throw_delivery) {
                throw std::runtime_error("cannot deliver");
            }
            co_return server_.refuse_delivery;
        }
        boost::asio::awaitable<void> flush(std::chrono::steady_clock::time_point) override {
            ++server_.flushed;
            co_return;
        }
        void forget(std::int64_t request) override { server_.forgotten.push_back(request); }
        void use_version(std::string_view agreed) override { server_.version = agreed; }
        void listen() override { ++server_.listening; }
        boost::asio::awaitable<void> close() override {
            receiver_ = nullptr;
            ++server_.closed;
            co_return;
        }

        /// Sends a text unchanged.
        void say(std::string text) {
            boost::asio::post(
                executor_,
                [self = shared_from_this(), text = std::move(text)]() mutable {
                    if (self->receiver_ != nullptr) {
                        boost::asio::co_spawn(
                            self->executor_, self->receiver_->on_message(std::move(text)),
                            boost::asio::detached
                        );
                    }
                }
            );
        }
        void result(const boost::json::object& request, const boost::json::value& value) {
            say(boost::json::serialize(
                boost::json::object{{"jsonrpc", "2.0"}, {"id", request.at("id")}, {"result", value}}
            ));
        }
        void unanswered(const boost::json::object& request, runner::mcp_failure why) {
            const auto id = boost::json::value_to<std::int64_t>(request.at("id"));
            boost::asio::post(executor_, [self = shared_from_this(), id, why] {
                if (self->receiver_ != nullptr) {
                    self->receiver_->on_unanswered(id, why);
                }
            });
        }
        void die() {
            boost::asio::post(executor_, [self = shared_from_this()] {
                if (receiver* const to = std::exchange(self->receiver_, nullptr)) {
                    to->on_closed({.what = runner::mcp_failure::kind::lost, .detail = "it died"});
                }
            });
        }

        int number; ///< Counted from 0.

    private:
        void take(std::string text) {
            const boost::json::value message = boost::json::parse(text);
            server_.heard.push_back(std::move(text));
            boost::asio::post(executor_, [self = shared_from_this(), message] {
                self->server_.take(*self, message.as_object());
            });
        }

        boost::asio::any_io_executor executor_;
        fake_mcp_server& server_;
        receiver* receiver_ = nullptr;
    };

    std::shared_ptr<runner::mcp_channel> open(boost::asio::any_io_executor executor) {
        auto made = std::make_shared<channel>(std::move(executor), *this, channels++);
        last = made;
        return made;
    }

    /// The methods of the received messages, or `answer` for messages without one.
    [[nodiscard]] std::vector<std::string> methods() const {
        std::vector<std::string> all;
        for (const std::string& text : heard) {
            const boost::json::object message = boost::json::parse(text).as_object();
            const boost::json::value* const method = message.if_contains("method");
            all.emplace_back(method != nullptr ? std::string(method->as_string()) : "answer");
        }
        return all;
    }

    /// The tools, by name.
    void list(std::vector<std::string> names) { tools = std::move(names); }

    handler answer;  ///< Handles all messages but the handshake and tools/list.
    handler instead; ///< If set, handles all messages in place of everything else.
    std::vector<std::string> tools{"echo"};
    std::string description; ///< The description of each tool.
    std::string speaks = "2025-06-18";
    std::optional<runner::mcp_failure> refuse_open;
    std::optional<runner::mcp_failure> refuse_delivery;
    bool throw_delivery = false;
    bool refuse_lists = false; ///< Each tools/list fails.

    std::vector<std::string> heard;
    std::vector<std::int64_t> forgotten;
    std::string version;
    int channels = 0;
    int listening = 0;
    int closed = 0;
    int flushed = 0;
    int refused_lists = 0;
    std::weak_ptr<channel> last;

    /// Handles a message without `instead`.
    void respond(channel& over, const boost::json::object& message) {
        const std::string name = method_of(message);
        if (name == "initialize") {
            over.result(
                message, {{"protocolVersion", speaks},
                          {"capabilities", {{"tools", boost::json::object{}}}},
                          {"serverInfo", {{"name", "fake"}, {"version", "1"}}}}
            );
        } else if (name == "tools/list" && refuse_lists) {
            ++refused_lists;
            over.unanswered(
                message, {.what = runner::mcp_failure::kind::refused, .detail = "status 500"}
            );
        } else if (name == "tools/list") {
            boost::json::array listed;
            for (const std::string& tool : tools) {
                listed.push_back(
                    {{"name", tool},
                     {"description", description},
                     {"inputSchema", {{"type", "object"}}}}
                );
            }
            over.result(message, {{"tools", listed}});
        } else if (answer) {
            answer(over, message);
        }
    }

private:
    static std::string method_of(const boost::json::object& message) {
        const boost::json::value* const method = message.if_contains("method");
        return method != nullptr ? std::string(method->as_string()) : "";
    }
    void take(channel& over, const boost::json::object& message) {
        if (method_of(message) == "notifications/initialized") {
            return;
        }
        if (instead) {
            instead(over, message);
        } else {
            respond(over, message);
        }
    }
};

/// A result of tools/call with one text.
[[nodiscard]] inline boost::json::value text_result(std::string_view text) {
    return {{"content", boost::json::array{{{"type", "text"}, {"text", text}}}}};
}

} // namespace agui::test
