#include "gateway/config/config.hpp"
#include "gateway/server.hpp"
#include "tests/bench/client_shapes.hpp"
#include "tests/bench/input_side.hpp"
#include "tests/bench/server_shapes.hpp"
#include "tests/runner/http/http_test_server.hpp"
#include "tests/support/model_frames.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>

#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

namespace agui::test {

namespace {

namespace asio = boost::asio;

/// The answers of the servers that the gateway asks.
struct server_answers {
    /// The answer to the first request; later requests are answered with "Done".
    std::string model;
    std::string webhook;
    std::function<std::string(std::string_view id)> mcp; ///< Answers tools/call.
};

server_answers plain_answers() {
    return {
        http_answer("text/event-stream", text_frame("Done") + end_frames()),
        http_answer("text/plain", "sunny"),
        [](std::string_view id) {
            return http_answer(
                "application/json", R"({"jsonrpc":"2.0","id":)" + std::string(id) +
                                        R"(,"result":{"content":[{"type":"text","text":"1"}]}})"
            );
        },
    };
}

std::string_view id_in(std::string_view request) {
    constexpr std::string_view name = "\"id\":";
    const std::size_t at = request.find(name);
    if (at == request.npos) {
        return {};
    }
    const std::string_view rest = request.substr(at + name.size());
    return rest.substr(0, rest.find_first_of(",}"));
}

std::string plain_mcp(std::string_view id, std::string_view result) {
    return http_answer(
        "application/json",
        R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"result":)" + std::string(result) + "}"
    );
}

/// The model, the webhook and the MCP server, on one uncounted thread.
class asked_servers {
public:
    asked_servers()
        : guard_(asio::make_work_guard(context_)),
          server_(context_, [this](server_connection& connection) { return serve(connection); }),
          thread_([this] {
              const uncounted_thread uncounted;
              context_.run();
          }) {}

    ~asked_servers() {
        asio::post(context_, [this] {
            server_.close();
            guard_.reset();
            context_.stop();
        });
        thread_.join();
    }

    void set(server_answers answers) {
        const std::lock_guard lock(mutex_);
        answers_ = std::move(answers);
        asked_ = 0;
    }

    [[nodiscard]] std::string url(std::string_view path) const { return server_.url(path); }

private:
    asio::awaitable<void> serve(server_connection& connection) {
        for (;;) {
            const std::string request = co_await connection.read_request();
            if (request.empty()) {
                co_return;
            }
            const std::string answer = answer_to(request);
            co_await connection.send(answer);
            if (!answer.starts_with("HTTP/1.1 202") &&
                answer.find("\r\nContent-Length: ") == answer.npos) {
                co_return; // Closing the connection ends the answer.
            }
        }
    }

    std::string answer_to(std::string_view request) {
        const std::lock_guard lock(mutex_);
        if (request.find(" /hook") < 20) {
            return answers_.webhook;
        }
        if (request.find(" /mcp") < 20) {
            return mcp_answer(request);
        }
        return ++asked_ == 1 ? answers_.model : plain_answers().model;
    }

    std::string mcp_answer(std::string_view request) {
        if (request.find("\"tools/call\"") != request.npos) {
            return answers_.mcp(id_in(request));
        }
        if (request.find("\"tools/list\"") != request.npos) {
            return plain_mcp(id_in(request), R"({"tools":[{"name":"t","inputSchema":{}}]})");
        }
        if (request.find("\"initialize\"") != request.npos) {
            return plain_mcp(
                id_in(request), R"({"protocolVersion":"2025-06-18","capabilities":{"tools":{}}})"
            );
        }
        return request.starts_with("POST")
                   ? "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
                   : "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n";
    }

    std::mutex mutex_;
    server_answers answers_ = plain_answers();
    int asked_ = 0;
    asio::io_context context_{1};
    asio::executor_work_guard<asio::io_context::executor_type> guard_;
    http_test_server server_;
    std::thread thread_;
};

gateway::config config_for(const asked_servers& servers) {
    const std::string text =
        "[server]\nlisten = \"127.0.0.1:0\"\nthreads = 1\nmax_connections = 300\n"
        "trusted_proxies = [\"127.0.0.1\"]\n"
        "[session]\nstore = \"memory:\"\naccept_client_system = true\n"
        "[models.main]\nprovider = \"openai\"\nmodel = \"m\"\nbase_url = \"" +
        servers.url("/v1") + "\"\nreasoning_tags = \"<think>\"\n" +
        "[[tools.webhook]]\nname = \"hook\"\ndescription = \"d\"\nparameters = "
        "'{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"list\":{\"type\":"
        "\"array\",\"items\":{\"type\":\"object\",\"required\":[\"x\"]}}}}'\nurl = \"" +
        servers.url("/hook") + "\"\n[[mcp_servers]]\nname = \"m\"\nurl = \"" + servers.url("/mcp") +
        "\"\n[[tools.external]]\nname = \"paint\"\ndescription = \"d\"\n" +
        "[[agents]]\nid = \"default\"\nmodels = [\"main\"]\n[[agents]]\nid = \"items\"\n"
        "models = [\"main\"]\nreply_format = \"items\"\n";
    auto loaded = gateway::load_config({.file = {}, .text = text, .overrides = {}});
    if (!loaded) {
        throw std::runtime_error("the configuration of the search cannot be used");
    }
    return std::move(*loaded);
}

