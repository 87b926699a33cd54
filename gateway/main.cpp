// The command line of agui-gateway. Exit status: 0 served and stopped, 1 failed while running, 2
// the command line or the configuration is wrong.

#include "gateway/config/config.hpp"
#include "gateway/control/threads_command.hpp"
#include "gateway/demo.hpp"
#include "gateway/heap_trim.hpp"
#include "gateway/mcp_listing.hpp"
#include "gateway/server.hpp"

#include <CLI/CLI.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace agui;

constexpr int exit_failed = 1;
constexpr int exit_usage = 2;
/// Time for tools that ignore their cancellation; then the process ends without them.
constexpr std::chrono::seconds patience_after_drain{5};

struct command_line {
    gateway::config_sources sources;
    std::string listen;
    bool demo = false;
    bool check_config = false;
    bool print_config = false;
    bool print_mcp_tools = false;
    gateway::threads_command threads;
    std::optional<gateway::threads_command::action> threads_action; ///< Set for `threads`.
};

/// A new folder in the system's temporary folder, removed when the object is destroyed.
class temporary_folder {
public:
    temporary_folder() {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "agui-demo-XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr) {
            throw std::runtime_error("cannot create a temporary folder");
        }
        path_ = pattern;
    }
    ~temporary_folder() { remove(); }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;

    void remove() noexcept {
        std::error_code ignored; // The system cleans up the rest.
        std::filesystem::remove_all(path_, ignored);
    }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
};

/// Each connection needs a descriptor, and the usual soft limit of 1024 is far below the hard
/// limit.
void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        // If it fails, the server has room for fewer connections, and says so.
        (void)::setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int serve(
    gateway::config settings, const gateway::config_sources& sources, bool demo,
    temporary_folder* folder
) {
    gateway::server_options options;
    options.handle_signals = true;
    options.demo_page = demo;
    if (demo) {
        options.tools = runner::tool_registry(gateway::demo_tools());
    }
    // A demo without secrets ends with its terminal, so it keeps the default SIGHUP.
    if (!demo || settings.auth) {
        options.read_config = [sources] {
            return gateway::load_config(sources);
        };
    }
    options.script_of = [](const gateway::model_config&) {
        return gateway::demo_script();
    };
    gateway::server server(std::move(settings), std::move(options));
    server.start();
    std::cout << "listening on " << server.url() << std::endl; // Flushed, because scripts read it.
    if (!server.wait_bounded(patience_after_drain)) {
        std::cerr << "agui-gateway: an operation ignores its cancellation; exiting without waiting "
                     "for it\n";
        if (folder != nullptr) {
            folder->remove();
        }
        std::_Exit(0);
    }
    return 0;
}

int run(command_line arguments) {
    std::optional<temporary_folder> folder;
    if (arguments.demo) {
        folder.emplace();
        arguments.sources.text = gateway::demo_config(folder->path());
    }
    if (!arguments.demo && arguments.sources.file.empty() && arguments.sources.overrides.empty()) {
        std::cerr << "a configuration is needed: --config FILE, or --demo to look around\n";
        return exit_usage;
    }
    if (!arguments.listen.empty()) {
        arguments.sources.overrides.push_back("server.listen=" + arguments.listen);
    }
    auto loaded = gateway::load_config(arguments.sources);
    if (!loaded) {
        for (const std::string& line : loaded.error().lines) {
            std::cerr << line << '\n';
        }
        return exit_usage;
    }
    const auto scripted = std::ranges::find(
        loaded->models, gateway::model_config::provider_kind::scripted,
        &gateway::model_config::provider
    );
    if (!arguments.demo && scripted != loaded->models.end()) {
        std::cerr << "models." << scripted->name
                  << ".provider: scripted models are played by agui-replay serve\n";
        return exit_usage;
    }
    if (arguments.print_config) {
        std::cout << gateway::print_config(*loaded);
    }
    if (arguments.check_config || arguments.print_config) {
        for (const std::string& line : gateway::warnings_of(*loaded)) {
            std::cerr << "warning: " << line << '\n';
        }
        return 0;
    }
    if (arguments.print_mcp_tools) {
        return gateway::print_mcp_tools(*loaded, std::cout, std::cerr) ? 0 : exit_failed;
    }
    return serve(
        std::move(*loaded), arguments.sources, arguments.demo, folder ? &*folder : nullptr
    );
}

