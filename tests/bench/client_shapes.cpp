#include "tests/bench/client_shapes.hpp"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <string_view>

namespace agui::test {

namespace {

using element = std::function<std::string(std::size_t index, std::size_t bytes)>;

/// A list with as many elements as fit into its room.
std::string
list(const seeded_shape& shape, std::string_view what, std::size_t room, const element& each) {
    std::string all = "[";
    const std::size_t most = shape.elements(what, room);
    for (std::size_t i = 0; i < most && all.size() < room; ++i) {
        all += (i == 0 ? "" : ",") + each(i, room / most);
    }
    return all + "]";
}

std::string part(const seeded_shape& shape, std::size_t index, std::size_t bytes) {
    const std::string text = shape.text("part", std::min<std::size_t>(bytes, shape.bytes()));
    switch (shape.pick("part kind", 10)) {
    case 0:
        return R"({"type":"image","source":{"type":"data","mimeType":"image/png","value":)" + text +
               "}}";
    case 1:
        return R"({"type":"image","source":{"type":"url","value":"https://x/)" +
               std::to_string(index) + R"("}})";
    case 2:
        return R"({"type":"binary","mimeType":"image/png","data":)" + text + "}";
    case 3:
        return R"({"type":"image","source":{"type":"url","value":"data:image/png;base64,)" +
               text.substr(1) + "}}";
    case 4:
        return R"({"type":"document","source":{"type":"url","value":"data:)" + text.substr(1) +
               "}}";
    case 5:
        return R"({"type":"binary","mimeType":"text/plain","filename":)" + text +
               R"(,"url":"https://x"})";
    case 6:
        return R"({"type":)" + text + "}";
    case 7:
        return shape.value("part value", bytes);
    default:
        return R"({"type":"text","text":)" + text + "}";
    }
}

std::string content(const seeded_shape& shape, std::size_t bytes) {
    if (shape.chance("parts", 2)) {
        return list(shape, "parts", bytes, [&](std::size_t i, std::size_t room) {
            return part(shape, i, room);
        });
    }
    return shape.text("content", bytes);
}

std::string call(const seeded_shape& shape, std::size_t index, std::size_t bytes) {
    const std::string arguments = shape.chance("odd arguments", 2)
                                      ? shape.text("arguments", bytes)
                                      : quoted(shape.value("arguments", bytes / 2));
    return R"({"type":"function","id":)" + shape.id("call", index) + R"(,"function":{"name":)" +
           (shape.chance("odd names", 3) ? shape.name("tool", index) : "\"hook\"") +
           R"(,"arguments":)" + arguments + "}}";
}

std::string
message(const seeded_shape& shape, std::size_t index, std::size_t bytes, unsigned request) {
    static constexpr std::initializer_list<std::string_view> patterns{"u", "ua", "at",  "att",
                                                                      "s", "r",  "uat", "t",
                                                                      "d", "ra", "a",   "x"};
    const std::string_view roles = shape.pick("roles", patterns);
    const char role = roles[index % roles.size()];
    const bool is_other = request > 0 && shape.chance("other texts", 2);
    const std::string begin =
        R"({"id":)" + shape.id(is_other ? "other message" : "message", index) + R"(,"role":)";
    const std::string end = R"(,"content":)" + content(shape, bytes) + "}";
    switch (role) {
    case 'a':
        return begin + R"("assistant","toolCalls":)" +
               list(
                   shape, "calls", bytes,
                   [&](std::size_t i, std::size_t room) { return call(shape, i + index, room); }
               ) +
               R"(,"content":"a"})";
    case 't':
        return begin + R"("tool","toolCallId":)" + shape.id("call", index / 2) + end;
    case 's':
        return begin + R"("system")" + end;
    case 'd':
        return begin + R"("developer")" + end;
    case 'r':
        return begin + R"("reasoning")" + end;
    case 'x':
        return begin + shape.text("role", 8) + end;
    default:
        return begin + R"("user")" + end;
    }
}

std::string tool(const seeded_shape& shape, std::size_t index, std::size_t bytes) {
    return R"({"name":)" +
           (shape.chance("odd tools", 3) ? shape.name("tool", index)
                                         : "\"tool" + std::to_string(index) + "\"") +
           R"(,"description":)" +
           (shape.chance("described", 3) ? shape.text("description", bytes) : "\"d\"") +
           R"(,"parameters":)" +
           (shape.chance("no schema", 6)
                ? shape.value("parameters", bytes)
                : R"({"type":"object","properties":)" + shape.value("properties", bytes) + "}") +
           "}";
}

std::string tools(const seeded_shape& shape, std::size_t room) {
    return list(shape, "tools", room, [&](std::size_t i, std::size_t bytes) {
        return tool(shape, i, bytes);
    });
}

std::string interrupt(const seeded_shape& shape, std::size_t index, std::size_t bytes) {
    return R"({"interruptId":)" + shape.id("call", index) + R"(,"status":"resolved","payload":)" +
           shape.value("payload", bytes) + "}";
}