/// A gateway in this process, with one thread. It is replaced now and then, so that the memory it
/// keeps does not grow without end.
class searched_gateway {
public:
    void begin_anew() {
        server_.reset();
        server_.emplace(config_for(servers_), options());
        port_ = server_->start();
    }

    asked_servers& servers() { return servers_; }

    /// Sends a request and reads until the gateway closes the connection. Returns the answer.
    std::string ask(std::string_view bytes) const {
        asio::io_context context;
        asio::ip::tcp::socket socket(context);
        socket.connect({asio::ip::make_address("127.0.0.1"), port_});
        boost::system::error_code ec;
        asio::write(socket, asio::buffer(bytes.data(), bytes.size()), ec);
        std::string answer;
        asio::read(socket, asio::dynamic_buffer(answer), ec);
        return answer;
    }

private:
    static gateway::server_options options() {
        gateway::server_options made;
        made.log = &null_logger();
        return made;
    }

    asked_servers servers_;
    std::optional<gateway::server> server_;
    std::uint16_t port_ = 0;
};

std::string request(std::string_view method, std::string_view path, std::string_view body = {}) {
    return std::string(method) + " " + std::string(path) +
           " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
           "Content-Type: application/json\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

std::string run_body(std::string_view run) {
    return R"({"threadId":"t","runId":")" + std::string(run) + R"(","messages":[{"id":"u)" +
           std::string(run) + R"(","role":"user","content":"hi"}],"tools":[],"context":[]})";
}

std::string model_calls(std::string_view tool) {
    return http_answer(
        "text/event-stream", call_frame("c1", tool, "{}") + end_frames("tool_calls")
    );
}

/// How one side sends a shape to the gateway.
using plan = std::function<std::size_t(searched_gateway&, const seeded_shape&, cost_meter&)>;

/// The status of an answer and its number of bytes.
std::string told(const std::string& answer) {
    return answer.substr(0, answer.find('\r')) + ", " + std::to_string(answer.size()) + " bytes";
}

void step(
    searched_gateway& gateway, cost_meter& meter, std::string_view name, const std::string& bytes
) {
    meter.measure(name, [&] { return told(gateway.ask(bytes)); }, true);
}

/// A run, then the routes that read its thread, and another run on it.
void run_and_read(
    searched_gateway& gateway, cost_meter& meter, const std::string& path, const std::string& body
) {
    step(gateway, meter, "run", request("POST", path, body));
    gateway.servers().set(plain_answers());
    step(gateway, meter, "messages", request("GET", "/agui/threads/t/messages"));
    step(gateway, meter, "next run", request("POST", "/agui", run_body("r9")));
    step(gateway, meter, "list", request("GET", "/agui/threads"));
}

class gateway_side final : public input_side {
public:
    gateway_side(std::string_view name, std::shared_ptr<searched_gateway> gateway, plan what)
        : name_(name), gateway_(std::move(gateway)), plan_(std::move(what)) {}

    [[nodiscard]] std::string_view name() const noexcept override { return name_; }

    std::size_t feed(std::uint32_t seed, std::size_t bytes, cost_meter& meter) override {
        const uncounted_thread uncounted;
        // Each shape gets an empty gateway that has already served a request.
        gateway_->servers().set(plain_answers());
        gateway_->begin_anew();
        (void)gateway_->ask(request(
            "POST", "/agui",
            R"({"threadId":"first","runId":"r",)"
            R"("messages":[{"id":"u","role":"user",)"
            R"("content":"hi"}]})"
        ));
        return plan_(*gateway_, seeded_shape(seed, bytes), meter);
    }

    [[nodiscard]] std::string describe(std::uint32_t seed) const override {
        return "seed " + std::to_string(seed);
    }

private:
    std::string_view name_;
    std::shared_ptr<searched_gateway> gateway_;
    plan plan_;
};

std::size_t feed_run(searched_gateway& gateway, const seeded_shape& shape, cost_meter& meter) {
    const std::string first = run_input_of(shape, 0);
    step(gateway, meter, "first", request("POST", "/agui", first));
    step(gateway, meter, "second", request("POST", "/agui", run_input_of(shape, 1)));
    step(gateway, meter, "messages", request("GET", "/agui/threads/t/messages"));
    return first.size();
}

