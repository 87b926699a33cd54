#include "tests/gateway/server_fixture.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <chrono>

namespace agui::test {
runner::scripted_answer say(std::string_view text) {
    runner::scripted_answer answer;
    answer.body = text_frame(text) + end_frames();
    return answer;
}

runner::scripted_answer call_tool(std::string_view name, std::string_view arguments) {
    runner::scripted_answer answer;
    answer.body = call_frame("c1", name, arguments) + end_frames("tool_calls");
    return answer;
}

runner::scripted_answer say_and_stall(std::string_view text) {
    runner::scripted_answer answer;
    answer.body = text_frame(text);
    answer.stall_after_frames = 1;
    return answer;
}

runner::scripted_answer flood() {
    runner::scripted_answer made = say_and_stall(std::string(8'000, 'x'));
    const std::string piece = made.body;
    for (int i = 0; i < 4'000; ++i) {
        made.body += piece;
    }
    made.stall_after_frames = 4'000;
    made.pace = std::chrono::milliseconds(1);
    return made;
}

std::string run_body(std::string_view thread_id, std::string_view run_id, std::string_view text) {
    return boost::json::serialize(boost::json::value{
        {"threadId", thread_id},
        {"runId", run_id},
        {"messages", {{{"id", std::string(run_id) + "-u"}, {"role", "user"}, {"content", text}}}},
        {"tools", boost::json::array()},
        {"context", boost::json::array()},
        {"state", nullptr},
        {"forwardedProps", boost::json::object()}
    });
}

std::string post(std::string_view path, std::string_view body, std::string_view headers) {
    std::string request = "POST ";
    request.append(path).append(" HTTP/1.1\r\nHost: localhost\r\n");
    request.append("Content-Type: application/json\r\nContent-Length: ");
    request.append(std::to_string(body.size())).append("\r\n");
    request.append(headers).append("\r\n").append(body);
    return request;
}

std::string get(std::string_view path, std::string_view headers) {
    std::string request = "GET ";
    request.append(path).append(" HTTP/1.1\r\nHost: localhost\r\n").append(headers).append("\r\n");
    return request;
}

std::string error_code(const raw_reply& reply) {
    boost::system::error_code ec;
    const boost::json::value body = boost::json::parse(reply.body, ec);
    if (ec || !body.is_object() || !body.get_object().contains("error")) {
        return "no error body: " + reply.body;
    }
    return std::string(body.at("error").at("code").as_string());
}

server_test::server_test() {
    settings = gateway::load_config({
                                        .file = {},
                                        .text = "[server]\n"
                                                "listen = \"127.0.0.1:0\"\n"
                                                "threads = 1\n"
                                                // The usual limit of open files suffices for these.
                                                "max_connections = 300\n"
                                                "[session]\n"
                                                "store = \"memory:\"\n"
                                                "[models.main]\n"
                                                "provider = \"scripted\"\n"
                                                "script = \"test\"\n",
                                        .overrides = {},
                                    })
                   .value();
    options.log = &null_logger();
    options.script_of = [this](const gateway::model_config&) {
        return [this](const runner::transport_request&) {
            return std::optional(answer);
        };
    };
}

server_test::~server_test() = default;

boost::json::value server_test::json_of(std::string_view path) const {
    const raw_reply reply = ask(get(path));
    EXPECT_EQ(reply.status, 200) << path << ": " << reply.body;
    boost::system::error_code ec;
    boost::json::value body = boost::json::parse(reply.body, ec);
    EXPECT_FALSE(ec) << reply.body;
    return body;
}

void server_test::use_sqlite(std::string_view name) {
    settings.session.store = gateway::session_config::store_kind::sqlite;
    settings.session.sqlite_path = folder_.file(name);
}

void server_test::start() {
    server = std::make_unique<gateway::server>(settings, std::move(options));
    port_ = server->start();
}

raw_reply server_test::ask(std::string_view bytes) const {
    raw_client client(port_);
    client.send(bytes);
    return client.read_reply(bytes.starts_with("HEAD "));
}

} // namespace agui::test
