#include "runner/http/http_transport.hpp"

#include "session/base/as_result.hpp"
#include "tests/runner/http/http_test_server.hpp"
#include "tests/support/coroutine_test.hpp"
#include "tests/support/patience.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace agui::runner {
namespace {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
using asio::ip::tcp;
using kind = transport_failure::kind;

struct certificate {
    std::string pem;
    std::string key_pem;
};

std::string text_of(BIO* bio) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    return std::string(data, static_cast<std::size_t>(size));
}

/// A self-signed certificate for the given subjectAltName ("DNS:localhost").
certificate make_certificate(const std::string& names) {
    const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
        EVP_EC_gen("P-256"), EVP_PKEY_free
    );
    const std::unique_ptr<X509, decltype(&X509_free)> made(X509_new(), X509_free);
    X509_set_version(made.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), -3600);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), 3600);
    X509_NAME* const subject = X509_get_subject_name(made.get());
    const unsigned char common_name[] = "test";
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, common_name, -1, -1, 0);
    X509_set_issuer_name(made.get(), subject);
    X509_set_pubkey(made.get(), key.get());
    for (const auto& [id, value] :
         {std::pair{NID_subject_alt_name, names},
          std::pair{NID_basic_constraints, std::string("CA:TRUE")}}) {
        const std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> extension(
            X509V3_EXT_conf_nid(nullptr, nullptr, id, value.c_str()), X509_EXTENSION_free
        );
        X509_add_ext(made.get(), extension.get(), -1);
    }
    X509_sign(made.get(), key.get(), EVP_sha256());
    const std::unique_ptr<BIO, decltype(&BIO_free)> cert_text(BIO_new(BIO_s_mem()), BIO_free);
    const std::unique_ptr<BIO, decltype(&BIO_free)> key_text(BIO_new(BIO_s_mem()), BIO_free);
    PEM_write_bio_X509(cert_text.get(), made.get());
    PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    return {text_of(cert_text.get()), text_of(key_text.get())};
}

/// The server's action after it has sent a body.
enum class then { completes_it, closes, waits };

/// Answers each request on a TLS connection with "hello" in two chunks, until the peer closes.
class tls_server {
public:
    tls_server(
        asio::io_context& context, const certificate& identity, then end = then::completes_it,
        bool tls_1_1_only = false
    )
        : tls_(ssl::context::tls_server),
          acceptor_(context, {asio::ip::make_address("127.0.0.1"), 0}),
          end_(end) {
        tls_.use_certificate(asio::buffer(identity.pem), ssl::context::pem);
        tls_.use_private_key(asio::buffer(identity.key_pem), ssl::context::pem);
        if (tls_1_1_only) {
            SSL_CTX_set_security_level(tls_.native_handle(), 0);
            SSL_CTX_set_max_proto_version(tls_.native_handle(), TLS1_1_VERSION);
        }
        asio::co_spawn(context, accept(), asio::detached);
    }

    [[nodiscard]] std::string url(const std::string& host) const {
        return "https://" + host + ":" + std::to_string(acceptor_.local_endpoint().port());
    }

    /// Sends the first bytes of a record on the last connection, and no others.
    void begin_a_record() {
        const std::string part = std::string("\x17\x03\x03\x01\x00", 5) + "some of 256 bytes";
        asio::write(*last_, asio::buffer(part));
    }

    int accepted = 0;
    std::vector<std::string> server_names; ///< The names that the clients asked for.

private:
    asio::awaitable<void> accept() {
        for (;;) {
            auto [ec, socket] = co_await acceptor_.async_accept(as_result);
            if (ec) {
                co_return;
            }
            ++accepted;
            asio::co_spawn(acceptor_.get_executor(), serve(std::move(socket)), asio::detached);
        }
    }

    asio::awaitable<void> serve(tcp::socket socket) {
        ssl::stream<tcp::socket> stream(std::move(socket), tls_);
        last_ = &stream.next_layer();
        const auto [refused] = co_await stream.async_handshake(ssl::stream_base::server, as_result);
        if (refused) {
            co_return;
        }
        const char* const name =
            SSL_get_servername(stream.native_handle(), TLSEXT_NAMETYPE_host_name);
        server_names.emplace_back(name == nullptr ? "" : name);
        std::string received;
        for (;;) {
            const auto [ec, end] = co_await asio::async_read_until(
                stream, asio::dynamic_buffer(received), "\r\n\r\n{}", as_result
            );
            if (ec) {
                co_return;
            }
            received.erase(0, end);
            std::string answer =
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n";
            answer += end_ == then::completes_it ? "0\r\n\r\n" : "";
            co_await asio::async_write(stream, asio::buffer(answer), as_result);
            if (end_ == then::closes) {
                co_return;
            }
        }
    }

    ssl::context tls_;
    tcp::acceptor acceptor_;
    then end_;
    tcp::socket* last_ = nullptr;
};

struct tls_answer {
    std::optional<kind> failure;
    std::string body;
};

