#include "gateway/control/control_routes.hpp"

#include "gateway/auth/caller.hpp"
#include "gateway/control/copied_thread.hpp"
#include "gateway/control/copy_source.hpp"
#include "gateway/control/thread_lines.hpp"
#include "gateway/http/http_error.hpp"
#include "gateway/http/query.hpp"
#include "session/base/heavy_work.hpp"
#include "session/base/pause.hpp"
#include "session/store/store_failures.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;
namespace json = boost::json;

namespace {

constexpr std::size_t page_size = 200;
/// A stopped run ends within a second; another process may need a moment more to free its thread.
constexpr std::chrono::seconds removal_patience{20};
constexpr std::chrono::milliseconds between_tries{100};
/// Where the audit has an address for others.
constexpr std::string_view control_address = "control socket";

http_reply reply_with(const json::object& body, int status = 200) {
    http_reply reply;
    reply.status = status;
    reply.body = json::serialize(body);
    return reply;
}

/// The value of a parameter that a request must have. It may be empty.
result<std::string> required(const query_parameters& query, std::string_view name) {
    const std::string* const value = query.find(name);
    if (value == nullptr) {
        return failure{errc::invalid_input, "is missing", std::string(name)};
    }
    return *value;
}

/// The parameters of a request that concerns one user.
struct user_query {
    query_parameters parameters;
    std::string principal; ///< The principal named by `user` and `tenant`.
};

result<user_query> user_in(query_parameters parameters) {
    const auto user = required(parameters, "user");
    if (!user) {
        return user.error();
    }
    const std::string* const tenant = parameters.find("tenant");
    std::string principal = principal_of(tenant == nullptr ? std::string() : *tenant, *user);
    return user_query{std::move(parameters), std::move(principal)};
}

result<user_query> user_in(const http_request& request) {
    auto parameters = parse_query(request.query);
    return parameters ? user_in(std::move(*parameters)) : result<user_query>(parameters.error());
}

/// The thread that the parameters `user`, `tenant` and `thread` name.
result<session::thread_key> thread_in(const http_request& request) {
    const auto query = user_in(request);
    if (!query) {
        return query.error();
    }
    const auto thread = required(query->parameters, "thread");
    if (!thread) {
        return thread.error();
    }
    return session::thread_key{query->principal, *thread};
}

json::object to_json(const caller_name& name) {
    return {{"tenant", name.tenant}, {"user", name.user}};
}

class control_handlers {
public:
    explicit control_handlers(control_parts parts) : parts_(std::move(parts)) {}

    asio::awaitable<handler_reply> list_users(http_request& request) {
        auto query = parse_query(request.query);
        if (!query) {
            co_return to_reply(query.error());
        }
        std::optional<std::string> after;
        if (query->find("user") != nullptr) {
            after = user_in(*std::move(query))->principal;
        }
        const auto page = co_await parts_.store.principals(std::move(after), page_size);
        if (!page) {
            co_return to_reply(page.error());
        }
        json::array users;
        for (const std::string& each : *page) {
            users.push_back(to_json(name_of(each)));
        }
        co_return reply_with({{"users", std::move(users)}});
    }

    asio::awaitable<handler_reply> list_threads(http_request& request) {
        const auto query = user_in(request);
        if (!query) {
            co_return to_reply(query.error());
        }
        session::thread_query wanted;
        wanted.principal = query->principal;
        wanted.limit = page_size;
        wanted.archived = has_parameter(request.query, "archived");
        if (const std::string* const cursor = query->parameters.find("cursor")) {
            wanted.cursor = *cursor;
        }
        const auto page = co_await parts_.store.list(std::move(wanted));
        if (!page) {
            co_return to_reply(page.error());
        }
        json::array threads;
        for (const session::thread_summary& each : page->threads) {
            threads.emplace_back(each.key.thread_id);
        }
        co_return reply_with({{"threads", std::move(threads)}, {"nextCursor", page->next_cursor}});
    }

    asio::awaitable<handler_reply> export_thread(http_request& request) {
        const auto key = thread_in(request);
        if (!key) {
            co_return to_reply(key.error());
        }
        memory_share kept(budget_of(heavy()));
        auto copy = co_await read_for_copy(parts_.store, *key, kept);
        if (!copy) {
            co_return to_reply(copy.error());
        }
        if (!copy->has_value()) {
            co_return to_reply(session::no_such_thread());
        }
        note(request, audit_event::thread_exported, *key);
        co_return stream_reply{
            make_copy_source(parts_.store, heavy(), std::move(kept), std::move(**copy))
        };
    }

