#pragma once

#include "session/base/failpoint.hpp"
#include "tests/gateway/queue_fixture.hpp"
#include "tests/gateway/shared_store.hpp"
#include "tests/session/postgres/postgres_fixture.hpp"
#include "tests/support/patience.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace agui::test {

// The JSON of the events of a stream, in order.
inline std::vector<std::string> events_in(std::string_view stream) {
    std::vector<std::string> events;
    constexpr std::string_view mark = "data: ";
    for (std::size_t at = stream.find(mark); at != std::string_view::npos;
         at = stream.find(mark, at)) {
        at += mark.size();
        events.emplace_back(stream.substr(at, stream.find('\n', at) - at));
    }
    return events;
}

// The stores that two servers use at the same time.
class common_store {
public:
    virtual ~common_store() = default;
    virtual std::shared_ptr<session::store> open() = 0;
    /// The store that was opened first loses its leases and does not know it yet.
    virtual void end_first_leases() = 0;
    /// Deletes the logs of all runs.
    virtual void lose_logs() = 0;
};

class doors final : public common_store {
public:
    explicit doors(const temporary_folder& folder)
        : store_(session::make_sqlite_store({.path = folder.file("shared.db")})) {}
    std::shared_ptr<session::store> open() override { return store_.open_door(); }
    void end_first_leases() override { store_.end_leases(1); }
    void lose_logs() override {
        store_.lose_logs(1);
        store_.lose_logs(2);
    }
    [[nodiscard]] shared_store& store() noexcept { return store_; }

private:
    shared_store store_;
};

class postgres final : public common_store {
public:
    std::shared_ptr<session::store> open() override {
        auto opened = session::make_postgres_store(database_.settings());
        if (first_gateway_.empty()) {
            first_gateway_ = sql_session(database_.url())("SELECT id FROM agui.gateways");
        }
        return opened;
    }
    // Acts as another process does once they have expired.
    void end_first_leases() override {
        sql_session sql(database_.url());
        sql("UPDATE agui.gateways SET expires = clock_timestamp() - interval '1 s' WHERE id = " +
            first_gateway_);
        sql("SELECT agui.fence(" + first_gateway_ + ")");
    }
    void lose_logs() override {
        sql_session(database_.url())("DELETE FROM agui.log_rows; DELETE FROM agui.journal");
    }
    /// Simulates that a standby takes over which has the runs but nothing of their logs.
    void fail_over() {
        lose_logs();
        sql_session sql(database_.url());
        sql("UPDATE agui.runs SET last_sequence = 0");
        sql("CREATE OR REPLACE FUNCTION agui.timeline() RETURNS bigint LANGUAGE sql AS "
            "'SELECT 1000::bigint'");
    }

    /// Makes each run look as if another one had been begun with its number.
    void change_starts() {
        sql_session(database_.url())("UPDATE agui.runs SET started_at = started_at - 1000");
    }

private:
    postgres_database database_;
    std::string first_gateway_;
};

enum class common_store_kind { doors, postgres };

// Uses the fake store. The base class is for all stores.
class TwoGatewaysOfOneProcess : public server_test {
protected:
    TwoGatewaysOfOneProcess() {
        settings.server.threads = 2;
        settings.models.front().provider = gateway::model_config::provider_kind::custom;
        settings.session.busy_wait = std::chrono::milliseconds(0);
        options.provider_of = [this](const gateway::model_config&) {
            return model.make_provider();
        };
    }
    ~TwoGatewaysOfOneProcess() override { servers = {}; }

    virtual std::unique_ptr<common_store> make_common() {
        auto made = std::make_unique<doors>(folder());
        fake = &made->store();
        return made;
    }

    void start_both() {
        common = make_common();
        for (std::size_t i = 0; i < servers.size(); ++i) {
            gateway::server_options own = options;
            own.store = common->open();
            numbers[i] = own.store->gateway_number();
            servers[i] = std::make_unique<gateway::server>(settings, std::move(own));
            ports[i] = servers[i]->start();
        }
    }

