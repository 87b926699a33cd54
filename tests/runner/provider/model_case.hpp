#pragma once

/// Shared by the tests of whole models of every dialect.

#include "runner/chat/chat_loop_with_tools.hpp"
#include "runner/http/scripted_transport.hpp"
#include "tests/support/coroutine_test.hpp"

#include <string>
#include <utility>
#include <vector>

namespace agui::test {

class model_case : public coroutine_test {
protected:
    /// Settings of a model whose server gives answers with these bodies, each once; what is asked
    /// goes into `requests`.
    template <class Settings>
    Settings playing(std::vector<std::string> bodies, Settings settings = {}) {
        std::vector<runner::scripted_answer> script;
        for (std::string& each : bodies) {
            script.emplace_back().body = std::move(each);
        }
        settings.url = "http://127.0.0.1:1";
        settings.client = runner::make_scripted_client(
            std::move(script),
            [this](const runner::transport_request& asked) { requests.push_back(asked); }
        );
        return settings;
    }

    runner::chat_result chat(
        runner::owned_model model, std::vector<session::message> messages,
        runner::chat_with_tools config = {}
    ) {
        const auto look = [](int a) {
            return "seen " + std::to_string(a);
        };
        std::vector<runner::server_tool> tools = more_tools;
        tools.insert(tools.begin(), runner::tool("look", "Looks.", {"a"}, look));
        return run(runner::chat_loop_with_tools(
            std::move(model), std::move(messages), std::move(tools), std::move(config)
        ));
    }

    std::vector<runner::transport_request> requests;
    std::vector<runner::server_tool> more_tools; ///< Offered after `look`.
};

} // namespace agui::test
