#include "gateway/control/threads_command.hpp"

#include "gateway/auth/caller.hpp"
#include "gateway/control/control_client.hpp"
#include "gateway/control/thread_lines.hpp"
#include "session/base/clock.hpp"
#include "session/base/parse_json.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <functional>
#include <istream>
#include <ostream>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::gateway {
namespace json = boost::json;

namespace {

constexpr int exit_done = 0;
constexpr int exit_partly = 1;
constexpr int exit_refused = 2;
constexpr std::size_t progress_interval = 1000; ///< Threads between two lines.
/// Threads that begin while a user is purged are found by the next pass.
constexpr int purge_passes_max = 10;
constexpr std::string_view thread_begin = R"({"type":"thread")";
constexpr std::string_view thread_end = R"({"type":"end")";

json::object object_of(const std::string& text) {
    auto parsed = parse_json(text);
    if (!parsed || !parsed->is_object()) {
        throw std::runtime_error("the gateway has sent something else than JSON");
    }
    return std::move(parsed->get_object());
}

std::string text_of(const json::object& from, std::string_view name) {
    const json::value* const value = from.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->get_string())
                                                  : std::string();
}

std::string error_of(const control_reply& reply) {
    const json::object body = object_of(reply.body);
    const json::value* const error = body.if_contains("error");
    if (error == nullptr || !error->is_object()) {
        return "status " + std::to_string(reply.status);
    }
    const std::string path = text_of(error->get_object(), "path");
    return (path.empty() ? "" : path + ": ") + text_of(error->get_object(), "message");
}

constexpr int status_ok = 200;
constexpr int status_not_found = 404;

json::object expect_ok(const control_reply& reply) {
    if (reply.status != status_ok) {
        throw std::runtime_error(error_of(reply));
    }
    return object_of(reply.body);
}