    asio::awaitable<handler_reply> import_thread(http_request& request) {
        memory_share kept(budget_of(heavy()));
        auto read = co_await run_heavy(
            heavy(), request.body.size(),
            [lines = std::move(request.body), &kept, now = parts_.time.now()] {
                return read_thread_lines(lines, kept, now);
            }
        );
        if (!read) {
            co_return to_reply(read.error());
        }
        const session::thread_key key = read->key;
        const auto stored = co_await parts_.store.restore(std::move(*read));
        if (!stored) {
            co_return to_reply(stored.error());
        }
        if (*stored) {
            note(request, audit_event::thread_imported, key);
        }
        co_return reply_with({{"imported", *stored}});
    }

    asio::awaitable<handler_reply> remove_thread(http_request& request) {
        const auto key = thread_in(request);
        if (!key) {
            co_return to_reply(key.error());
        }
        const auto removed = co_await remove(*key);
        if (!removed) {
            co_return to_reply(removed.error());
        }
        if (*removed) {
            note(request, audit_event::thread_deleted, *key);
        }
        co_return reply_with({{"removed", *removed}});
    }

    asio::awaitable<handler_reply> forget_user(http_request& request) {
        const auto query = user_in(request);
        if (!query) {
            co_return to_reply(query.error());
        }
        const std::string& principal = query->principal;
        if (const auto left = co_await parts_.runs.forget_ephemeral(principal); !left) {
            co_return to_reply(left.error());
        }
        const auto gone = co_await parts_.store.forget_principal(principal);
        if (!gone) {
            co_return to_reply(gone.error());
        }
        if (parts_.forget_principal) {
            parts_.forget_principal(principal);
        }
        note(request, audit_event::user_purged, {principal, {}});
        co_return reply_with({{"rights", gone->rights}, {"attachments", gone->attachments}});
    }

    asio::awaitable<handler_reply> scrub(http_request&) {
        const auto done = co_await parts_.store.scrub();
        co_return done ? reply_with({{"scrubbed", true}}) : to_reply(done.error());
    }

private:
    [[nodiscard]] heavy_work* heavy() const noexcept { return parts_.runs.services().heavy; }

    /// Stops what runs or waits there, holds the thread like a run, and removes it.
    asio::awaitable<result<bool>> remove(session::thread_key key) {
        const auto give_up = std::chrono::steady_clock::now() + removal_patience;
        for (;;) {
            const auto stopped = co_await parts_.runs.cancel(key, std::nullopt);
            if (!stopped) {
                co_return stopped.error();
            }
            const auto taken = co_await parts_.store.acquire(key, {});
            if (taken) {
                co_return co_await remove_held(parts_.store, *taken, parts_.forget_thread);
            }
            if (taken.error().code != errc::thread_busy ||
                std::chrono::steady_clock::now() > give_up) {
                co_return taken.error();
            }
            co_await pause(between_tries);
        }
    }

    void note(const http_request& request, audit_event what, const session::thread_key& key) const {
        if (parts_.audit != nullptr) {
            parts_.audit->write(
                {.what = what,
                 .principal = request.principal(),
                 .address = control_address,
                 .owner = key.principal,
                 .thread = key.thread_id,
                 .outcome = "ok"}
            );
        }
    }

    const control_parts parts_;
};

} // namespace

std::vector<route> make_control_routes(control_parts parts) {
    const auto handlers = std::make_shared<control_handlers>(std::move(parts));
    using handler = asio::awaitable<handler_reply> (control_handlers::*)(http_request&);
    const auto row = [&](std::string_view method, std::string pattern, handler what) {
        return route{
            .method = method,
            .pattern = std::move(pattern),
            .handler = [handlers,
                        what](http_request& request) { return ((*handlers).*what)(request); },
            .access = route_access::needs(scope::admin)
        };
    };
    return {
        row("GET", "/users", &control_handlers::list_users),
        row("GET", "/threads", &control_handlers::list_threads),
        row("GET", "/thread", &control_handlers::export_thread),
        row("POST", "/thread", &control_handlers::import_thread),
        row("DELETE", "/thread", &control_handlers::remove_thread),
        row("POST", "/forget", &control_handlers::forget_user),
        row("POST", "/scrub", &control_handlers::scrub),
    };
}

} // namespace agui::gateway
