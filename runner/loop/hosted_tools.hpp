#pragma once

#include "runner/base/model_provider.hpp"
#include "runner/tools/run_context.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {

/// The tools that the servers of a run's models execute, shown as activities of the type
/// `hosted-tool`, `{tool, status}`. Lives on the run's executor.
class hosted_tools {
public:
    explicit hosted_tools(std::shared_ptr<run_context> context) noexcept
        : context_(std::move(context)) {}

    /// See model_sink::on_hosted_tool(). The end of a tool that is not running changes nothing.
    void on(std::string_view id, std::string_view name, hosted_tool state);
    /// Shows that the tools that are running will not end.
    void stop();

private:
    struct running {
        std::string id;
        std::string activity;
    };
    void show_end(const running& tool, std::string_view status) const;

    std::shared_ptr<run_context> context_; ///< May be null: then nothing is shown.
    std::vector<running> running_;
};

} // namespace agui::runner