/// `1 thread`, `2 threads`
std::string counted(std::size_t count, std::string_view what) {
    return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

std::string shown(const caller_name& name) {
    return name.tenant.empty() ? "\"" + name.user + "\""
                               : "\"" + name.user + "\" of \"" + name.tenant + "\"";
}

control_client::parameters parameters_of(const caller_name& name) {
    return {{"user", name.user}, {"tenant", name.tenant}};
}

class threads_run {
public:
    threads_run(
        const threads_command& command, std::istream& in, std::ostream& out, std::ostream& log
    )
        : command_(command), in_(in), out_(out), log_(log), gateway_(command.socket) {}

    int copy_out() {
        out_ << json::serialize(json::object{
                    {"format", threads_format},
                    {"version", threads_format_version},
                    {"exportedAt", iso_time(system_clock().now())}
                })
             << '\n';
        std::size_t users = 0;
        for_each_user([&](const caller_name& user) {
            const std::size_t before = threads_;
            if (command_.thread) {
                copy_out(user, *command_.thread);
            } else {
                for_each_thread(user, [&](const std::string& id) { copy_out(user, id); });
            }
            users += threads_ == before ? 0 : 1;
        });
        out_.flush();
        if (!out_) {
            throw std::runtime_error("cannot write the copy");
        }
        log_ << "exported " << counted(threads_, "thread") << " of " << counted(users, "user")
             << '\n';
        return command_.thread && threads_ == 0 ? exit_partly : exit_done;
    }

    int copy_in() {
        read_header();
        std::string line;
        while (read_line(line)) {
            if (!line.starts_with(thread_begin)) {
                throw std::runtime_error(at_line("a thread must begin here"));
            }
            read_thread(std::move(line));
            line.clear();
        }
        log_ << "imported " << counted(threads_, "thread") << ", skipped " << skipped_
             << ", refused " << failed_ << '\n';
        return failed_ == 0 ? exit_done : exit_partly;
    }

    int purge(bool asks) {
        const caller_name user{command_.tenant, *command_.user};
        if (command_.dry_run || !command_.yes) {
            const std::size_t count = count_threads(user);
            log_ << (command_.dry_run ? "would remove " : "about to remove ")
                 << counted(count, "thread") << " of " << shown(user) << '\n';
            if (command_.dry_run) {
                return exit_done;
            }
            if (!is_confirmed(asks)) {
                return exit_refused;
            }
        }
        return command_.thread ? purge_thread(user) : purge_user(user);
    }

private:
    void for_each_user(const std::function<void(const caller_name&)>& visit) {
        if (command_.user) {
            return visit({command_.tenant, *command_.user});
        }
        control_client::parameters after;
        for (;;) {
            const json::object page = expect_ok(gateway_.send("GET", "/users", after));
            const json::array& users = page.at("users").as_array();
            if (users.empty()) {
                return;
            }
            caller_name name;
            for (const json::value& each : users) {
                name = {text_of(each.as_object(), "tenant"), text_of(each.as_object(), "user")};
                if (command_.tenant.empty() || command_.tenant == name.tenant) {
                    visit(name);
                }
            }
            after = parameters_of(name);
        }
    }

    // A thread that changes meanwhile moves to another page: further passes find it.
    void
    for_each_thread(const caller_name& user, const std::function<void(const std::string&)>& visit) {
        std::set<std::string> seen;
        for (bool is_new = true; is_new;) {
            is_new = false;
            for (const bool archived : {false, true}) {
                for_each_listed(user, archived, [&](const std::string& id) {
                    if (seen.insert(id).second) {
                        is_new = true;
                        visit(id);
                    }
                });
            }
        }
    }

    void for_each_listed(
        const caller_name& user, bool archived, const std::function<void(const std::string&)>& visit
    ) {
        std::string cursor;
        do {
            control_client::parameters query = parameters_of(user);
            query.emplace_back("cursor", cursor);
            if (archived) {
                query.emplace_back("archived", "true");
            }
            const json::object page = expect_ok(gateway_.send("GET", "/threads", query));
            for (const json::value& each : page.at("threads").as_array()) {
                visit(std::string(each.as_string()));
            }
            cursor = text_of(page, "nextCursor");
        } while (!cursor.empty());
    }

    std::size_t count_threads(const caller_name& user) {
        std::size_t count = 0;
        for (const bool archived : {false, true}) {
            for_each_listed(user, archived, [&](const std::string& id) {
                count += !command_.thread || *command_.thread == id ? 1 : 0;
            });
        }
        return count;
    }

    void copy_out(const caller_name& user, const std::string& id) {
        control_client::parameters query = parameters_of(user);
        query.emplace_back("thread", id);
        const control_reply reply = gateway_.copy("/thread", query, out_);
        if (reply.status == status_not_found) {
            return; // It was removed meanwhile.
        }
        if (reply.status != status_ok) {
            throw std::runtime_error("thread \"" + id + "\": " + error_of(reply));
        }
        count_thread("exported");
    }

    void count_thread(std::string_view what) {
        if (++threads_ % progress_interval == 0) {
            log_ << what << ' ' << threads_ << " threads so far\n";
        }
    }

    // Import.

    [[nodiscard]] std::string at_line(std::string_view what) const {
        return "line " + std::to_string(line_) + ": " + std::string(what);
    }

    /// Returns false at the end of the input.
    bool read_line(std::string& line) {
        line.clear();
        std::streambuf& from = *in_.rdbuf();
        using traits = std::streambuf::traits_type;
        auto c = from.sbumpc();
        if (traits::eq_int_type(c, traits::eof())) {
            return false;
        }
        ++line_;
        while (!traits::eq_int_type(c, traits::eof()) && traits::to_char_type(c) != '\n') {
            if (line.size() == line_bytes_max) {
                throw std::runtime_error(at_line("is longer than a line may be"));
            }
            line.push_back(traits::to_char_type(c));
            c = from.sbumpc();
        }
        return true;
    }

    void read_header() {
        std::string line;
        const bool has_line = read_line(line);
        const auto header = has_line ? parse_json(line) : result<json::value>(failure{});
        if (!header || !header->is_object() ||
            text_of(header->get_object(), "format") != threads_format) {
            throw std::runtime_error("the input is no file of threads");
        }
        const json::value* const version = header->get_object().if_contains("version");
        if (version == nullptr || !version->is_int64() ||
            version->get_int64() != threads_format_version) {
            throw std::runtime_error("the input has a version that this program cannot read");
        }
    }

    void read_thread(std::string line) {
        const std::size_t begin = line_;
        const auto named = read_thread_head(line, system_clock().now());
        const bool is_wanted = named && is_meant(*named);
        if (!named) {
            refuse(begin, named.error().detail);
        }
        std::string all;
        for (;;) {
            const bool is_end = line.starts_with(thread_end);
            if (is_wanted) {
                if (all.size() + line.size() >= thread_bytes_max) {
                    throw std::runtime_error(at_line("the thread is larger than a thread may be"));
                }
                all.append(line).push_back('\n');
            }
            if (is_end) {
                break;
            }
            if (!read_line(line)) {
                throw std::runtime_error(at_line("the thread has no end"));
            }
        }
        if (is_wanted) {
            send_thread(std::move(all), begin);
        }
    }

    [[nodiscard]] bool is_meant(const session::thread_key& named) const {
        const caller_name owner = name_of(named.principal);
        return (!command_.user || *command_.user == owner.user) &&
               ((!command_.user && command_.tenant.empty()) || command_.tenant == owner.tenant) &&
               (!command_.thread || *command_.thread == named.thread_id);
    }

    void send_thread(std::string lines, std::size_t begin) {
        const control_reply reply = gateway_.send("POST", "/thread", {}, std::move(lines));
        if (reply.status != status_ok) {
            refuse(begin, error_of(reply));
            return;
        }
        if (object_of(reply.body).at("imported").as_bool()) {
            count_thread("imported");
        } else if (command_.skip_existing) {
            ++skipped_;
        } else {
            refuse(begin, "there is such a thread already (--skip-existing)");
        }
    }

    void refuse(std::size_t begin, std::string_view why) {
        ++failed_;
        log_ << "the thread from line " << begin << " on was refused: " << why << '\n';
    }

    // Purge.

    bool is_confirmed(bool asks) {
        if (!asks) {
            log_ << "nothing was removed: add --yes\n";
            return false;
        }
        log_ << "this cannot be undone. Type yes to go on: " << std::flush;
        std::string answer;
        std::getline(in_, answer);
        if (answer != "yes") {
            log_ << "nothing was removed\n";
            return false;
        }
        return true;
    }

    /// Returns false if it was not there.
    bool remove(const caller_name& user, const std::string& id) {
        control_client::parameters query = parameters_of(user);
        query.emplace_back("thread", id);
        const json::object done = expect_ok(gateway_.send("DELETE", "/thread", query));
        if (done.at("removed").as_bool()) {
            count_thread("removed");
            return true;
        }
        return false;
    }

    int purge_thread(const caller_name& user) {
        if (!remove(user, *command_.thread)) {
            log_ << "there is no such thread\n";
            return exit_partly;
        }
        scrub();
        log_ << "removed 1 thread of " << shown(user) << '\n';
        return exit_done;
    }

    int purge_user(const caller_name& user) {
        bool is_empty = false;
        for (int pass = 0; pass < purge_passes_max && !is_empty; ++pass) {
            const std::size_t before = threads_;
            std::vector<std::string> found;
            for (const bool archived : {false, true}) {
                for_each_listed(user, archived, [&](const std::string& id) {
                    found.push_back(id);
                });
            }
            for (const std::string& id : found) {
                (void)remove(user, id);
            }
            is_empty = threads_ == before;
        }
        const json::object rest = expect_ok(gateway_.send("POST", "/forget", parameters_of(user)));
        scrub();
        log_ << "removed " << counted(threads_, "thread") << " of " << shown(user) << ", "
             << counted(rest.at("rights").to_number<std::size_t>(), "right")
             << " in threads of others, "
             << counted(rest.at("attachments").to_number<std::size_t>(), "other attachment")
             << '\n';
        if (!is_empty) {
            log_ << "the user begins new threads: revoke the user's access, and purge again\n";
        }
        return is_empty ? exit_done : exit_partly;
    }

    void scrub() {
        const control_reply reply = gateway_.send("POST", "/scrub");
        if (reply.status != status_ok) {
            throw std::runtime_error(
                "the threads are removed, but their remains could not be overwritten: " +
                error_of(reply)
            );
        }
    }

    const threads_command& command_;
    std::istream& in_;
    std::ostream& out_;
    std::ostream& log_;
    control_client gateway_;
    std::size_t threads_ = 0;
    std::size_t skipped_ = 0;
    std::size_t failed_ = 0;
    std::size_t line_ = 0; ///< Number of the line that was read last.
};

} // namespace

