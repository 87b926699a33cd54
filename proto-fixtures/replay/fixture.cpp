#include "proto-fixtures/replay/fixture.hpp"

#include "proto-fixtures/replay/json_reader.hpp"
#include "proto-fixtures/replay/settings.hpp"
#include "translator/chat_stream/chat_request.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace agui::replay {

namespace json = boost::json;
namespace fs = std::filesystem;

namespace {

std::string indexed(const std::string& place, std::size_t index) {
    return place + "[" + std::to_string(index) + "]";
}

/// Reads steps; knows the folder that file names are relative to.
class step_loader {
public:
    explicit step_loader(const fs::path& folder) : folder_(folder) {}

    std::vector<step>
    steps(const json::array& list, const std::string& place, const std::string& prefix) const {
        std::vector<step> loaded;
        for (std::size_t i = 0; i < list.size(); ++i) {
            const std::string label = prefix + std::to_string(i + 1);
            loaded.push_back(one(object_of(list[i], indexed(place, i)), indexed(place, i), label));
        }
        return loaded;
    }

private:
    step one(const json::object& object, const std::string& place, const std::string& label) const {
        json_reader in(object, place);
        if (const json::object* cancel = in.object("cancel")) {
            in.done();
            return {label, read_cancel(*cancel, in.at("cancel"))};
        }
        if (const json::object* steer = in.object("steer")) {
            steer_step read{*steer, in.flag("taken", true)};
            in.done();
            return {label, std::move(read)};
        }
        if (in.flag("restart", false)) {
            in.done();
            return {label, restart_step{}};
        }
        return {label, read_request(in, label)};
    }

    static cancel_step read_cancel(const json::object& object, const std::string& place) {
        json_reader in(object, place);
        cancel_step read;
        read.thread_id = in.text("threadId");
        if (in.find("runId") != nullptr) {
            read.run_id = in.text("runId");
        }
        read.cancelled = in.flag("cancelled", true);
        in.done();
        return read;
    }

    request_step read_request(json_reader& in, const std::string& label) const {
        request_step read;
        const std::string_view kind = in.find("chat") != nullptr ? "chat" : "request";
        read.is_chat = kind == "chat";
        read.input = object_or_file(in.need(kind), in.at(kind));
        if (in.find("onDisconnect") != nullptr) {
            read.on_disconnect = gateway::disconnect_policy_from_string(in.text("onDisconnect"));
            if (!read.on_disconnect) {
                in.fail("onDisconnect", "must be continue, cancel or grace:SECONDS");
            }
        }
        if (const json::array* turns = in.array("upstream")) {
            for (std::size_t i = 0; i < turns->size(); ++i) {
                read.upstream.push_back(read_turn((*turns)[i], indexed(in.at("upstream"), i)));
            }
        }
        if (const json::value* events = in.find("events")) {
            read.events = read_events(*events, in.at("events"), read.input);
        }
        if (const json::object* frames = in.object("frames")) {
            read.frames = read_frames(*frames, in.at("frames"));
        }
        if (const json::object* error = in.object("error")) {
            read.error = read_error(*error, in.at("error"));
        }
        if (read.error && !(read.events.empty() && read.frames.empty())) {
            in.fail("error", "cannot stand beside events or frames");
        }
        if (const json::object* meanwhile = in.object("meanwhile")) {
            json_reader inner(*meanwhile, in.at("meanwhile"));
            read.meanwhile_after = static_cast<std::size_t>(inner.number("afterEvents", 1));
            const json::array* list = inner.array("steps");
            if (list == nullptr) {
                inner.fail("steps", "is missing");
            }
            read.meanwhile = steps(*list, inner.at("steps"), label + ".");
            for (const step& next : read.meanwhile) {
                const auto* request = std::get_if<request_step>(&next.what);
                if (request != nullptr && (!request->error || !request->upstream.empty())) {
                    inner.fail("steps", "may only cancel, steer, restart, or send what is refused");
                }
            }
            inner.done();
        }
        if (in.find("leaveAfterEvents") != nullptr) {
            read.leave_after = static_cast<std::size_t>(in.number("leaveAfterEvents", 0));
        }
        if (const json::object* journal = in.object("journal")) {
            for (const auto& member : *journal) {
                const std::string place = in.at("journal") + "." + std::string(member.key());
                if (!member.value().is_array()) {
                    throw fixture_error(place + " must be an array");
                }
                const json::array& ids = member.value().get_array();
                read.journal[std::string(member.key())].assign(ids.begin(), ids.end());
            }
        }
        if (const json::array* warnings = in.array("warnings")) {
            read.warnings.emplace();
            for (const json::value& text : *warnings) {
                read.warnings->push_back(text_of(text, in.at("warnings")));
            }
        }
        in.done();
        return read;
    }

