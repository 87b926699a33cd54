#pragma once

#include "session/base/failpoint.hpp"
#include "tests/gateway/queue_fixture.hpp"
#include "tests/support/patience.hpp"

#include <boost/json/parse.hpp>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace agui::test {

#ifdef AGUI_FAILPOINTS

/// The body of POST /agui/steer.
inline std::string
steer_body(std::string_view id, std::string_view run_id = {}, std::string_view thread = "t") {
    const std::string run =
        run_id.empty() ? std::string() : R"("runId":")" + std::string(run_id) + R"(",)";
    return R"({"threadId":")" + std::string(thread) + R"(",)" + run + R"("message":{"id":")" +
           std::string(id) + R"(","role":"user","content":"text of )" + std::string(id) + R"("}})";
}

/// Counts how often each place is passed, and may act there. At most one at a time.
class passed_places {
public:
    using action = std::function<void(std::string_view)>;

    explicit passed_places(action act = {})
        : act_(std::move(act)), hook_([this](std::string_view place) { pass(place); }) {}

    /// Waits until the place was passed so often. Returns false when the patience ends.
    bool wait_for(std::string_view place, int times = 1) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, patience, [&] {
            return counts_[std::string(place)] >= times;
        });
    }

private:
    void pass(std::string_view place) {
        {
            const std::lock_guard lock(mutex_);
            ++counts_[std::string(place)];
            changed_.notify_all();
        }
        if (act_) {
            act_(place);
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, int> counts_;
    const action act_;
    const failpoint_hook hook_; // Last, because it uses the others.
};

/// A server whose active runs take messages, with a model that answers when the test lets it.
class steer_test : public queue_test {
protected:
    steer_test() { settings.session.on_busy = gateway::busy_policy::steer; }

    /// Posts a message to the active run; the answer comes later.
    std::unique_ptr<raw_client>
    steer(std::string_view id, std::string_view run_id = {}, std::string_view thread = "t") {
        auto client = std::make_unique<raw_client>(port());
        client->send(post("/agui/steer", steer_body(id, run_id, thread)));
        return client;
    }

    /// Begins run `r`, and returns true once a message waits for it.
    bool let_wait(std::string_view id) {
        reader = open(body_of("r"));
        if (!model.wait_for_calls(1)) {
            return false;
        }
        places.emplace();
        steering = steer(id);
        return places->wait_for("steer.waits");
    }

    std::unique_ptr<raw_client> reader;   ///< Of run `r`.
    std::unique_ptr<raw_client> steering; ///< Gets the answer to the message.
    std::optional<passed_places> places;

    /// The ids of the thread's messages, `-` for those of models.
    std::string conversation(std::string_view thread = "t") {
        const raw_reply reply = ask(get("/agui/threads/" + std::string(thread) + "/messages"));
        std::string ids;
        if (reply.status != 200) {
            return ids;
        }
        const boost::json::value body = boost::json::parse(reply.body);
        for (const boost::json::value& each : body.at("messages").as_array()) {
            const std::string_view role = each.at("role").as_string();
            const std::string_view id = each.at("id").as_string();
            ids.append(ids.empty() ? "" : " ");
            ids.append(role == "user" ? id : role == "tool" ? "result" : "-");
        }
        return ids;
    }

    /// The number of the event in a stream that holds `text`; 0 if there is none.
    static std::uint64_t number_of(std::string_view stream, std::string_view text) {
        const std::size_t at = stream.find(text);
        const std::size_t id =
            at == std::string_view::npos ? at : stream.substr(0, at).rfind("id: ");
        return id == std::string_view::npos
                   ? 0
                   : std::stoull(std::string(stream.substr(id + 4, stream.find('\n', id) - id - 4))
                     );
    }
};

#endif

} // namespace agui::test
