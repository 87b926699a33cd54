#pragma once

#include "tests/session/postgres/cutting_proxy.hpp"
#include "tests/session/postgres/postgres_stores.hpp"

#include <memory>

namespace agui::test {

/// Stores whose connections can be cut.
class proxied_stores : public postgres_stores {
protected:
    void SetUp() override {
        postgres_stores::SetUp();
        if (!database_) {
            return;
        }
        sql_session session(database_->url());
        const std::string folder = session("SHOW unix_socket_directories");
        if (folder.empty()) {
            FAIL() << "the server has no socket for the proxy: start it with tests/postgres.sh";
        }
        proxy_ = std::make_unique<cutting_proxy>(folder + "/.s.PGSQL." + session("SHOW port"));
    }

    /// Of a store that is behind the proxy.
    [[nodiscard]] session::postgres_settings through() {
        session::postgres_settings given = settings();
        given.url = "postgresql:///" + database_->name() + "?host=" + proxy_->folder() +
                    "&port=5432&user=" + sql("SELECT current_user");
        given.prepared = false; // So that COMMIT is seen as text.
        given.pool = 2;
        return given;
    }

    std::unique_ptr<cutting_proxy> proxy_;
};

} // namespace agui::test
