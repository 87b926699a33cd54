#include "gateway/peers/peer_client.hpp"

#include "gateway/peers/entry_frames.hpp"
#include "gateway/peers/peer_reader.hpp"
#include "gateway/peers/peer_request.hpp"
#include "runner/base/stop_source.hpp"
#include "runner/base/timeout.hpp"
#include "runner/http/http_transport.hpp"
#include "session/base/change_signal.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

namespace agui::gateway {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

// Allows for one loss of the first packet.
constexpr auto connect_time = 3s;
// The gateway answers from memory.
constexpr auto open_time = 3s;
// A run must end first. A gateway that takes longer also gets the stop through the store, so that
// it takes effect soon.
constexpr auto stop_time = 1s;
// A superseded run ends at once, or the message is refused.
constexpr auto give_way_time = 2s;
// Gateways with nothing to stop answer at once. Others get the stop through the store.
constexpr auto others_time = 300ms;
constexpr auto all_time = 1s;
// A request may wait for its body in transit, the store, and a superseded run. Its own run has
// begun by then.
constexpr auto pass_time = 20s;
// Streams send alive frames often.
constexpr auto silence_max = 3 * alive_period;
// Above this, unused peers are dropped.
constexpr std::size_t kept_peers = 256;

// Returns nullopt if the body does not arrive or is too large.
asio::awaitable<std::optional<std::string>>
body_of(runner::transport_response& answer, std::size_t most = peer_request_bytes_max) {
    std::string body;
    for (;;) {
        const auto piece = co_await answer.read();
        if (!piece || body.size() + piece->size() > most) {
            co_return std::nullopt;
        }
        if (piece->empty()) {
            co_return body;
        }
        body.append(*piece);
    }
}

} // namespace

peer_client::peer_client(session::store& store, settings given, logger& log)
    : store_(store), settings_(std::move(given)), log_(log) {}

asio::awaitable<result<std::unique_ptr<entry_reader>>>
peer_client::open(std::int64_t gateway, asked_run run, std::uint64_t after) {
    const auto to = co_await find(gateway);
    if (!to) {
        co_return to.error();
    }
    // Otherwise all followers of that gateway's runs would try at once, and read nothing meanwhile.
    if (!(*to)->answers(co_await asio::this_coro::executor)) {
        co_return failure{
            errc::store_unavailable, "the gateway that executes the run cannot be reached"
        };
    }
    const peer_request what{
        .key = std::move(run.key),
        .run_id = std::move(run.run_id),
        .run_number = run.number,
        .after = after,
        .stream = ++streams_
    };
    auto answer = co_await (*to)->send(
        runner::http_method::post, peer_log_path, write_peer_request(what), open_time
    );
    if (!answer) {
        co_return answer.error();
    }
    if ((*answer)->status() == 204) {
        co_return failure{errc::not_found, "that gateway does not have the run", {}, {}};
    }
    if ((*answer)->header("content-type") != entries_content_type) {
        co_return (*to)->not_understood();
    }
    co_return make_peer_reader(
        co_await asio::this_coro::executor, *to, std::move(*answer), after, what.stream
    );
}

namespace {

asio::awaitable<result<stopped_here>>
ask_to_stop(std::shared_ptr<peer> to, std::string request, std::chrono::milliseconds time) {
    const auto answer =
        co_await to->send(runner::http_method::post, peer_stop_path, std::move(request), time);
    if (!answer) {
        co_return answer.error();
    }
    const auto body = co_await body_of(**answer);
    const auto met = body ? read_stopped(*body) : failure{errc::invalid_input, {}};
    co_return met ? met : to->not_understood();
}

asio::awaitable<result<stopped_here>>
stop_at(std::shared_ptr<peer> to, std::string request, std::chrono::milliseconds time) {
    // A slow stop does not mean that the gateway is down.
    const auto met = co_await runner::with_deadline(
        ask_to_stop(to, std::move(request), 2 * time), std::chrono::steady_clock::now() + time
    );
    co_return met ? *met : failure{errc::store_unavailable, "the run has not ended yet"};
}

std::chrono::milliseconds age_of(std::chrono::steady_clock::time_point asked) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - asked
    );
}

// Collects the answers. Used on one executor.
struct stops {
    peer_door::stopped_everywhere told{.met = {}, .all_reached = true};
    std::size_t under_way = 0;
    bool owner_under_way = false;
    std::shared_ptr<change_signal> changed;

    void add(bool is_owner, const std::exception_ptr& thrown, const result<stopped_here>& met) {
        --under_way;
        owner_under_way = owner_under_way && !is_owner;
        told.all_reached = told.all_reached && !thrown && met;
        if (!thrown && met) {
            told.met.any = told.met.any || met->any;
            told.met.stopped = told.met.stopped || met->stopped;
        }
        changed->notify();
    }
};

} // namespace

asio::awaitable<result<stopped_here>> peer_client::stop(
    std::int64_t gateway, session::thread_key key, std::optional<std::string> run_id, stop_wish wish
) {
    auto to = co_await find(gateway);
    if (!to) {
        co_return to.error();
    }
    const peer_request what{.key = std::move(key), .run_id = std::move(run_id), .wish = wish};
    const auto time = wish == stop_wish::cancelled    ? std::chrono::milliseconds(stop_time)
                      : wish == stop_wish::superseded ? give_way_time
                                                      : give_way_time + settings_.busy_wait;
    co_return co_await stop_at(std::move(*to), write_peer_request(what), time);
}

