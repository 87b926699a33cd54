#pragma once

#include "gateway/config/config.hpp"
#include "gateway/server.hpp"
#include "tests/gateway/raw_client.hpp"
#include "tests/support/model_frames.hpp"
#include "tests/support/temporary_folder.hpp"

#include <boost/json/value.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace agui::test {

/// An answer that says `text` in one piece.
[[nodiscard]] runner::scripted_answer say(std::string_view text);
/// An answer that calls one tool, with the id `c1`.
[[nodiscard]] runner::scripted_answer
call_tool(std::string_view name, std::string_view arguments = "{}");
/// An answer that says `text` and then waits until it is cancelled.
[[nodiscard]] runner::scripted_answer say_and_stall(std::string_view text);

/// An answer of 32 MB, ten times as fast as a slow reader reads, that does not end before the
/// reader is cut off.
[[nodiscard]] runner::scripted_answer flood();

/// The JSON of a RunAgentInput with one user message.
[[nodiscard]] std::string
run_body(std::string_view thread_id, std::string_view run_id, std::string_view text = "hello");

/// A POST of JSON with Host and length; `headers` are whole lines.
[[nodiscard]] std::string
post(std::string_view path, std::string_view body, std::string_view headers = {});
[[nodiscard]] std::string get(std::string_view path, std::string_view headers = {});

/// The code in the JSON body of an error.
[[nodiscard]] std::string error_code(const raw_reply& reply);

/// A server on a free port of 127.0.0.1, with one thread, the store in memory and a scripted model.
class server_test : public ::testing::Test {
protected:
    server_test();
    ~server_test() override;

    /// Starts with the current `settings` and `options`.
    void start();
    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    /// Sends one request on a new connection.
    raw_reply ask(std::string_view bytes) const;

    /// The JSON that a GET of the path answers with.
    boost::json::value json_of(std::string_view path) const;

    /// Makes SQLite the store, in a folder that is removed after the test.
    void use_sqlite(std::string_view name = "agui.db");
    /// The folder, for other files of the test.
    [[nodiscard]] const temporary_folder& folder() const noexcept { return folder_; }

    gateway::config settings;
    gateway::server_options options;
    /// The model's answer to every request.
    runner::scripted_answer answer = say("Hello");

private:
    temporary_folder folder_; // Declared before the server, which has files in it.
    std::uint16_t port_ = 0;

protected:
    std::unique_ptr<gateway::server> server;
};

} // namespace agui::test
