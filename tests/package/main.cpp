// Starts a gateway on a free port and stops it again.

#include "gateway/config/config.hpp"
#include "gateway/demo.hpp"
#include "gateway/server.hpp"

#include <iostream>
#include <utility>

int main(int argc, char** argv) {
    if (argc != 2) {
        return 2;
    }
    auto settings = agui::gateway::load_config(
        {.file = {},
         .text = agui::gateway::demo_config(argv[1]),
         .overrides = {"server.listen=127.0.0.1:0"}}
    );
    if (!settings) {
        return 2;
    }
    agui::gateway::server_options options;
    options.script_of = [](const agui::gateway::model_config&) {
        return agui::gateway::demo_script();
    };
    agui::gateway::server server(std::move(*settings), std::move(options));
    const auto port = server.start();
    server.request_stop();
    server.wait();
    std::cout << "served on port " << port << '\n';
    return port == 0 ? 1 : 0;
}
