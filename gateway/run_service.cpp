#include "gateway/run_service.hpp"

#include "gateway/live_run.hpp"
#include "gateway/orphan_recovery.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <deque>
#include <mutex>
#include <utility>

namespace agui::gateway {

namespace {

using runner::stop_reason;
using session::thread_key;

// Entries of a stored log that are read at a time.
constexpr std::size_t log_page_entries = 4096;

runner::tool_definition tool_from_json(const boost::json::value& json) {
    runner::tool_definition tool;
    const boost::json::object& object = json.as_object();
    tool.name = std::string(object.at("name").as_string());
    if (const auto* description = object.if_contains("description")) {
        if (description->is_string()) {
            tool.description = std::string(description->get_string());
        }
    }
    if (const auto* parameters = object.if_contains("parameters")) {
        tool.parameters = *parameters;
    }
    return tool;
}

bool ends_in_user_message(const translator::run_input& input) {
    return !input.messages.empty() && input.messages.back().role == session::role::user;
}

} // namespace

struct run_service::shared {
    struct ended_run {
        thread_key key;
        session::run_record record;
        std::shared_ptr<run_log> log;
        std::chrono::steady_clock::time_point until;
    };

    shared(run_services_refs refs, run_service_settings options)
        : services(refs), settings(std::move(options)) {}

    // --- What goes on in this process. The lock is never held across an await.

    mutable std::mutex mutex;
    std::map<thread_key, std::shared_ptr<live_run>> by_thread;
    std::set<std::shared_ptr<live_run>> runs;
    std::deque<ended_run> replayable; // Logs that the store does not keep, oldest first.
    /// Requests on their way in: equal runIds pass one after the other, so that of several repeats one
    /// starts the run and the others find it.
    std::map<std::pair<thread_key, std::string>, std::shared_ptr<completion_event>> admitting;
    /// Requests between their capacity check and their run: they count as runs.
    std::size_t admissions = 0;
    std::shared_ptr<completion_event> no_admissions; ///< Set once there are none; null: nobody waits.
    bool draining = false;

    run_services_refs services;
    run_service_settings settings;

    [[nodiscard]] std::shared_ptr<live_run> active(const thread_key& key) const {
        const std::lock_guard lock(mutex);
        const auto found = by_thread.find(key);
        return found == by_thread.end() ? nullptr : found->second;
    }

    void on_end(const std::shared_ptr<live_run>& run) {
        const auto now = std::chrono::steady_clock::now();
        const std::lock_guard lock(mutex);
        const auto found = by_thread.find(run->key());
        if (found != by_thread.end() && found->second == run) {
            by_thread.erase(found);
        }
        runs.erase(run);
        while (!replayable.empty() && replayable.front().until <= now) {
            replayable.pop_front();
        }
        if (!services.store.keeps_logs()) {
            replayable.push_back({run->key(), run->record(), run->log(), now + settings.replay});
        }
    }

    [[nodiscard]] std::shared_ptr<run_log>
    find_replayable(const thread_key& key, std::string_view run_id) const {
        const auto now = std::chrono::steady_clock::now();
        const std::lock_guard lock(mutex);
        for (const ended_run& ended : replayable) {
            if (ended.key == key && ended.record.run_id == run_id && ended.until > now) {
                return ended.log;
            }
        }
        return nullptr;
    }

    // --- Admission.

    /// Holds the turn of one (thread, runId) while it exists.
    class admission_turn {
    public:
        admission_turn(shared& owner, std::pair<thread_key, std::string> name)
            : owner_(owner), name_(std::move(name)) {}
        ~admission_turn() {
            std::shared_ptr<completion_event> event;
            {
                const std::lock_guard lock(owner_.mutex);
                const auto found = owner_.admitting.find(name_);
                event = std::move(found->second);
                owner_.admitting.erase(found);
            }
            event->set();
        }
        admission_turn(const admission_turn&) = delete;
        admission_turn& operator=(const admission_turn&) = delete;

    private:
        shared& owner_;
        std::pair<thread_key, std::string> name_;
    };

    [[nodiscard]] boost::asio::awaitable<std::unique_ptr<admission_turn>>
    take_turn(thread_key key, std::string run_id) {
        std::pair<thread_key, std::string> name{std::move(key), std::move(run_id)};
        for (;;) {
            std::shared_ptr<completion_event> other;
            {
                const std::lock_guard lock(mutex);
                auto& place = admitting[name];
                if (!place) {
                    place = std::make_shared<completion_event>();
                    break;
                }
                other = place;
            }
            co_await other->wait();
        }
        co_return std::make_unique<admission_turn>(*this, std::move(name));
    }