    model_turn read_turn(const json::value& value, const std::string& place) const {
        json_reader in(object_of(value, place), place);
        model_turn read;
        read.label = in.text("answer", "no body");
        if (in.find("answer") != nullptr) {
            read.answer.body = read_file(folder_ / read.label);
        }
        read.answer.status = static_cast<int>(in.number("status", 200));
        const bool is_sse = read.label.ends_with(".sse");
        read.answer.content_type =
            in.text("contentType", is_sse ? "text/event-stream" : "application/json");
        const auto frames = [&](std::string_view key, std::optional<std::uint64_t>& out) {
            if (in.find(key) != nullptr) {
                out = static_cast<std::uint64_t>(in.number(key, 0));
            }
        };
        frames("dropAfterFrames", read.answer.drop_after_frames);
        frames("stallAfterFrames", read.answer.stall_after_frames);
        frames("repeatFrame", read.answer.repeat_frame);
        read.answer.idle = std::chrono::milliseconds(in.number("idleMs", 60'000));
        read.answer.refuse = in.flag("refuse", false);
        if (const json::value* expect = in.find("expect")) {
            read.expect = object_or_file(*expect, in.at("expect"));
        }
        in.done();
        return read;
    }

    std::vector<expected_events> read_events(
        const json::value& value, const std::string& place, const json::object& input
    ) const {
        std::vector<expected_events> read;
        if (value.is_string()) {
            const std::string file = text_of(value, place);
            const auto projection = projection_of(input, place);
            read.push_back({projection, file, objects_in(file)});
            return read;
        }
        for (const auto& member : object_of(value, place)) {
            const std::string_view name = member.key();
            const std::string at = place + "." + std::string(name);
            translator::projection projection = translator::projection::undeclared;
            if (name == "1.0" || name == "1.1") {
                projection =
                    name == "1.0" ? translator::projection::v1_0 : translator::projection::v1_1;
            } else if (name != "undeclared") {
                throw fixture_error(at + ": the projections are 1.1, 1.0 and undeclared");
            }
            const std::string file = text_of(member.value(), at);
            read.push_back({projection, file, objects_in(file)});
        }
        return read;
    }

    static translator::projection
    projection_of(const json::object& input, const std::string& place) {
        const json::value* declared = input.if_contains("protocolVersion");
        if (declared == nullptr || declared->is_null()) {
            return translator::projection::undeclared;
        }
        const std::string version = text_of(*declared, "protocolVersion");
        const auto projection = translator::choose_projection(std::string_view(version));
        if (!projection) {
            throw fixture_error(place + ": a request of this protocolVersion gets no events");
        }
        return *projection;
    }

    std::vector<expected_frames>
    read_frames(const json::object& modes, const std::string& place) const {
        std::vector<expected_frames> read;
        for (const auto& member : modes) {
            const std::string at = place + "." + std::string(member.key());
            const auto mode = translator::read_chat_mode(member.key());
            if (!mode) {
                throw fixture_error(at + ": the modes are incremental and full");
            }
            const std::string file = text_of(member.value(), at);
            read.push_back({*mode, file, objects_in(file)});
        }
        return read;
    }

    std::vector<json::object> objects_in(const std::string& file) const {
        std::vector<json::object> read;
        const std::string text = read_file(folder_ / file);
        std::size_t line_number = 0;
        for (std::size_t begin = 0; begin < text.size();) {
            const std::size_t end = std::min(text.find('\n', begin), text.size());
            const std::string_view line = std::string_view(text).substr(begin, end - begin);
            begin = end + 1;
            const std::string place = file + ":" + std::to_string(++line_number);
            if (!line.empty()) {
                read.push_back(object_of(parse_json(line, place), place));
            }
        }
        return read;
    }

    static expected_error read_error(const json::object& object, const std::string& place) {
        json_reader in(object, place);
        expected_error read;
        read.status = static_cast<int>(in.number("status", 0));
        read.code = in.text("code");
        if (in.find("path") != nullptr) {
            read.path = in.text("path");
        }
        in.done();
        return read;
    }

    json::object object_or_file(const json::value& value, const std::string& place) const {
        if (value.is_string()) {
            const std::string file = text_of(value, place);
            return object_of(parse_json(read_file(folder_ / file), file), file);
        }
        return object_of(value, place);
    }

    fs::path folder_;
};

} // namespace

fixture load_fixture(const fs::path& folder) {
    try {
        const json::value root = parse_json(read_file(folder / "fixture.json"), "fixture.json");
        json_reader in(object_of(root, "fixture.json"), "");
        fixture loaded;
        loaded.folder = folder;
        loaded.name = fs::weakly_canonical(folder).filename().string();
        loaded.description = in.text("description");
        const json::array* shows = in.array("shows");
        if (shows == nullptr || shows->empty()) {
            in.fail("shows", "must name at least one thing");
        }
        for (const json::value& entry : *shows) {
            loaded.shows.push_back(text_of(entry, "shows"));
        }
        loaded.settings = read_settings(in);
        const json::array* steps = in.array("steps");
        if (steps == nullptr || steps->empty()) {
            in.fail("steps", "must hold at least one step");
        }
        loaded.steps = step_loader(folder).steps(*steps, "steps", "step ");
        in.done();
        return loaded;
    } catch (const fixture_error& error) {
        throw fixture_error(folder.string() + ": " + error.what());
    }
}

std::vector<fs::path> find_fixtures(const fs::path& where) {
    if (fs::exists(where / "fixture.json")) {
        return {where};
    }
    std::vector<fs::path> found;
    if (fs::is_directory(where)) {
        for (const auto& entry : fs::recursive_directory_iterator(where)) {
            if (entry.path().filename() == "fixture.json") {
                found.push_back(entry.path().parent_path());
            }
        }
    }
    if (found.empty()) {
        throw fixture_error(where.string() + " holds no fixture");
    }
    std::sort(found.begin(), found.end());
    return found;
}

} // namespace agui::replay
