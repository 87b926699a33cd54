#include "session/postgres/pg_connection.hpp"

#include "session/base/as_result.hpp"
#include "session/postgres/pg_error.hpp"
#include "session/postgres/pg_settings.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>

#include <libpq-fe.h>

#include <array>
#include <exception>
#include <optional>
#include <unordered_map>
#include <utility>

namespace agui::session {

namespace asio = boost::asio;

namespace {

using descriptor = asio::posix::stream_descriptor;

constexpr int oldest_version = 130000;

// The statement that a message of the pipeline belongs to.
struct command {
    std::size_t statement;
    const char* prepares; ///< The text that it prepares; null if it executes the statement.
};

void ignore_notice(void* /*unused*/, const char* /*message*/) {}

} // namespace

struct pg_connection::handle {
    explicit handle(const asio::any_io_executor& executor) : socket(executor), timer(executor) {}
    ~handle() {
        stop_watching();
        PQfinish(connection);
    }
    handle(const handle&) = delete;
    handle& operator=(const handle&) = delete;

    // libpq closes its socket when it finds the connection lost, and from that moment its number
    // may be another connection's: the watched descriptor has a number of its own.
    void watch(int number) {
        const int own = ::fcntl(number, F_DUPFD_CLOEXEC, 0);
        if (own >= 0) {
            socket.assign(own);
        } // Otherwise each wait fails, as on a connection that is lost.
    }
    void stop_watching() noexcept {
        boost::system::error_code ignored;
        socket.close(ignored);
    }