    [[nodiscard]] const agent_entry* find_agent(const std::string& id) const {
        const auto found = settings.agents.find(id.empty() ? settings.default_agent : id);
        return found == settings.agents.end() ? nullptr : &found->second;
    }

    /// Counts a request among the runs while it exists.
    class admission {
    public:
        explicit admission(shared& owner) : owner_(owner) {}
        ~admission() {
            const std::lock_guard lock(owner_.mutex);
            if (--owner_.admissions == 0 && owner_.no_admissions) {
                std::exchange(owner_.no_admissions, nullptr)->set();
            }
        }
        admission(const admission&) = delete;
        admission& operator=(const admission&) = delete;

    private:
        shared& owner_;
    };

    [[nodiscard]] result<std::unique_ptr<admission>> admit() {
        const std::lock_guard lock(mutex);
        if (draining) {
            return failure{errc::draining, "the server is shutting down", {}, {}};
        }
        if (runs.size() + admissions >= settings.max_runs) {
            return failure{errc::overloaded, "too many runs are active", {}, {}};
        }
        ++admissions;
        return std::make_unique<admission>(*this);
    }

    /// A run that goes on, null if there is none. With `admitted`: what to wait for before there may be one.
    [[nodiscard]] std::shared_ptr<live_run> any_run(std::shared_ptr<completion_event>& admitted) {
        const std::lock_guard lock(mutex);
        if (!runs.empty()) {
            return *runs.begin();
        }
        if (admissions > 0) {
            if (!no_admissions) {
                no_admissions = std::make_shared<completion_event>();
            }
            admitted = no_admissions;
        }
        return nullptr;
    }

    /// The log of a run that the request repeats (P6); null: it is no repeat.
    [[nodiscard]] boost::asio::awaitable<result<std::shared_ptr<run_log>>>
    find_repeated(const thread_key& key, const translator::run_input& input) {
        const failure reused{
            errc::run_id_reused, "the runId was used with another request", "runId", {}};
        if (const auto live = active(key); live && live->record().run_id == input.run_id) {
            if (live->record().input != input.canonical) {
                co_return reused;
            }
            co_return live->log();
        }
        const auto stored = co_await services.store.find_run(key, input.run_id);
        if (!stored) {
            co_return stored.error();
        }
        if (!stored->has_value()) {
            co_return std::shared_ptr<run_log>();
        }
        const session::run_record& record = **stored;
        if (record.input != input.canonical) {
            co_return reused;
        }
        if (record.status == session::run_status::active) {
            co_return failure{errc::store_unavailable, "the run is being ended", {}, {}};
        }
        co_return co_await replay(key, record);
    }

    [[nodiscard]] boost::asio::awaitable<result<std::shared_ptr<run_log>>>
    replay(const thread_key& key, const session::run_record& record) {
        const failure expired{errc::run_expired, "the events of this run are gone", "runId", {}};
        if (!services.store.keeps_logs()) {
            if (auto log = find_replayable(key, record.run_id)) {
                co_return log;
            }
            co_return expired;
        }
        std::vector<session::log_entry> entries;
        for (;;) {
            const std::uint64_t after = entries.empty() ? 0 : entries.back().sequence;
            auto page = co_await services.store.read_log(record.number, after, log_page_entries);
            if (!page) {
                co_return page.error();
            }
            if (page->empty()) {
                break;
            }
            std::move(page->begin(), page->end(), std::back_inserter(entries));
        }
        if (entries.empty() || entries.back().sequence != record.last_sequence) {
            co_return expired;
        }
        const auto executor = co_await boost::asio::this_coro::executor;
        co_return run_log::restored(executor, entries);
    }

    /// Takes the thread for the run; a run that nobody reads gives way to a new user message.
    [[nodiscard]] boost::asio::awaitable<result<void>>
    take_thread(const thread_key& key, const translator::run_input& input) {
        auto taken = co_await services.store.acquire(key, input.run_id);
        if (taken || taken.error().code != errc::thread_busy) {
            co_return taken;
        }
        const auto holder = active(key);
        const bool gives_way = settings.supersede_detached && holder && holder->detached() &&
                               ends_in_user_message(input);
        if (!gives_way) {
            co_return taken;
        }
        holder->stop(stop_reason::superseded);
        co_await holder->ended().wait();
        co_return co_await services.store.acquire(key, input.run_id);
    }

