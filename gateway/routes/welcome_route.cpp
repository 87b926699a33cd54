#include "gateway/routes/welcome_route.hpp"

#include "gateway/http/http_error.hpp"
#include "gateway/http/static_files.hpp"

#include <memory>
#include <string_view>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

// The page has a style sheet and an empty icon, without which browsers would ask for one.
constexpr std::string_view welcome_csp =
    "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

constexpr std::string_view style = R"(:root { color-scheme: light dark; }
body { font: 1rem/1.6 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem; }
code { font-size: 0.95em; overflow-wrap: anywhere; }
)";

constexpr std::string_view page_begin = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>agui-gateway</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="welcome.css">
</head>
<body>
<main>
<h1>agui-gateway</h1>
<p>This server runs agents and streams their events to your app by the
<a href="https://docs.ag-ui.com">AG-UI protocol</a>. It has no page of its own here.</p>
<ul>
<li>Your app sends its requests to <code>POST agui</code> below this address.</li>
)";

constexpr std::string_view page_end =
    R"(<li><a href="readyz">readyz</a> says whether the server is ready.</li>
<li>The documentation is the <code>README.md</code> that comes with the program. <code>agui-gateway --demo</code> starts a
chat to try it with.</li>
</ul>
</main>
</body>
</html>
)";

std::string page_with(const std::string& copilotkit_path, bool console) {
    std::string page(page_begin);
    if (!copilotkit_path.empty()) {
        // A path in the configuration has no characters that HTML must escape.
        page.append("<li>A page of CopilotKit has this address with <code>")
            .append(copilotkit_path)
            .append("</code> as its <code>runtimeUrl</code>.</li>\n");
    }
    if (console) {
        page.append("<li>The <a href=\"console/\">console</a> shows threads, runs and what models "
                    "are sent.</li>\n");
    }
    return page.append(page_end);
}

http_reply text_reply(std::string_view type, std::string_view body) {
    http_reply reply;
    reply.content_type = type;
    reply.body = body;
    reply.headers = {
        {"Content-Security-Policy", std::string(welcome_csp)},
        {"Referrer-Policy", "no-referrer"},
        {"Cache-Control", "no-cache"},
        {"Vary", "Accept"}
    };
    return reply;
}

asio::awaitable<handler_reply>
welcome(std::shared_ptr<const std::string> page, http_request& request) {
    if (request.path == "/" && asks_for_page(request)) {
        co_return text_reply("text/html; charset=utf-8", *page);
    }
    if (request.path == "/welcome.css") {
        co_return text_reply("text/css; charset=utf-8", style);
    }
    co_return to_reply(http_errc::not_found, "There is nothing at this path.");
}

} // namespace

route make_welcome_route(const std::string& copilotkit_path, bool console) {
    return {
        .method = "GET",
        // A row for `/` alone would answer other methods there with 405.
        .pattern = "/*",
        .handler = [page = std::make_shared<const std::string>(page_with(copilotkit_path, console)
                    )](http_request& request) { return welcome(page, request); },
        .access = route_access::open(),
        .any_host = true
    };
}

} // namespace agui::gateway