std::string unknown_members(const seeded_shape& shape, std::size_t room) {
    std::string all;
    const std::size_t most = shape.elements("unknown", room);
    for (std::size_t i = 0; i < most && all.size() < room; ++i) {
        all += "," + shape.name("unknown", i) + ":" + shape.value("unknown", room / most);
    }
    return all;
}

} // namespace

std::string run_input_of(const seeded_shape& shape, unsigned request) {
    static constexpr std::initializer_list<std::string_view> places{
        "messages", "messages", "messages",  "messages", "tools",   "context",
        "state",    "state",    "forwarded", "resume",   "unknown", "ids",
    };
    const auto room = [&](std::string_view which) {
        return shape.room(which, places);
    };
    const std::string run = "r" + std::to_string(request);
    return R"({"threadId":"t","runId":)" +
           (room("ids") > 100 ? shape.text("run", room("ids")) : "\"" + run + "\"") +
           R"(,"messages":)" +
           list(
               shape, "messages", room("messages"),
               [&](std::size_t i, std::size_t bytes) { return message(shape, i, bytes, request); }
           ) +
           R"(,"tools":)" + tools(shape, room("tools")) + R"(,"context":)" +
           list(
               shape, "context", room("context"),
               [&](std::size_t, std::size_t bytes) {
                   return R"({"description":)" + shape.text("of context", bytes / 2) +
                          R"(,"value":)" + shape.text("context", bytes / 2) + "}";
               }
           ) +
           R"(,"state":)" + shape.value("state", room("state")) + R"(,"forwardedProps":)" +
           shape.value("forwarded", room("forwarded")) + R"(,"resume":)" +
           (room("resume") > 100
                ? list(
                      shape, "resume", room("resume"),
                      [&](std::size_t i, std::size_t bytes) { return interrupt(shape, i, bytes); }
                  )
                : "null") +
           unknown_members(shape, room("unknown")) + "}";
}

std::string chat_request_of(const seeded_shape& shape) {
    static constexpr std::initializer_list<std::string_view> places{"message", "results",
                                                                    "tools",   "root",
                                                                    "model",   "unknown"};
    const auto room = [&](std::string_view which) {
        return shape.room(which, places);
    };
    return R"({"sessionId":"t","message":)" + content(shape, room("message")) +
           (room("results") > 100
                ? R"(,"toolResults":)" + list(
                                             shape, "results", room("results"),
                                             [&](std::size_t i, std::size_t bytes) {
                                                 return R"({"toolCallId":)" + shape.id("call", i) +
                                                        R"(,"content":)" + content(shape, bytes) +
                                                        "}";
                                             }
                                         )
                : "") +
           R"(,"tools":)" + tools(shape, room("tools")) + R"(,"workspaceRoot":)" +
           shape.text("root", room("root")) + R"(,"model":)" + shape.text("model", room("model")) +
           R"(,"responseMode":)" + (shape.chance("full", 2) ? "\"full\"" : "\"incremental\"") +
           unknown_members(shape, room("unknown")) + "}";
}

std::string thread_patch_of(const seeded_shape& shape) {
    static constexpr std::initializer_list<std::string_view> places{
        "metadata", "metadata", "metadata", "title", "unknown"
    };
    return R"({"title":)" + shape.text("title", shape.room("title", places)) + R"(,"metadata":)" +
           shape.value("metadata", shape.room("metadata", places)) +
           (shape.room("unknown", places) > 100
                ? unknown_members(shape, shape.room("unknown", places))
                : "") +
           "}";
}

std::string state_of(const seeded_shape& shape) { return shape.value("state", shape.bytes()); }

std::string part_of(const seeded_shape& shape) { return part(shape, 0, shape.bytes()); }

std::string head_of(const seeded_shape& shape, const std::string& path) {
    static constexpr std::initializer_list<std::string_view> names{
        "X-Forwarded-For", "Forwarded",     "Authorization", "Cookie", "Accept",
        "Range",           "If-None-Match", "Origin",        "X",      "Accept-Encoding"
    };
    static constexpr std::initializer_list<std::string_view> units{
        "1.2.3.4, ", "::1,", ",", "a", "[::1]:80, ", " ",   "W/\"a\",", "0-1,", "gzip;q=0.1,",
        "%41",       "a=b&", "&", "%", "/",          "../", "?",        "\t",   "for=x;"
    };
    const std::string_view unit = shape.pick("unit", units);
    // A request's head is limited to some kilobytes; only part of a larger one is read.
    const std::size_t bytes = shape.chance("all", 3) ? shape.bytes() : 15'000;
    std::string filling;
    while (filling.size() < bytes) {
        filling += unit;
    }
    std::string head = "GET " + path;
    const std::size_t place = shape.pick("place", 4);
    if (place == 0) {
        head += "?limit=1&" + filling;
    } else if (place == 1) {
        head += "/" + filling;
    }
    head += " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    const std::string name(shape.pick("header", names));
    if (place == 2) {
        head += name + ": " + filling + "\r\n";
    } else if (place == 3) {
        while (head.size() < bytes) {
            head += name + ": " + std::string(unit) + "\r\n";
        }
    }
    return head + "\r\n";
}

} // namespace agui::test