    /// The tools of the caller that this run offers: the config's, then the request's (or, if the request
    /// does not say, those last offered on the thread).
    [[nodiscard]] result<std::vector<runner::tool_definition>> external_tools(
        const translator::run_input& input, const session::thread_record& thread
    ) const {
        std::vector<runner::tool_definition> given;
        if (input.tools) {
            given = *input.tools;
        } else {
            for (const boost::json::value& offered : thread.offered_tools) {
                given.push_back(tool_from_json(offered));
            }
        }
        std::vector<runner::tool_definition> offered;
        std::set<std::string, std::less<>> names;
        for (const external_tool& configured : settings.external_tools) {
            const bool listed = std::any_of(given.begin(), given.end(), [&](const auto& tool) {
                return tool.name == configured.definition.name;
            });
            if (configured.always || listed) {
                offered.push_back(configured.definition);
            }
            names.insert(configured.definition.name); // What the config says of a tool stands.
        }
        for (std::size_t i = 0; i < given.size(); ++i) {
            runner::tool_definition& tool = given[i];
            if (services.tools.contains(tool.name)) {
                if (settings.reject_name_clash && input.tools) {
                    return failure{
                        errc::tool_name_clash, "a tool of the server has this name",
                        "tools[" + std::to_string(i) + "].name", {}};
                }
                services.log.log(
                    log_level::warning, "a client tool with the name of a server tool was ignored",
                    {{"thread", input.thread_id}, {"run", input.run_id}}
                );
            } else if (names.insert(tool.name).second) {
                offered.push_back(std::move(tool));
            }
        }
        return offered;
    }

    [[nodiscard]] session::history_input history_of(const translator::run_input& input) const {
        session::history_input history;
        history.messages = input.messages;
        for (std::size_t i = 0; i < history.messages.size(); ++i) {
            if (history.messages[i].id.empty()) {
                history.messages[i].id = input.run_id + ":" + std::to_string(i);
            }
        }
        if (input.tools) {
            history.offered_tools.emplace();
            for (const runner::tool_definition& tool : *input.tools) {
                history.offered_tools->push_back(tool.name);
            }
        }
        for (const external_tool& tool : settings.external_tools) {
            history.configured_external_tools.push_back(tool.definition.name);
        }
        history.is_server_tool = [this](std::string_view name) {
            return services.tools.contains(name);
        };
        return history;
    }

    /// The agent as this request has it: the model that it names, if that is configured, and what it may
    /// set of the parameters.
    [[nodiscard]] std::pair<runner::agent_settings, runner::model_provider*>
    agent_of(const agent_entry& agent, const translator::run_input& input) const {
        runner::agent_settings chosen = agent.settings;
        runner::model_provider* model = agent.model;
        const auto may_set = [&](std::string_view key) { return agent.overridable.contains(key); };
        const translator::forwarded_settings& asked = input.forwarded;
        if (asked.model && may_set("model")) {
            // By the name in the config, or as clients know it: by the model server's name for it.
            auto found = agent.models.find(*asked.model);
            if (found == agent.models.end()) {
                found = std::find_if(agent.models.begin(), agent.models.end(), [&](const auto& one) {
                    return one.second.second.model == *asked.model;
                });
            }
            if (found != agent.models.end()) {
                model = found->second.first;
                chosen.parameters = found->second.second;
            } else {
                services.log.log(
                    log_level::debug, "a model that is not configured was asked for",
                    {{"run", input.run_id}}
                );
            }
        }
        runner::model_parameters& parameters = chosen.parameters;
        if (asked.temperature && may_set("temperature")) {
            parameters.temperature = asked.temperature;
        }
        if (asked.max_output_tokens && may_set("max_output_tokens")) {
            parameters.max_output_tokens = asked.max_output_tokens;
        }
        if (asked.tool_choice && may_set("tool_choice")) {
            parameters.tool_choice = runner::tool_choice_from_string(*asked.tool_choice);
        }
        if (asked.reasoning_effort && may_set("reasoning_effort")) {
            parameters.reasoning_effort = asked.reasoning_effort;
        }
        // What the application tells about itself is data: it reaches the model in the user's role, never
        // as system text (P10).
        for (const translator::context_entry& entry : input.context) {
            chosen.context += chosen.context.empty() ? "Context given by the application:" : "";
            chosen.context += "\n- " + entry.description + ": " + entry.value;
        }
        return {std::move(chosen), model};
    }