std::string problem_of(const threads_command& command) {
    if (command.socket.empty()) {
        return "the path of the socket is needed: --socket PATH, or --config FILE of a gateway "
               "with server.control_socket";
    }
    const std::string user = command.user.value_or(std::string());
    if ((!user.empty() && !is_caller_name(user)) ||
        (!command.tenant.empty() && !is_caller_name(command.tenant))) {
        return "--user and --tenant must be names of at most " + std::to_string(caller_name_max) +
               " bytes without control characters";
    }
    if (command.user && user.empty() && !command.tenant.empty()) {
        return "--tenant needs the name of a user in it, or no --user at all";
    }
    if (command.thread && !command.user) {
        return "--thread needs --user";
    }
    if (command.what == threads_command::action::purge && !command.user) {
        return "purge needs --user, or --nobody";
    }
    if (command.what == threads_command::action::purge && user.empty() && !command.nobody) {
        // A shell gives an empty text for a variable that is not set.
        return "--user is empty: --nobody removes the threads of a gateway without users";
    }
    return {};
}

int run_threads_command(
    const threads_command& command, std::istream& in, std::ostream& out, std::ostream& log,
    bool asks
) {
    threads_run run(command, in, out, log);
    switch (command.what) {
    case threads_command::action::copy_out:
        return run.copy_out();
    case threads_command::action::copy_in:
        return run.copy_in();
    case threads_command::action::purge:
        return run.purge(asks);
    }
    return exit_partly;
}

} // namespace agui::gateway
