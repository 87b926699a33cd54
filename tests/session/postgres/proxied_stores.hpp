#pragma once

#include "tests/session/postgres/cutting_proxy.hpp"
#include "tests/session/postgres/postgres_stores.hpp"

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

namespace agui::test {

inline session::queued_request request_of(std::string run_id) {
    session::queued_request request;
    request.run_id = std::move(run_id);
    return request;
}
inline constexpr session::queue_limits no_limits{.requests = 1000, .bytes = 1U << 30U};

/// Stores on one database, some of which reach the server through a proxy.
class proxied_stores : public postgres_stores {
protected:
    void SetUp() override {
        postgres_stores::SetUp();
        if (database_) {
            sql_session session(database_->url());
            const std::string folder = session("SHOW unix_socket_directories");
            if (folder.empty()) {
                FAIL() << "the server has no socket for the proxy: start it with tests/postgres.sh";
            }
            proxy_ = std::make_unique<cutting_proxy>(folder + "/.s.PGSQL." + session("SHOW port"));
        }
    }

    [[nodiscard]] session::postgres_settings settings_through_proxy() {
        session::postgres_settings through = settings();
        through.url = "postgresql:///" + database_->name() + "?host=" + proxy_->folder() +
                      "&port=5432&user=" + sql("SELECT current_user");
        through.prepared = false; // This way COMMIT is sent as text.
        through.pool = 2;
        return through;
    }

    std::unique_ptr<cutting_proxy> proxy_;
};

} // namespace agui::test