    void add_events(session::history_plan& plan, const translator::run_input& input, unix_ms now) const {
        const auto add = [&](std::string_view type, boost::json::object data) {
            session::session_event event;
            event.type = type;
            event.run_id = input.run_id;
            event.timestamp = now;
            event.data = std::move(data);
            plan.change.events.push_back(std::move(event));
        };
        add("run.started", {});
        for (const session::taken_answer& answer : plan.answers) {
            add("tool.response",
                {{"toolCallId", answer.call_id}, {"messageId", answer.message_id}});
        }
        for (const std::string& id : plan.new_user_messages) {
            add("user.message", {{"messageId", id}});
        }
    }

    void stamp(session::changes& change, const translator::run_input& input, unix_ms now) const {
        change.at = now;
        for (session::stored_message& node : change.messages) {
            node.run_id = input.run_id;
            node.created_at = now;
        }
        for (auto& branch : change.branches) {
            branch.value.updated_at = now;
        }
        for (session::call_record& call : change.calls) {
            if (call.run_id.empty()) {
                call.run_id = input.run_id;
            }
        }
        if (input.tools) {
            change.offered_tools = input.tools_json;
        }
    }

    /// Everything from a thread that is held to a run that is under way.
    [[nodiscard]] boost::asio::awaitable<result<std::shared_ptr<run_log>>>
    begin_run(const thread_key& key, const request& what, const agent_entry& agent);

    [[nodiscard]] std::shared_ptr<run_log> launch(
        boost::asio::any_io_executor executor, const thread_key& key, session::run_record record,
        const request& what, runner::run_request run, runner::model_provider& model
    );

