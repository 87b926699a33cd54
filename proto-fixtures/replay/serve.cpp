#include "proto-fixtures/replay/serve.hpp"

#include "gateway/server.hpp"
#include "proto-fixtures/replay/stage.hpp"
#include "proto-fixtures/replay/transcript.hpp"

#include <iostream>
#include <memory>
#include <utility>

namespace agui::replay {

namespace {

void add_faults(runner::scripted_answer& answer, const serve_options& options) {
    if (options.pace.count() > 0) {
        answer.pace = options.pace;
    }
    if (options.stall_after) {
        answer.stall_after_frames = options.stall_after;
    }
    if (options.drop_after) {
        answer.drop_after_frames = options.drop_after;
    }
    if (options.repeat) {
        answer.repeat_frame = options.repeat;
    }
}

} // namespace

int serve(const fixture& what, const serve_options& options) {
    const temporary_folder folder; // Holds the server's database, so destroyed after the server.
    gateway::config config = what.settings.config;
    config.server.listen = options.listen;
    config.server.cors_origins.insert(
        config.server.cors_origins.end(), options.cors_origins.begin(), options.cors_origins.end()
    );
    config.session.sqlite_path = (folder.path() / "agui.db").string();

    gateway::server_options extras;
    extras.tools = make_canned_tools(what.settings.server_tools);
    extras.handle_signals = true;
    const auto model = std::make_shared<transcript>(what);
    extras.script_of = [model, options](const gateway::model_config&) -> runner::script {
        return [model, options](const runner::transport_request& request) {
            auto answer = model->answer(request);
            if (answer) {
                add_faults(*answer, options);
            }
            return answer;
        };
    };

    gateway::server server(std::move(config), std::move(extras));
    server.start();
    std::cout << "listening on " << server.url() << std::endl; // Flushed, because scripts read it.
    server.wait();
    return 0;
}

} // namespace agui::replay
