#pragma once

#include <iosfwd>
#include <optional>
#include <string>

namespace agui::gateway {

/// `agui-gateway threads export | import | purge`: what the command line asks for.
struct threads_command {
    enum class action { copy_out, copy_in, purge };
    action what = action::copy_out;
    std::string socket;
    /// The threads that are meant: all, those of one user (who may be the empty one), or one.
    std::optional<std::string> user;
    bool nobody = false; ///< purge: `user` is the empty one on purpose.
    std::string tenant;
    std::optional<std::string> thread;
    bool skip_existing = false; ///< import: threads that exist are no failure.
    bool dry_run = false;       ///< purge: only counts.
    bool yes = false;           ///< purge: asks nothing.
};

/// Why the command cannot be carried out, for its user; empty if it can.
[[nodiscard]] std::string problem_of(const threads_command& command);

/// Carries it out through the socket. An export is written to `out`, an import read from `in`, and
/// everything for people goes to `log`. With `asks`, a purge without `yes` asks through `log` and
/// `in`; otherwise it is refused. Returns the exit status: 0 if all was done, 1 if a part failed, 2
/// if the purge was refused. Throws std::runtime_error if the gateway cannot be reached, or breaks
/// off.
[[nodiscard]] int run_threads_command(
    const threads_command& command, std::istream& in, std::ostream& out, std::ostream& log,
    bool asks
);

} // namespace agui::gateway