    [[nodiscard]] std::uint16_t a() const { return ports[0]; }
    [[nodiscard]] std::uint16_t b() const { return ports[1]; }

    static raw_reply ask_at(std::uint16_t port, std::string_view bytes) {
        raw_client client(port);
        client.send(bytes);
        return client.read_reply(bytes.starts_with("HEAD "));
    }

    /// Sends a request, and reads until the answer contains `text`.
    static std::unique_ptr<raw_client>
    open(std::uint16_t port, std::string_view request, std::string_view text = "RUN_STARTED") {
        auto client = std::make_unique<raw_client>(port);
        client->send(request);
        const std::string head = client->read_until(text);
        EXPECT_THAT(head, ::testing::HasSubstr(text));
        return client;
    }
    static std::string rest_of(raw_client& client) { return client.read_until("\r\n0\r\n\r\n"); }

    static std::string events_path(std::string_view run_id, std::string_view query = {}) {
        return "/agui/threads/t/runs/" + std::string(run_id) + "/events" + std::string(query);
    }

    /// Waits up to ten seconds until the condition is true.
    template <class Condition>
    static bool comes_true(Condition condition) {
        const auto give_up = std::chrono::steady_clock::now() + patience;
        while (!condition()) {
            if (std::chrono::steady_clock::now() > give_up) {
                return false;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return true;
    }

    /// The result of a call of a store, without a gateway.
    template <class T>
    static result<T> outcome_of(boost::asio::awaitable<result<T>> task) {
        boost::asio::io_context context;
        auto value = boost::asio::co_spawn(context, std::move(task), boost::asio::use_future);
        context.run();
        return value.get();
    }

    /// The run that holds thread `t`, as that gateway reports it; empty if there is none.
    std::string active_run_at(std::uint16_t port) {
        const std::string body = ask_at(port, get("/agui/threads/t")).body;
        const std::size_t at = body.find(R"("activeRunId":")");
        return at == std::string::npos ? std::string()
                                       : body.substr(at + 15, body.find('"', at + 15) - at - 15);
    }

    held_model model;
    memory_logger log; ///< Used as server_options::log.
    std::unique_ptr<common_store> common;
    shared_store* fake = nullptr;
    std::array<std::unique_ptr<gateway::server>, 2> servers;
    std::array<std::uint16_t, 2> ports{};
    std::array<std::int64_t, 2> numbers{}; ///< session::store::gateway_number()
};

class TwoGateways : public TwoGatewaysOfOneProcess,
                    public ::testing::WithParamInterface<common_store_kind> {
protected:
    void SetUp() override {
        if (GetParam() == common_store_kind::postgres) {
            AGUI_NEEDS_POSTGRES();
        }
    }
    std::unique_ptr<common_store> make_common() override {
        if (GetParam() == common_store_kind::postgres) {
            return std::make_unique<postgres>();
        }
        return TwoGatewaysOfOneProcess::make_common();
    }
};

/// Names the cases of INSTANTIATE_TEST_SUITE_P.
inline std::string name_of_store(const ::testing::TestParamInfo<common_store_kind>& kind) {
    return kind.param == common_store_kind::doors ? "Fake" : "Postgres";
}

#ifdef AGUI_FAILPOINTS

// Holds the first thread that passes a place until it is released.
class held_place {
public:
    explicit held_place(std::string_view place)
        : hook_([this, place](std::string_view reached) {
              std::unique_lock lock(mutex_);
              if (reached != place || std::exchange(came_, true)) {
                  return;
              }
              changed_.notify_all();
              changed_.wait(lock, [this] { return let_go_; });
          }) {}
    ~held_place() { let_go(); }

    bool wait_until_it_comes() {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, patience, [this] { return came_; });
    }
    void let_go() {
        const std::lock_guard lock(mutex_);
        let_go_ = true;
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool came_ = false;
    bool let_go_ = false;
    failpoint_hook hook_; ///< Declared last, because it uses the other members.
};

#endif

} // namespace agui::test
