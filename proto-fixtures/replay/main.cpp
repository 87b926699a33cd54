#include "proto-fixtures/replay/checker.hpp"
#include "proto-fixtures/replay/fixture.hpp"
#include "proto-fixtures/replay/recording.hpp"
#include "proto-fixtures/replay/serve.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

namespace {

/// Exit status: 0 all pass, 1 some fail or cannot be read.
int check(
    const std::vector<std::filesystem::path>& folders, bool verbose, bool sqlite,
    const std::filesystem::path& record
) {
    std::size_t passed = 0;
    std::size_t failed = 0;
    for (const std::filesystem::path& where : folders) {
        std::vector<std::filesystem::path> found;
        try {
            found = agui::replay::find_fixtures(where);
        } catch (const agui::replay::fixture_error& error) {
            std::cout << "FAIL " << error.what() << '\n';
            ++failed;
        }
        for (const std::filesystem::path& folder : found) {
            std::vector<std::string> report;
            try {
                agui::replay::fixture loaded = agui::replay::load_fixture(folder);
                if (sqlite) {
                    loaded.settings.config.session.store =
                        agui::gateway::session_config::store_kind::sqlite;
                }
                std::optional<agui::replay::recording> files;
                if (!record.empty()) {
                    files.emplace(record / std::filesystem::relative(folder, where));
                }
                report = agui::replay::check_fixture(
                    loaded, std::chrono::seconds(20), files ? &*files : nullptr
                );
            } catch (const std::exception& error) {
                report.push_back(std::string("  ") + error.what());
            }
            const std::string name = std::filesystem::weakly_canonical(folder).filename().string();
            if (report.empty()) {
                ++passed;
                if (verbose) {
                    std::cout << "ok   " << name << '\n';
                }
                continue;
            }
            ++failed;
            std::cout << "FAIL " << name << '\n';
            for (const std::string& line : report) {
                std::cout << line << '\n';
            }
        }
    }
    std::cout << passed << " passed, " << failed << " failed" << std::endl;
    return failed == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app("Checks and serves recorded transcripts of the AG-UI gateway.", "agui-replay");
    app.require_subcommand(1);

    std::vector<std::filesystem::path> folders;
    bool verbose = false;
    bool sqlite = false;
    std::filesystem::path record;
    CLI::App* checking = app.add_subcommand("check", "Play fixtures in process and compare");
    checking->add_option("DIR", folders, "A fixture, or a folder of fixtures")->required();
    checking->add_flag(
        "--sqlite", sqlite, "Store all conversations in SQLite, whatever the fixtures say"
    );
    checking->add_option("--record", record, "A folder for the streams of all runs that end");
    checking->add_flag("-v,--verbose", verbose, "Name the fixtures that pass, too");

    std::filesystem::path folder;
    agui::replay::serve_options options;
    std::int64_t pace = 0;
    CLI::App* serving = app.add_subcommand("serve", "A gateway whose model is the transcript");
    serving->add_option("DIR", folder, "A fixture")->required();
    serving->add_option("--listen", options.listen, "ADDRESS:PORT; port 0: a free one")
        ->capture_default_str();
    serving
        ->add_option(
            "--cors-origin", options.cors_origins, "Origin of a page that is served elsewhere"
        )
        ->allow_extra_args(false);
    serving->add_option("--pace", pace, "Milliseconds before each frame of the model")
        ->check(CLI::NonNegativeNumber);
    serving->add_option("--stall-after", options.stall_after, "The model stops after N frames");
    serving->add_option(
        "--drop-after", options.drop_after, "The model's connection is lost after N frames"
    );
    serving->add_option("--repeat", options.repeat, "The model sends frame N (from 0) twice");

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    try {
        if (checking->parsed()) {
            return check(folders, verbose, sqlite, record);
        }
        options.pace = std::chrono::milliseconds(pace);
        return agui::replay::serve(agui::replay::load_fixture(folder), options);
    } catch (const std::exception& error) {
        std::cerr << "agui-replay: " << error.what() << '\n';
        return 1;
    }
}