asio::awaitable<tls_answer> ask(http_client& transport) {
    tls_answer answer;
    transport_request request;
    request.target = "/chat";
    request.body = "{}";
    const auto posted = co_await transport.send(request);
    if (!posted) {
        answer.failure = posted.error().what;
        co_return answer;
    }
    for (;;) {
        const auto bytes = co_await posted.value()->read();
        if (!bytes) {
            answer.failure = bytes.error().what;
            co_return answer;
        }
        if (bytes->empty()) {
            co_return answer;
        }
        answer.body.append(*bytes);
    }
}

class HttpTls : public test::coroutine_test {
protected:
    /// A transport that trusts `authority` besides the system's certificates, or only those if it
    /// is empty.
    std::shared_ptr<http_client> make(const std::string& url, const std::string& authority) {
        http_endpoint endpoint;
        endpoint.base_url = url;
        if (!authority.empty()) {
            const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
            file_ = ::testing::TempDir() + "agui-tls-" + info->name() + "-" +
                    std::to_string(::testing::UnitTest::GetInstance()->random_seed()) + "-" +
                    std::to_string(reinterpret_cast<std::uintptr_t>(this)) + ".pem";
            std::ofstream(file_) << authority;
            endpoint.ca_file = file_;
        }
        return make_http_client(endpoint).value();
    }

    void TearDown() override {
        if (!file_.empty()) {
            std::remove(file_.c_str());
        }
    }

private:
    std::string file_;
};

TEST_F(HttpTls, TalksToAServerWhoseNameAndIssuerAreRight) {
    const certificate identity = make_certificate("DNS:localhost");
    tls_server server(context(), identity);
    const auto transport = make(server.url("localhost"), identity.pem);

    const tls_answer first = run(ask(*transport));
    const tls_answer second = run(ask(*transport));

    EXPECT_EQ(first.failure, std::nullopt);
    EXPECT_EQ(first.body, "hello");
    EXPECT_EQ(second.body, "hello");
    EXPECT_EQ(server.server_names, std::vector<std::string>{"localhost"});
}

TEST_F(HttpTls, FollowsARedirectFromHttpToTheSameHost) {
    const certificate identity = make_certificate("DNS:localhost");
    tls_server secure(context(), identity);
    test::http_test_server plain(
        context(),
        [&](test::server_connection& peer) -> asio::awaitable<void> {
            co_await peer.read_request();
            co_await peer.send(
                "HTTP/1.1 308 Permanent Redirect\r\nLocation: " + secure.url("LOCALHOST") +
                "/chat\r\nContent-Length: 0\r\n\r\n"
            );
        }
    );
    const std::string url = "http://localhost:" + std::to_string(plain.port());
    const auto transport = make(url, identity.pem);

    const tls_answer first = run(ask(*transport));
    const tls_answer second = run(ask(*transport));

    EXPECT_EQ(first.failure, std::nullopt);
    EXPECT_EQ(first.body, "hello");
    EXPECT_EQ(second.body, "hello");
    EXPECT_EQ(secure.accepted, 1); // The second request uses the first one's connection.
    EXPECT_EQ(run(ask(*make(url, ""))).failure, kind::tls);
}

TEST_F(HttpTls, VerifiesAddressesToo) {
    const certificate identity = make_certificate("IP:127.0.0.1");
    tls_server server(context(), identity);

    EXPECT_EQ(run(ask(*make(server.url("127.0.0.1"), identity.pem))).body, "hello");
    EXPECT_EQ(run(ask(*make(server.url("localhost"), identity.pem))).failure, kind::tls);
    EXPECT_EQ(server.server_names.front(), "");
}

TEST_F(HttpTls, RefusesAWrongName) {
    const certificate identity = make_certificate("DNS:example.org");
    tls_server server(context(), identity);
    const auto transport = make(server.url("localhost"), identity.pem);

    EXPECT_EQ(run(ask(*transport)).failure, kind::tls);
}

TEST_F(HttpTls, RefusesAnUnknownIssuer) {
    const certificate identity = make_certificate("DNS:localhost");
    const certificate other = make_certificate("DNS:localhost");
    tls_server server(context(), identity);

    EXPECT_EQ(run(ask(*make(server.url("localhost"), ""))).failure, kind::tls);
    EXPECT_EQ(run(ask(*make(server.url("localhost"), other.pem))).failure, kind::tls);
}

TEST_F(HttpTls, RefusesOldVersionsOfTheProtocol) {
    const certificate identity = make_certificate("DNS:localhost");
    tls_server server(context(), identity, then::completes_it, true);
    const auto transport = make(server.url("localhost"), identity.pem);

    EXPECT_EQ(run(ask(*transport)).failure, kind::tls);
}

TEST_F(HttpTls, CallsACutAnswerLost) {
    const certificate identity = make_certificate("DNS:localhost");
    tls_server server(context(), identity, then::closes);
    const auto transport = make(server.url("localhost"), identity.pem);

    const tls_answer answer = run(ask(*transport));

    EXPECT_EQ(answer.failure, kind::lost);
    EXPECT_EQ(answer.body, "hello");
}

