#include "tests/gateway/gated_model.hpp"

#include "tests/support/model_frames.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <string_view>
#include <utility>
#include <vector>

namespace agui::test {

namespace asio = boost::asio;

namespace {

struct piece {
    /// The number of the run's events, earlier answers included, that let the piece through.
    int after;
    std::string_view data;
};

const std::vector<piece> calls_tools = {
    {0, R"({"choices":[{"index":0,"delta":{"role":"assistant","reasoning_content":"Hm."}}]})"},
    {1, R"({"choices":[{"index":0,"delta":{"content":"Let me "}}]})"},
    {2, R"({"choices":[{"index":0,"delta":{"content":"see."}}]})"},
    {3,
     R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"count","arguments":"{\"n\":"}}]}}]})"
    },
    {5,
     R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}}]})"
    },
    {6,
     R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"count","arguments":"{}"}}]}}]})"
    },
    {7, R"({"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]})"},
};

const std::vector<piece> speaks = {
    {0, R"({"choices":[{"index":0,"delta":{"role":"assistant","content":"Two "}}]})"},
    {15, R"({"choices":[{"index":0,"delta":{"content":"of them."}}]})"},
    {16, R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})"},
};

const std::vector<piece> goes_on = {
    {0, R"({"choices":[{"index":0,"delta":{"role":"assistant","content":"fine"}}]})"},
    {0, R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})"},
};

} // namespace

gated_model::gated_model()
    : server_(context_, [this](server_connection& peer) { return serve(peer); }),
      url_(server_.url("/v1")),
      thread_([this] { context_.run(); }) {}

gated_model::~gated_model() {
    context_.stop();
    thread_.join();
}

void gated_model::start_over() {
    asio::post(context_, [this] {
        // A question of the conversation before gets no answer if it arrives late.
        gate_->held = true;
        gate_->moved.cancel();
        gate_ = std::make_shared<gate>(context_);
    });
}

void gated_model::let_through() {
    asio::post(context_, [this] {
        ++gate_->passed;
        gate_->moved.cancel();
    });
}

void gated_model::hold() {
    asio::post(context_, [this] {
        gate_->held = true;
        gate_->moved.cancel();
    });
}

asio::awaitable<void> gated_model::serve(server_connection& peer) {
    for (;;) {
        std::string request = co_await peer.read_request();
        if (request.empty()) {
            co_return;
        }
        ++open_;
        const bool complete = co_await play(peer, std::move(request));
        --open_;
        if (!complete) {
            ++cut_off_;
            co_return;
        }
    }
}

asio::awaitable<bool> gated_model::play(server_connection& peer, std::string request) {
    const std::shared_ptr<gate> at = gate_;
    const bool goes = request.find("go on") != std::string::npos;
    const bool has_results = request.find(R"("role":"tool")") != std::string::npos;
    const std::vector<piece>& answer = goes ? goes_on : has_results ? speaks : calls_tools;
    bool begun = false;
    for (const piece& one : answer) {
        const bool passed = goes || co_await pass(peer, at, one.after);
        if (!passed) {
            co_return false;
        }
        if (!std::exchange(begun, true)) {
            co_await peer.send(chunked_header);
        }
        co_await peer.send(chunk(model_frame(one.data)));
    }
    co_await peer.send(chunk(model_frame("[DONE]")) + chunk(""));
    co_return true;
}

// Returns false if the model is held and the reader has closed.
asio::awaitable<bool>
gated_model::pass(server_connection& peer, std::shared_ptr<gate> at, int events) {
    while (!at->held && at->passed < events) {
        at->moved.expires_at(asio::steady_timer::time_point::max());
        (void)co_await at->moved.async_wait(asio::as_tuple(asio::use_awaitable));
    }
    if (!at->held) {
        co_return true;
    }
    co_await peer.wait_for_close();
    co_return false;
}

} // namespace agui::test
