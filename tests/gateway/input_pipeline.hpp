#pragma once

#include "gateway/run/run_settings.hpp"
#include "runner/tools/tool_registry.hpp"
#include "session/store/store.hpp"

#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <memory>
#include <string_view>

namespace agui::test {

/// Takes a request through all steps before its run, without a server: reads, plans, applies and
/// stores it, and makes the history of a model request.
class input_pipeline {
public:
    input_pipeline(std::unique_ptr<session::store> store, session::history_policy policy);

    /// Returns false if the request was refused. Throws if the store fails.
    bool post(std::string_view body);

private:
    [[nodiscard]] boost::asio::awaitable<bool> take(std::string_view body);

    boost::asio::io_context context_{1};
    std::unique_ptr<session::store> store_;
    gateway::run_settings settings_;
    gateway::agent_entry agent_;
    runner::tool_registry tools_;
    std::size_t requests_ = 0;
};

} // namespace agui::test