TEST_F(HttpTls, GivesUpAHandshakeThatDoesNotEnd) {
    tcp::acceptor silent(context(), {asio::ip::make_address("127.0.0.1"), 0});
    http_endpoint endpoint;
    endpoint.base_url = "https://127.0.0.1:" + std::to_string(silent.local_endpoint().port());
    endpoint.connect_timeout = std::chrono::milliseconds(20);
    const auto transport = make_http_client(endpoint).value();

    EXPECT_EQ(run(ask(*transport)).failure, kind::timeout);
}

TEST_F(HttpTls, CancellationInTheHandshakeClosesTheConnection) {
    tcp::acceptor silent(context(), {asio::ip::make_address("127.0.0.1"), 0});
    http_endpoint endpoint;
    endpoint.base_url = "https://127.0.0.1:" + std::to_string(silent.local_endpoint().port());
    const auto transport = make_http_client(endpoint).value();
    asio::cancellation_signal stop;
    tls_answer answer;
    asio::co_spawn(
        context(), ask(*transport),
        asio::bind_cancellation_slot(
            stop.slot(), [&answer](std::exception_ptr, tls_answer got) { answer = got; }
        )
    );
    // Reads the client's first message, stops the client, and reads until it has closed.
    const auto watch = [](tcp::acceptor& listener,
                          asio::cancellation_signal& signal) -> asio::awaitable<bool> {
        tcp::socket peer = co_await listener.async_accept(asio::use_awaitable);
        char bytes[4096];
        co_await peer.async_read_some(asio::buffer(bytes), asio::use_awaitable);
        signal.emit(asio::cancellation_type::terminal);
        for (;;) {
            const auto [ec, got] = co_await peer.async_read_some(asio::buffer(bytes), as_result);
            if (ec) {
                co_return true;
            }
        }
    };

    EXPECT_TRUE(run(watch(silent, stop)));
    EXPECT_EQ(answer.failure, kind::cancelled);
}

TEST_F(HttpTls, CancellationInTheBodyIsReportedAsSuch) {
    const certificate identity = make_certificate("DNS:localhost");
    tls_server server(context(), identity, then::waits);
    const auto transport = make(server.url("localhost"), identity.pem);
    asio::cancellation_signal stop;
    const auto read_on = [](http_client& client, asio::cancellation_signal& signal
                         ) -> asio::awaitable<std::optional<kind>> {
        transport_request request;
        request.target = "/chat";
        request.body = "{}";
        const auto posted = co_await client.send(request);
        std::string body;
        while (body != "hello") {
            body.append((co_await posted.value()->read()).value());
        }
        // This handler runs when the next read waits, because one thread runs both.
        asio::post(co_await asio::this_coro::executor, [&signal] {
            signal.emit(asio::cancellation_type::terminal);
        });
        const auto rest = co_await posted.value()->read();
        co_return rest ? std::nullopt : std::optional(rest.error().what);
    };
    std::optional<kind> failure;
    std::optional<bool> thrown;
    asio::co_spawn(
        context(), read_on(*transport, stop),
        asio::bind_cancellation_slot(
            stop.slot(),
            [&](std::exception_ptr error, std::optional<kind> got) {
                thrown = error != nullptr;
                failure = got;
            }
        )
    );
    while (!thrown && context().run_one_for(test::patience) > 0) {
    }

    EXPECT_EQ(thrown, false);
    EXPECT_EQ(failure, kind::cancelled);
}

// A record takes several reads of the socket. The next of them begins after the stop here.
TEST_F(HttpTls, CancellationWithinARecordIsReportedAsSuch) {
    class stopper final : public part_taker {
    public:
        explicit stopper(std::function<void()> after_hello)
            : after_hello_(std::move(after_hello)) {}
        bool take(const transport_result<std::string_view>& part) override {
            body.append(part ? *part : to_string(part.error().what));
            if (body == "hello") {
                after_hello_();
            }
            return true;
        }
        std::string body;

    private:
        const std::function<void()> after_hello_;
    };
    const certificate identity = make_certificate("DNS:localhost");
    tls_server server(context(), identity, then::waits);
    const auto transport = make(server.url("localhost"), identity.pem);
    asio::cancellation_signal stop;
    stopper taker([&] {
        server.begin_a_record();        // The next read of the socket gets it at once,
        asio::post(context(), [&stop] { // and completes after this.
            stop.emit(asio::cancellation_type::terminal);
        });
    });
    const auto read_on = [&taker](http_client& client) -> asio::awaitable<void> {
        transport_request request;
        request.target = "/chat";
        request.body = "{}";
        const auto posted = co_await client.send(request);
        co_await posted.value()->read_parts(taker);
    };
    bool ended = false;
    asio::co_spawn(
        context(), read_on(*transport),
        asio::bind_cancellation_slot(stop.slot(), [&](std::exception_ptr) { ended = true; })
    );
    // Well before the idle timeout of 60 s, which would end the read as well.
    const auto deadline = std::chrono::steady_clock::now() + test::patience / 2;
    while (!ended && std::chrono::steady_clock::now() < deadline) {
        context().run_one_until(deadline);
    }

    EXPECT_EQ(taker.body, "hellocancelled");
}

} // namespace
} // namespace agui::runner