/// Takes the path of the socket from the configuration, unless it is given. Returns false, and says
/// why, if the configuration cannot be read.
bool find_socket(command_line& arguments) {
    std::string& socket = arguments.threads.socket;
    if (!socket.empty() ||
        (arguments.sources.file.empty() && arguments.sources.overrides.empty())) {
        return true;
    }
    const auto loaded = gateway::load_config(arguments.sources);
    if (!loaded) {
        for (const std::string& line : loaded.error().lines) {
            std::cerr << line << '\n';
        }
        std::cerr << "with --socket PATH, no configuration is needed\n";
        return false;
    }
    socket = loaded->server.control_socket;
    return true;
}

int run_threads(command_line arguments) {
    arguments.threads.what = *arguments.threads_action;
    if (!find_socket(arguments)) {
        return exit_usage;
    }
    if (const std::string problem = problem_of(arguments.threads); !problem.empty()) {
        std::cerr << problem << '\n';
        return exit_usage;
    }
    return run_threads_command(
        arguments.threads, std::cin, std::cout, std::cerr, ::isatty(STDIN_FILENO) != 0
    );
}

/// Adds `threads export | import | purge`.
void add_threads(CLI::App& app, command_line& arguments) {
    using action = gateway::threads_command::action;
    auto* threads = app.add_subcommand(
        "threads", "Copy or remove the threads of users, through a running gateway"
    );
    threads->require_subcommand(1);
    const auto add = [&](const char* name, const char* about, action what) {
        auto* command = threads->add_subcommand(name, about);
        gateway::threads_command& given = arguments.threads;
        command->add_option("--socket", given.socket, "server.control_socket of the gateway")
            ->type_name("PATH");
        command
            ->add_option("--config", arguments.sources.file, "Take the socket from this TOML file")
            ->type_name("FILE");
        command->add_option("--user", given.user, "Only the threads of this user")
            ->type_name("NAME");
        command->add_option("--tenant", given.tenant, "The tenant of the user")->type_name("NAME");
        command->add_option("--thread", given.thread, "Only the thread with this id")
            ->type_name("ID");
        command->callback([&arguments, what] { arguments.threads_action = what; });
        return command;
    };
    add("export", "Write threads to standard output, as JSON lines", action::copy_out);
    add("import", "Read threads of an export from standard input", action::copy_in)
        ->add_flag(
            "--skip-existing", arguments.threads.skip_existing,
            "Leave threads that exist as they are"
        );
    auto* purge = add("purge", "Remove everything that is kept of a user", action::purge);
    purge->add_flag("--dry-run", arguments.threads.dry_run, "Only count the threads");
    purge
        ->add_flag_callback(
            "--nobody",
            [&given = arguments.threads] {
                given.nobody = true;
                given.user = "";
            },
            "Instead of --user: the threads of a gateway without users"
        )
        ->excludes("--user");
    purge->add_flag("--yes", arguments.threads.yes, "Do not ask");
}

} // namespace

int main(int argc, char** argv) {
    // A peer that has closed is an error code of the write, not a signal.
    std::signal(SIGPIPE, SIG_IGN);
    command_line arguments;
    CLI::App app{"AG-UI gateway: serves model servers to web apps as AG-UI event streams."};
    app.name("agui-gateway");
    auto* file = app.add_option("--config", arguments.sources.file, "Read this TOML file")
                     ->type_name("FILE");
    app.add_option(
           "--listen", arguments.listen, "Listen on this address instead of the configured one"
    )
        ->type_name("ADDR:PORT");
    app.add_option("--set", arguments.sources.overrides, "Override one key of the configuration")
        ->type_name("key.path=value")
        ->allow_extra_args(false);
    app.add_flag("--demo", arguments.demo, "Serve a scripted model and a page, to try the gateway")
        ->excludes(file);
    app.add_flag("--check-config", arguments.check_config, "Check the configuration and exit");
    app.add_flag(
        "--print-config", arguments.print_config,
        "Print the configuration with all defaults and exit"
    );
    app.add_flag(
        "--print-mcp-tools", arguments.print_mcp_tools,
        "Print the tools of the MCP servers, with the digests that accept them, and exit"
    );
    add_threads(app, arguments);
    app.set_version_flag("--version", "agui-gateway " AGUI_VERSION);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : exit_usage;
    }
    try {
        if (arguments.threads_action) {
            std::signal(SIGPIPE, SIG_DFL); // `| head` ends an export.
            return run_threads(std::move(arguments));
        }
        raise_descriptor_limit();
        const gateway::heap_trim trim;
        return run(std::move(arguments));
    } catch (const std::exception& error) {
        std::cerr << "agui-gateway: " << error.what() << '\n';
        return exit_failed;
    }
}
