#pragma once

#include "gateway/config/config.hpp"
#include "gateway/runs/run_service.hpp"
#include "gateway/server_parts.hpp"
#include "proto-fixtures/replay/fixture.hpp"
#include "runner/tools/tool_registry.hpp"
#include "session/base/clock.hpp"
#include "session/base/id.hpp"
#include "session/base/log.hpp"
#include "session/base/mutex.hpp"
#include "session/store/store.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace agui::replay {

/// A new folder below the system's folder for temporary files, removed with all it holds.
class temporary_folder {
public:
    temporary_folder();
    ~temporary_folder();
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

/// The model server of a fixture: gives its answers in order, and remembers the requests. Safe to
/// use from several threads.
class scripted_model {
public:
    /// Replaces the answers that are still unused.
    void expect(const std::vector<model_turn>& turns);
    /// The bodies of the requests since expect(), in order.
    [[nodiscard]] std::vector<std::string> asked() const;
    [[nodiscard]] std::optional<runner::scripted_answer>
    answer(const runner::transport_request& request);

private:
    mutable mutex mutex_;
    std::vector<runner::scripted_answer> answers_ AGUI_GUARDED_BY(mutex_);
    std::vector<std::string> asked_ AGUI_GUARDED_BY(mutex_);
};

/// The registry of a fixture's server tools.
[[nodiscard]] runner::tool_registry make_canned_tools(const std::vector<canned_tool>& tools);

/// A gateway without its HTTP side, built for one fixture. Call close() before destroying it.
class stage {
public:
    explicit stage(const fixture_settings& settings);
    ~stage();
    stage(const stage&) = delete;
    stage& operator=(const stage&) = delete;

    /// To be called first, and again after close() to play the restarted process.
    [[nodiscard]] boost::asio::awaitable<void> open();
    /// Ends all runs and closes the store.
    [[nodiscard]] boost::asio::awaitable<void> close();

    [[nodiscard]] gateway::run_service& service() { return *service_; }
    [[nodiscard]] session::store& store() { return *store_; }
    [[nodiscard]] scripted_model& model() { return script_; }
    [[nodiscard]] manual_clock& time() { return time_; }
    [[nodiscard]] memory_logger& log() { return log_; }
    [[nodiscard]] const gateway::config& config() const noexcept { return config_; }

private:
    temporary_folder folder_;
    gateway::config config_;
    manual_clock time_;
    sequential_ids ids_; // Continues across a restart, so that ids stay unique like random ones.
    memory_logger log_;
    scripted_model script_;
    runner::tool_registry tools_;
    gateway::provider_map providers_;
    std::unique_ptr<session::store> store_;
    std::unique_ptr<gateway::run_service> service_;
};

} // namespace agui::replay