namespace {

client_answer unreached() {
    client_answer none;
    none.is_unreached = true;
    return none;
}

asio::awaitable<result<client_answer>> ask_to_answer(
    std::shared_ptr<peer> to, std::string message, std::chrono::milliseconds time, bool& is_sent
) {
    const auto answer = co_await to->send(
        runner::http_method::post, peer_pass_path, std::move(message), time,
        peer::in_pause::is_refused, &is_sent
    );
    if (!answer) {
        co_return answer.error();
    }
    auto body = co_await body_of(**answer, passed_answer_bytes_max);
    auto read = body ? read_answer(std::move(*body)) : failure{errc::invalid_input, {}};
    co_return read ? std::move(read) : to->not_understood();
}

} // namespace

asio::awaitable<result<client_answer>>
peer_client::pass(std::int64_t gateway, client_request request) {
    const auto to = co_await find(gateway);
    if (!to) {
        co_return unreached();
    }
    // Peer headers are set for the next gateway only, and a client's have no meaning.
    std::erase_if(request.headers, [](const auto& header) {
        return header.first.starts_with(peer_header_prefix);
    });
    std::string message = write_passed(request, std::chrono::steady_clock::now());
    std::string().swap(request.body);
    const auto time = pass_time + settings_.busy_wait;
    // A gateway that has gone silent is abandoned before the deadline of its answer.
    const auto executor = co_await asio::this_coro::executor;
    runner::stop_source silent(executor);
    const peer::stream pulse(*to, executor, [&silent] {
        (void)silent.request(runner::stop_reason::cancelled);
    });
    bool is_sent = false;
    auto answered = co_await silent.run(runner::with_deadline(
        ask_to_answer(*to, std::move(message), time, is_sent),
        std::chrono::steady_clock::now() + time
    ));
    if (answered && *answered && **answered) {
        co_return std::move(**answered);
    }
    if (!is_sent) { // It may also have been silent while a connection was made.
        co_return unreached();
    }
    co_return answered && *answered ? (**answered).error() : (*to)->not_understood();
}

asio::awaitable<result<peer_door::stopped_everywhere>> peer_client::stop_everywhere(
    session::thread_key key, std::optional<std::string> run_id, std::int64_t owner,
    std::chrono::steady_clock::time_point asked
) {
    auto others = co_await store_.other_gateways();
    if (!others) {
        co_return others.error();
    }
    const auto executor = co_await asio::this_coro::executor;
    const auto gathered = std::make_shared<stops>();
    gathered->changed = std::make_shared<change_signal>(executor);
    for (session::peer_address& each : *others) {
        if (each.url.empty()) {
            gathered->told.all_reached = false;
            continue;
        }
        const bool is_owner = each.number == owner;
        peer_request what{.key = key, .run_id = run_id};
        what.age = age_of(asked);
        auto to = known(each.number);
        if (!to) {
            to = add(store_.gateway_number(), std::move(each));
        }
        ++gathered->under_way;
        gathered->owner_under_way = gathered->owner_under_way || is_owner;
        asio::co_spawn(
            executor, stop_at(std::move(to), write_peer_request(what), stop_time),
            [gathered,
             is_owner](const std::exception_ptr& thrown, const result<stopped_here>& met) {
                gathered->add(is_owner, thrown, met);
            }
        );
    }
    // The owner's run may need time to end; gateways with nothing to stop answer at once. Each
    // request ends by itself.
    while (gathered->owner_under_way) {
        co_await gathered->changed->wait_until(std::chrono::steady_clock::time_point::max());
    }
    const auto give_up = std::chrono::steady_clock::now() + (owner == 0 ? all_time : others_time);
    while (gathered->under_way > 0 && std::chrono::steady_clock::now() < give_up) {
        co_await gathered->changed->wait_until(give_up);
    }
    gathered->told.all_reached = gathered->told.all_reached && gathered->under_way == 0;
    co_return gathered->told;
}

asio::awaitable<result<std::shared_ptr<peer>>> peer_client::find(std::int64_t gateway) {
    if (store_.gateway_number() == 0) {
        co_return failure{errc::store_unavailable, "this server has lost its leases"};
    }
    if (auto found = known(gateway)) {
        co_return found;
    }
    auto address = co_await store_.find_gateway(gateway);
    if (!address) {
        co_return address.error();
    }
    if (!*address) {
        co_return failure{
            errc::store_unavailable, "the gateway that executes the run has no address"
        };
    }
    co_return add(store_.gateway_number(), std::move(**address));
}

std::shared_ptr<peer> peer_client::known(std::int64_t gateway) {
    const std::lock_guard lock(mutex_);
    const auto found = peers_.find({gateway, store_.gateway_number()});
    return found == peers_.end() ? nullptr : found->second;
}

std::shared_ptr<peer> peer_client::add(std::int64_t own, session::peer_address address) {
    runner::http_endpoint endpoint;
    endpoint.base_url = address.url;
    endpoint.headers = {{"Authorization", "Bearer " + address.secret}};
    endpoint.connect_timeout = connect_time;
    endpoint.first_byte_timeout = pass_time + settings_.busy_wait;
    endpoint.idle_timeout = silence_max;
    endpoint.budget = settings_.budget;
    endpoint.ca_file = settings_.ca_file;
    auto client = runner::make_http_client(std::move(endpoint));
    if (!client) {
        log_.log(
            log_level::error, "another gateway cannot be reached: its runs are read from the store",
            {{"url", address.url}, {"reason", client.error().detail}}
        );
    }
    const std::int64_t number = address.number;
    auto made = std::make_shared<peer>(
        own, std::move(address), client ? std::move(*client) : nullptr, log_
    );
    const std::lock_guard lock(mutex_);
    if (peers_.size() >= kept_peers) {
        std::erase_if(peers_, [](const auto& one) { return one.second.use_count() == 1; });
    }
    return peers_.try_emplace({number, own}, std::move(made)).first->second;
}

} // namespace agui::gateway