    PGconn* connection = nullptr;
    descriptor socket;
    asio::steady_timer timer;
    bool is_late = false;
    bool is_usable = false;
    std::unordered_map<const char*, std::string> prepared; ///< Names, keyed by text.
    std::uint64_t last_name = 0; ///< No name is used twice: the server may not know the first use.
    std::vector<command> sent;
};

namespace {

// Cancels the wait for the socket when the deadline has passed. One at a time for each connection.
template <class Handle>
class deadline_guard {
public:
    deadline_guard(
        const std::shared_ptr<Handle>& of, std::chrono::steady_clock::time_point deadline
    )
        : handle_(of) {
        handle_->is_late = false;
        handle_->timer.expires_at(deadline);
        handle_->timer.async_wait([weak =
                                       std::weak_ptr(of)](const boost::system::error_code& error) {
            const auto held = weak.lock();
            if (!error && held) {
                held->is_late = true;
                boost::system::error_code ignored;
                held->socket.cancel(ignored);
            }
        });
    }
    ~deadline_guard() { handle_->timer.cancel(); }
    deadline_guard(const deadline_guard&) = delete;
    deadline_guard& operator=(const deadline_guard&) = delete;

private:
    std::shared_ptr<Handle> handle_;
};

} // namespace

pg_connection::pg_connection(const asio::any_io_executor& executor, bool prepares)
    : handle_(std::make_shared<handle>(executor)), prepares_(prepares) {}

pg_connection::~pg_connection() { handle_->timer.cancel(); }

bool pg_connection::is_usable() const noexcept { return handle_->is_usable; }

bool pg_connection::is_idle() const noexcept {
    return PQtransactionStatus(handle_->connection) == PQTRANS_IDLE;
}

std::string pg_connection::local_address() const {
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    std::array<char, NI_MAXHOST> text{};
    const int socket = PQsocket(handle_->connection);
    const bool is_tcp = ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
                        (own.ss_family == AF_INET || own.ss_family == AF_INET6);
    if (!is_tcp || ::getnameinfo(
                       reinterpret_cast<const sockaddr*>(&own), size, text.data(), text.size(),
                       nullptr, 0, NI_NUMERICHOST
                   ) != 0) {
        return {};
    }
    return text.data();
}

void pg_connection::abandon() noexcept {
    handle_->is_usable = false;
    handle_->is_late = true;
    boost::system::error_code ignored;
    handle_->socket.cancel(ignored);
}

void pg_connection::lose(const std::string& reason) {
    handle_->is_usable = false;
    throw pg_error("", as_one_line(reason), pg_error::effect::connection_lost);
}

void pg_connection::lose_to(const char* reason) {
    // libpq's text names host, port, user and database, but no password.
    const std::string text = PQerrorMessage(handle_->connection);
    lose(handle_->is_late && *reason != '\0' ? reason : text);
}

asio::awaitable<std::unique_ptr<pg_connection>>
pg_connection::open(const pg_target& target, bool prepares, time_point deadline) {
    std::unique_ptr<pg_connection> made(
        new pg_connection(co_await asio::this_coro::executor, prepares)
    );
    co_await made->connect(target, deadline);
    made->check_server();
    made->handle_->is_usable = true;
    co_await made->check_session(deadline);
    co_return made;
}

// libpq may use another socket after each step, if there are several addresses.
void pg_connection::use_socket() {
    const int number = PQsocket(handle_->connection);
    handle_->stop_watching();
    if (number >= 0) {
        handle_->watch(number);
    }
}

asio::awaitable<void> pg_connection::connect(const pg_target& target, time_point deadline) {
    const pg_target::options options = co_await target.resolve(deadline);
    std::vector<const char*> keywords;
    std::vector<const char*> values;
    for (const auto& [name, value] : options) {
        keywords.push_back(name.c_str());
        values.push_back(value.c_str());
    }
    keywords.push_back(nullptr);
    values.push_back(nullptr);
    const deadline_guard<handle> guard(handle_, deadline);
    handle_->connection = PQconnectStartParams(keywords.data(), values.data(), 0);
    if (handle_->connection == nullptr) {
        throw std::bad_alloc();
    }
    PQsetNoticeProcessor(handle_->connection, ignore_notice, nullptr);
    constexpr const char* late = "the PostgreSQL server did not accept the connection in time";
    if (PQstatus(handle_->connection) == CONNECTION_BAD) {
        lose_to(late);
    }
    PostgresPollingStatusType next = PGRES_POLLING_WRITING;
    while (next != PGRES_POLLING_OK) {
        use_socket();
        const auto what =
            next == PGRES_POLLING_READING ? descriptor::wait_read : descriptor::wait_write;
        const auto [error] = co_await handle_->socket.async_wait(what, as_result);
        handle_->stop_watching();
        if (error || handle_->is_late) {
            lose_to(late);
        }
        next = PQconnectPoll(handle_->connection);
        if (next == PGRES_POLLING_FAILED) {
            lose_to(late);
        }
    }
    use_socket();
    if (PQsetnonblocking(handle_->connection, 1) != 0 ||
        PQenterPipelineMode(handle_->connection) != 1) {
        lose_to(late);
    }
}

void pg_connection::check_server() {
    if (PQserverVersion(handle_->connection) < oldest_version) {
        throw pg_error(
            "", "the PostgreSQL server is older than version 13", pg_error::effect::refused
        );
    }
    const char* const encoding = PQparameterStatus(handle_->connection, "server_encoding");
    if (encoding != nullptr && std::string_view(encoding) != "UTF8") {
        throw pg_error(
            "", "the encoding of the PostgreSQL database is not UTF8", pg_error::effect::refused
        );
    }
}

// Also shows that a server answers: a pooler accepts every client, and says only then that its
// server is away.
asio::awaitable<void> pg_connection::check_session(time_point deadline) {
    std::vector<pg_statement> question;
    question.push_back(pg_statement::once(
        "SELECT pg_catalog.current_setting('transaction_read_only') OPERATOR(pg_catalog.=) 'on', "
        "pg_catalog.current_setting('default_transaction_isolation')"
    ));
    // A pooler reports its own process number.
    if (prepares_) {
        question.push_back(pg_statement::once(pg_settings_of_session));
        question.back().params.add(PQbackendPID(handle_->connection));
    }
    const std::vector<pg_rows> answer = co_await execute(std::move(question), deadline);
    if (answer.at(0).boolean(0, 0)) {
        throw pg_error(
            "",
            "the PostgreSQL server is read-only: it is a standby, or default_transaction_read_only "
            "is on",
            pg_error::effect::refused
        );
    }
    // A transaction that has waited for a lock must then read the current rows: an older snapshot
    // would let a fenced gateway write.
    if (answer.at(0).text(0, 1) != "read committed") {
        throw pg_error(
            "",
            "default_transaction_isolation of the PostgreSQL database or role must be 'read "
            "committed'",
            pg_error::effect::refused
        );
    }
    has_settings_ = prepares_ && !answer.at(1).empty();
}

void pg_connection::send(std::vector<pg_statement>& statements) {
    PGconn* const to = handle_->connection;
    handle_->sent.clear();
    std::unordered_map<const char*, std::string> preparing; // Statements prepared in this batch.
    for (std::size_t i = 0; i < statements.size(); ++i) {
        pg_statement& next = statements[i];
        const pg_params::view arguments = next.params.as_arguments();
        const int count = next.params.count();
        bool is_sent = false;
        if (prepares_ && next.sql != nullptr) {
            std::string name;
            if (const auto known = handle_->prepared.find(next.sql);
                known != handle_->prepared.end()) {
                name = known->second;
            } else if (const auto coming = preparing.find(next.sql); coming != preparing.end()) {
                name = coming->second;
            } else {
                name = "s" + std::to_string(++handle_->last_name);
                is_sent =
                    PQsendPrepare(to, name.c_str(), next.sql, count, next.params.types().data()) ==
                    1;
                if (!is_sent) {
                    lose_to("");
                }
                handle_->sent.push_back({i, next.sql});
                preparing.emplace(next.sql, name);
            }
            is_sent = PQsendQueryPrepared(
                          to, name.c_str(), count, arguments.values.data(),
                          arguments.lengths.data(), arguments.formats.data(), 1
                      ) == 1;
        } else {
            is_sent =
                PQsendQueryParams(
                    to, next.text(), count, next.params.types().data(), arguments.values.data(),
                    arguments.lengths.data(), arguments.formats.data(), 1
                ) == 1;
        }
        if (!is_sent) {
            lose_to("");
        }
        handle_->sent.push_back({i, nullptr});
        next.params = pg_params(); // libpq has copied them.
    }
    if (PQpipelineSync(to) != 1) {
        lose_to("");
    }
    // receive() takes out those that the server has refused.
    for (auto& [text, name] : preparing) {
        handle_->prepared.emplace(text, std::move(name));
    }
}

// With TLS, more than once: libpq reads 8 KB at least, a record may have 16 KB, and its remaining
// bytes do not make the socket readable.
void pg_connection::read_input() {
    const int times = PQsslInUse(handle_->connection) != 0 ? 3 : 1;
    for (int i = 0; i < times; ++i) {
        if (PQconsumeInput(handle_->connection) != 1) {
            lose_to("");
        }
    }
}

asio::awaitable<void> pg_connection::wait_readable() {
    const auto [error] = co_await handle_->socket.async_wait(descriptor::wait_read, as_result);
    if (error || handle_->is_late) {
        lose("the PostgreSQL server did not answer in time");
    }
    read_input();
}

// Bytes that the socket does not take at once wait for the server, which may itself wait until its
// answers are read.
asio::awaitable<void> pg_connection::flush() {
    using namespace asio::experimental::awaitable_operators;
    for (;;) {
        const int left = PQflush(handle_->connection);
        if (left < 0) {
            lose_to("");
        }
        if (left == 0) {
            co_return;
        }
        // Runs two waits on one executor until the first ends.
        const auto first = co_await (
            handle_->socket.async_wait(descriptor::wait_write, as_result) ||
            handle_->socket.async_wait(descriptor::wait_read, as_result)
        );
        if (handle_->is_late) {
            lose("the PostgreSQL server did not accept a request in time");
        }
        if (first.index() == 1) {
            read_input();
        }
    }
}

asio::awaitable<std::vector<pg_rows>>
pg_connection::execute(std::vector<pg_statement> statements, time_point deadline) {
    if (!handle_->is_usable) {
        lose("the connection to the PostgreSQL server is closed");
    }
    const deadline_guard<handle> guard(handle_, deadline);
    handle_->is_usable = false; // Not usable until all of the answer was read.
    send(statements);
    co_await flush();
    std::vector<pg_rows> results = co_await receive();
    co_return results;
}

asio::awaitable<std::vector<pg_rows>> pg_connection::receive() {
    PGconn* const from = handle_->connection;
    std::vector<pg_rows> results;
    std::optional<pg_error> failed;
    std::size_t at = 0; // Index in `sent`.
    for (;;) {
        while (PQisBusy(from) != 0) {
            co_await wait_readable();
        }
        std::unique_ptr<PGresult, decltype(&PQclear)> result(PQgetResult(from), PQclear);
        if (PQstatus(from) == CONNECTION_BAD) {
            // A server that ends the connection says why first.
            lose_to("");
        }
        if (!result) {
            ++at;
            continue;
        }
        const ExecStatusType status = PQresultStatus(result.get());
        if (status == PGRES_PIPELINE_SYNC) {
            break;
        }
        const command* const of = at < handle_->sent.size() ? &handle_->sent[at] : nullptr;
        const bool is_done = status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
        if (of != nullptr && of->prepares != nullptr && !is_done) {
            handle_->prepared.erase(of->prepares);
        }
        if (is_done && of != nullptr && of->prepares == nullptr) {
            results.emplace_back(result.release());
        } else if (!is_done && status != PGRES_PIPELINE_ABORTED && !failed) {
            const char* const state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
            const char* const text = PQresultErrorField(result.get(), PG_DIAG_MESSAGE_PRIMARY);
            const std::string code = state == nullptr ? "" : state;
            failed.emplace(
                code, safe_message(code, text == nullptr ? "no answer" : text),
                pg_error::effect::refused
            );
        }
    }
    // If the server does not know a name, or its plan is no longer valid, the connection is not
    // usable either.
    handle_->is_usable = !failed || !(failed->is_stale_connection());
    if (failed) {
        throw pg_error(*failed);
    }
    co_return results;
}

} // namespace agui::session