std::size_t feed_chat(searched_gateway& gateway, const seeded_shape& shape, cost_meter& meter) {
    const std::string body = chat_request_of(shape);
    step(gateway, meter, "first", request("POST", "/chat/stream", body));
    step(gateway, meter, "second", request("POST", "/chat/stream", body));
    step(gateway, meter, "messages", request("GET", "/agui/threads/t/messages"));
    return body.size();
}

std::size_t feed_thread(searched_gateway& gateway, const seeded_shape& shape, cost_meter& meter) {
    (void)gateway.ask(request("POST", "/agui", run_body("r0")));
    const std::string body = thread_patch_of(shape);
    step(gateway, meter, "patch", request("PATCH", "/agui/threads/t", body));
    step(gateway, meter, "list", request("GET", "/agui/threads"));
    return body.size();
}

std::size_t feed_state(searched_gateway& gateway, const seeded_shape& shape, cost_meter& meter) {
    (void)gateway.ask(request("POST", "/agui", run_body("r0")));
    const std::string body = state_of(shape);
    step(gateway, meter, "patch", request("PATCH", "/agui/threads/t/state", body));
    step(gateway, meter, "read", request("GET", "/agui/threads/t/state"));
    step(gateway, meter, "next run", request("POST", "/agui", run_body("r9")));
    return body.size();
}

std::size_t feed_part(searched_gateway& gateway, const seeded_shape& shape, cost_meter& meter) {
    (void)gateway.ask(request("POST", "/agui", run_body("r0")));
    const std::string body = part_of(shape);
    step(gateway, meter, "part", request("POST", "/agui/threads/t/parts", body));
    return body.size();
}

std::size_t feed_head(searched_gateway& gateway, const seeded_shape& shape, cost_meter& meter) {
    const std::string head =
        head_of(shape, std::string(shape.pick("path", {"/agui/threads", "/healthz", "/x"})));
    step(gateway, meter, "get", head);
    return head.size();
}

std::size_t feed_model(searched_gateway& gateway, const seeded_shape& shape, cost_meter& meter) {
    // Each flood is read in every way.
    constexpr std::uint32_t readers = 4;
    const bool is_flood = shape.seed() <= readers * model_floods;
    const std::size_t reader =
        is_flood ? (shape.seed() - 1) % readers : shape.pick("reader", readers + 2);
    server_answers answers = plain_answers();
    answers.model = model_answer_of(
        is_flood ? seeded_shape((shape.seed() - 1) / readers + 1, shape.bytes()) : shape
    );
    const std::size_t bytes = answers.model.size();
    gateway.servers().set(std::move(answers));
    switch (reader) {
    case 0:
        run_and_read(
            gateway, meter, "/chat/stream",
            R"({"sessionId":"t","message":"hi","responseMode":"incremental"})"
        );
        break;
    case 1:
        run_and_read(
            gateway, meter, "/chat/stream",
            R"({"sessionId":"t","message":"hi","responseMode":"full"})"
        );
        break;
    case 2:
        run_and_read(gateway, meter, "/agui/agents/items", run_body("r0"));
        break;
    default:
        run_and_read(gateway, meter, "/agui", run_body("r0"));
    }
    return bytes;
}

std::size_t feed_webhook(searched_gateway& gateway, const seeded_shape& shape, cost_meter& meter) {
    server_answers answers = plain_answers();
    answers.model = model_calls("hook");
    answers.webhook = webhook_answer_of(shape);
    const std::size_t bytes = answers.webhook.size();
    gateway.servers().set(std::move(answers));
    if (shape.chance("chat", 3)) {
        run_and_read(gateway, meter, "/chat/stream", R"({"sessionId":"t","message":"hi"})");
    } else {
        run_and_read(gateway, meter, "/agui", run_body("r0"));
    }
    return bytes;
}

std::size_t feed_mcp(searched_gateway& gateway, const seeded_shape& shape, cost_meter& meter) {
    server_answers answers = plain_answers();
    answers.model = model_calls("mcp__m__t");
    const std::size_t bytes = mcp_result_of(shape, "1").size();
    answers.mcp = [shape](std::string_view id) {
        return mcp_result_of(shape, id);
    };
    gateway.servers().set(std::move(answers));
    run_and_read(gateway, meter, "/agui", run_body("r0"));
    return bytes;
}

} // namespace

void add_gateway_sides(input_sides& to) {
    const auto gateway = std::make_shared<searched_gateway>();
    const auto add = [&](std::string_view name, plan what) {
        to.push_back(std::make_unique<gateway_side>(name, gateway, std::move(what)));
    };
    add("run", feed_run);
    add("chat", feed_chat);
    add("thread", feed_thread);
    add("state", feed_state);
    add("part", feed_part);
    add("head", feed_head);
    add("model", feed_model);
    add("webhook", feed_webhook);
    add("mcp-result", feed_mcp);
}

} // namespace agui::test
