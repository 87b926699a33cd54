#pragma once

#include "session/store/store.hpp"

#include <libpq-fe.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

namespace agui::test {

/// The URL of the server for tests (tests/postgres.sh); empty if there is none.
inline std::string postgres_server() {
    const char* const url = std::getenv("AGUI_TEST_POSTGRES");
    return url == nullptr ? "" : url;
}

/// The reason why tests that need the server cannot run. With AGUI_REQUIRE_POSTGRES it is a
/// failure.
inline constexpr const char* no_postgres =
    "AGUI_TEST_POSTGRES is not set: start a server with tests/postgres.sh";

/// Fails or skips the test if there is no server. To be called first in SetUp().
#define AGUI_NEEDS_POSTGRES()                                                                      \
    if (::agui::test::postgres_server().empty()) {                                                 \
        if (std::getenv("AGUI_REQUIRE_POSTGRES") != nullptr) {                                     \
            FAIL() << ::agui::test::no_postgres;                                                   \
        }                                                                                          \
        GTEST_SKIP() << ::agui::test::no_postgres;                                                 \
    }

/// A blocking session on the server, to observe and disturb the code under test.
class sql_session {
public:
    explicit sql_session(const std::string& url) : connection_(PQconnectdb(url.c_str()), PQfinish) {
        if (PQstatus(connection_.get()) != CONNECTION_OK) {
            throw std::runtime_error(PQerrorMessage(connection_.get()));
        }
        PQsetNoticeProcessor(connection_.get(), [](void*, const char*) {}, nullptr);
        (*this)("SET application_name = 'agui-test'");
    }

    /// The first value of the last statement's first row; empty if there is none, or if it is NULL.
    std::string operator()(const std::string& statements) {
        const std::unique_ptr<PGresult, decltype(&PQclear)> result(
            PQexec(connection_.get(), statements.c_str()), PQclear
        );
        const ExecStatusType status = PQresultStatus(result.get());
        if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
            throw std::runtime_error(PQerrorMessage(connection_.get()));
        }
        const bool has_value = PQntuples(result.get()) > 0 && PQnfields(result.get()) > 0;
        return has_value ? PQgetvalue(result.get(), 0, 0) : "";
    }

private:
    std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

/// A new, empty database, dropped with the object.
class postgres_database {
public:
    postgres_database() : name_(next_name()) {
        sql_session server(postgres_server());
        server("CREATE DATABASE " + name_);
    }
    ~postgres_database() {
        try {
            sql_session server(postgres_server());
            server("DROP DATABASE IF EXISTS " + name_ + " WITH (FORCE)");
        } catch (const std::exception& error) {
            ADD_FAILURE() << "cannot drop a test's database: " << error.what();
        }
    }
    postgres_database(const postgres_database&) = delete;
    postgres_database& operator=(const postgres_database&) = delete;

    [[nodiscard]] std::string url() const {
        const std::string server = postgres_server();
        if (!server.starts_with("postgres")) {
            return server + " dbname=" + name_;
        }
        return server + (server.find('?') == std::string::npos ? '?' : '&') + "dbname=" + name_;
    }
    /// Settings of a store in the database. With AGUI_TEST_PGBOUNCER, they have libpq's `key=value`
    /// form without a database and lead through that pooler.
    [[nodiscard]] session::postgres_settings settings() const {
        session::postgres_settings given;
        given.url = url();
        if (const char* const pooler = std::getenv("AGUI_TEST_PGBOUNCER")) {
            given.url = std::string(pooler) + " dbname=" + name_;
            given.prepared = false;
        }
        return given;
    }
    /// Ends all sessions in the database except those of sql_session, as a server does that shuts
    /// down.
    void end_sessions() const {
        sql_session server(postgres_server());
        server(
            "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE datname = "
            "'" +
            name_ + "' AND application_name <> 'agui-test'"
        );
    }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

private:
    static std::string next_name() {
        static std::atomic<int> count{0};
        return "agui_test_" + std::to_string(::getpid()) + "_" + std::to_string(++count);
    }

    std::string name_;
};

} // namespace agui::test