    std::weak_ptr<shared> self;
};

boost::asio::awaitable<result<std::shared_ptr<run_log>>> run_service::shared::begin_run(
    const thread_key& key, const request& what, const agent_entry& agent
) {
    const translator::run_input& input = what.input;
    auto loaded = co_await services.store.load(key);
    if (!loaded) {
        co_return loaded.error();
    }
    session::thread_record thread;
    thread.key = key;
    if (loaded->has_value()) {
        thread = std::move(**loaded);
    }
    auto tools = external_tools(input, thread);
    if (!tools) {
        co_return tools.error();
    }
    auto plan = session::plan_history(thread, history_of(input), settings.history);
    if (!plan) {
        co_return plan.error();
    }
    for (const std::string& warning : plan->warnings) {
        services.log.log(
            log_level::warning, warning, {{"thread", input.thread_id}, {"run", input.run_id}}
        );
    }

    const unix_ms now = services.time.now();
    add_events(*plan, input, now);
    stamp(plan->change, input, now);
    if (input.state && *input.state != thread.state) {
        plan->change.state = *input.state;
    }
    if (thread.nodes.empty() && thread.agent_id.empty()) {
        plan->change.agent_id = agent.settings.id;
    }

    session::run_record record;
    record.run_id = input.run_id;
    record.parent_run_id = input.parent_run_id;
    record.agent_id = agent.settings.id;
    record.input = input.canonical;
    record.started_at = now;
    const auto begun = co_await services.store.begin(key, record, plan->change);
    if (!begun) {
        co_return begun.error();
    }
    record.number = begun->number;
    session::apply(thread, plan->change);

    runner::run_request run;
    run.key = key;
    run.run_id = input.run_id;
    auto [settings_of_run, model] = agent_of(agent, input);
    run.agent = std::move(settings_of_run);
    run.next = plan->next;
    run.snapshot = plan->snapshot;
    run.new_user_turn = plan->new_user_turn;
    run.external_tools = std::move(*tools);
    run.thread = std::move(thread);
    const auto executor = co_await boost::asio::this_coro::executor;
    co_return launch(executor, key, std::move(record), what, std::move(run), *model);
}

std::shared_ptr<run_log> run_service::shared::launch(
    boost::asio::any_io_executor executor, const thread_key& key, session::run_record record,
    const request& what, runner::run_request run, runner::model_provider& model
) {
    live_run::settings options;
    options.on_disconnect = what.on_disconnect.value_or(settings.on_disconnect);
    options.run_timeout = settings.run_timeout;
    options.detached = settings.detached;
    options.relaxed_durability = settings.relaxed_durability;
    options.translation = settings.translation;
    const auto live = std::make_shared<live_run>(
        std::move(executor), services.store, services.time, services.log, key, std::move(record),
        options
    );
    {
        const std::lock_guard lock(mutex);
        by_thread[key] = live;
        runs.insert(live);
    }
    runner::run_services parts{
        model, services.tools, services.ids, services.time, services.log,
        settings.max_result_bytes};
    live->start(std::move(run), parts, [weak = self](const std::shared_ptr<live_run>& ended) {
        if (const auto owner = weak.lock()) {
            owner->on_end(ended);
        }
    });
    return live->log();
}

run_service::run_service(run_services_refs services, run_service_settings settings)
    : shared_(std::make_shared<shared>(services, std::move(settings))) {
    shared_->self = shared_;
}

run_service::~run_service() = default;

boost::asio::awaitable<result<std::shared_ptr<run_log>>> run_service::start(request what) {
    const std::shared_ptr<shared> self = shared_;
    const agent_entry* agent = self->find_agent(what.agent_id);
    if (agent == nullptr) {
        co_return failure{errc::not_found, "there is no agent of this name", {}, {}};
    }
    const thread_key key{what.principal, what.input.thread_id};
    const auto turn = co_await self->take_turn(key, what.input.run_id);
    auto repeated = co_await self->find_repeated(key, what.input);
    if (!repeated || *repeated) {
        co_return repeated;
    }
    const auto admitted = self->admit();
    if (!admitted) {
        co_return admitted.error();
    }
    const auto taken = co_await self->take_thread(key, what.input);
    if (!taken) {
        co_return taken.error();
    }
    result<std::shared_ptr<run_log>> begun = failure{errc::internal, {}, {}, {}};
    std::exception_ptr thrown;
    try {
        begun = co_await self->begin_run(key, what, *agent);
    } catch (...) {
        thrown = std::current_exception();
    }
    if (thrown || !begun) {
        self->services.store.release(key, what.input.run_id);
    }
    if (thrown) {
        std::rethrow_exception(thrown);
    }
    co_return begun;
}

boost::asio::awaitable<bool>
run_service::cancel(thread_key key, std::optional<std::string> run_id) {
    const std::shared_ptr<shared> self = shared_;
    const auto live = self->active(key);
    if (live && (!run_id || live->record().run_id == *run_id)) {
        live->stop(stop_reason::cancelled);
        co_await live->ended().wait();
        co_return live->was_stopped();
    }
    if (run_id) {
        const auto stored = co_await self->services.store.find_run(key, *run_id);
        co_return stored && *stored && (*stored)->status == session::run_status::cancelled;
    }
    const auto latest = co_await self->services.store.latest_run(key);
    co_return latest && *latest && (*latest)->status == session::run_status::cancelled;
}

boost::asio::awaitable<void> run_service::recover() {
    co_await end_orphans(shared_->services.store, shared_->services.time, shared_->services.log);
}

void run_service::begin_drain() {
    const std::lock_guard lock(shared_->mutex);
    shared_->draining = true;
}

boost::asio::awaitable<void>
run_service::drain(std::chrono::steady_clock::time_point deadline) {
    const std::shared_ptr<shared> self = shared_;
    begin_drain();
    const auto executor = co_await boost::asio::this_coro::executor;

    // Whoever waits longest for a run to end by itself is the timer.
    boost::asio::steady_timer timer(executor, deadline);
    timer.async_wait([self](boost::system::error_code ec) {
        if (!ec) {
            const std::lock_guard lock(self->mutex);
            for (const auto& run : self->runs) {
                run->stop(stop_reason::shutdown);
            }
        }
    });
    for (;;) {
        std::shared_ptr<completion_event> admitted;
        const std::shared_ptr<live_run> run = self->any_run(admitted);
        if (!run && !admitted) {
            break;
        }
        co_await (run ? run->ended() : *admitted).wait();
    }
    timer.cancel();
}

bool run_service::draining() const {
    const std::lock_guard lock(shared_->mutex);
    return shared_->draining;
}

std::size_t run_service::active_runs() const {
    const std::lock_guard lock(shared_->mutex);
    return shared_->runs.size();
}

} // namespace agui::gateway
