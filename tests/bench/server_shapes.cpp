#include "tests/bench/server_shapes.hpp"

#include "tests/runner/tools/schema_shapes.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <vector>

namespace agui::test {

namespace {

constexpr std::size_t tiny_chunks = 0; // The size that selects a framing of tiny chunks.

/// The shape of a body whose framing takes the rest of the bytes.
seeded_shape body_shape(const seeded_shape& shape) {
    constexpr std::size_t bytes_of_chunk = 6;
    const bool is_tiny = shape.pick("framing", 8) == tiny_chunks;
    return is_tiny ? shape.of_bytes(shape.bytes() / bytes_of_chunk) : shape;
}

std::string chunked(std::string_view body, std::size_t piece) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string all;
    for (; !body.empty(); body.remove_prefix(std::min(piece, body.size()))) {
        const std::string_view one = body.substr(0, piece);
        std::string length;
        for (std::size_t rest = one.size(); rest > 0; rest /= 16) {
            length.insert(length.begin(), digits[rest % 16]);
        }
        all.append(length).append("\r\n").append(one).append("\r\n");
    }
    return all + "0\r\n\r\n";
}

/// The head that the shape gives an answer, and its framing.
std::string
framed(const seeded_shape& shape, std::string_view content_type, std::string_view body) {
    std::string head = "HTTP/1.1 200 OK\r\nContent-Type: " + std::string(content_type) + "\r\n";
    switch (shape.pick("framing", 8)) {
    case tiny_chunks:
        return head + "Transfer-Encoding: chunked\r\n\r\n" + chunked(body, 1);
    case 1:
        return head + "Transfer-Encoding: chunked\r\n\r\n" + chunked(body, 100);
    case 2:
        return head + "Connection: close\r\n\r\n" + std::string(body);
    case 3:
        if (shape.chance("interim", 8)) {
            std::string interim;
            while (interim.size() < shape.bytes()) {
                interim += "HTTP/1.1 100 Continue\r\n\r\n";
            }
            return interim + http_answer(content_type, "{}");
        }
        [[fallthrough]];
    default:
        return http_answer(content_type, body);
    }
}

/// An event of an event stream that holds the data.
std::string event(const seeded_shape& shape, std::string_view data) {
    const std::string end(shape.pick("line end", {"\n", "\n", "\n", "\r\n", "\r"}));
    const std::string line = "data: " + std::string(data) + end;
    switch (shape.pick("event", 10)) {
    case 0:
        return "event: message" + end + line + end;
    case 1:
        return ": ping" + end + end + line + end;
    case 2: // No empty line between events.
        return line;
    case 3:
        return "id: 1" + end + "retry: 1" + end + line + end;
    case 4: // Split into two lines where the JSON has a comma.
        if (const std::size_t at = data.find(','); at != data.npos) {
            return "data: " + std::string(data.substr(0, at + 1)) + end +
                   "data: " + std::string(data.substr(at + 1)) + end + end;
        }
        return line + end;
    case 5:
        return line + "data" + end + end;
    default:
        return line + end;
    }
}

/// Lines of an event stream without data.
std::string noise(const seeded_shape& shape, std::size_t bytes) {
    const std::string_view line = shape.pick(
        "noise", {"\n",
                  "\r",
                  "data:\n",
                  "data: x\n",
                  ":\n",
                  "data\r",
                  "event: e\n",
                  "data:\n\n",
                  "data: {\n",
                  "x",
                  "data: ping\n\n",
                  ": keep-alive\n\n",
                  "data: [\n",
                  "data: {}\n\n",
                  "data: {\"object\":\"x\"}\n\n",
                  "{}",
                  "{\"choices\":[]}",
                  "data:{}\n",
                  "data:x\n\n",
                  "data:1\n\n",
                  "{",
                  "{\"a\":0}\n"}
    );
    std::string all;
    while (all.size() < bytes) {
        all += line;
    }
    return all;
}

std::string index_of(const seeded_shape& shape, std::size_t i) {
    switch (shape.pick("index", 10)) {
    case 0:
        return R"("index":0,)";
    case 1:
        return R"("index":)" + std::to_string(i % 7) + ",";
    case 2:
        return R"("index":-1,)";
    case 3:
        return {};
    case 4:
        return R"("index":)" + std::to_string(1'000'000 - i) + ",";
    case 5:
        return R"("index":)" + std::to_string(i) + ".0,";
    case 6:
        return R"("index":)" + std::to_string(i % 127) + ",";
    default:
        return R"("index":)" + std::to_string(i) + ",";
    }
}

std::string tool_name(const seeded_shape& shape, std::size_t i) {
    switch (shape.pick("called", 8)) {
    case 0:
        return "\"mcp__m__t\"";
    case 1:
        return "\"paint\"";
    case 2:
        return shape.name("called", i);
    case 3:
        return i == 0 ? "\"hook\"" : "\"\"";
    default:
        return "\"hook\"";
    }
}

std::string piece_of_arguments(const seeded_shape& shape, std::size_t i) {
    constexpr std::array<std::string_view, 16> pieces{
        "{}",
        "{",
        "}",
        "\\\"",
        "a",
        "{\\\"a\\\":1}",
        "[",
        " ",
        "null",
        "\\\\",
        "{\\\"a\\\":{",
        "\\\"\\\\\\\"{",
        "1",
        ",",
        "\\ud83d",
        "\xe2"
    };
    if (i == 0 && shape.chance("opened", 2)) {
        return R"("{\"a\":\"")";
    }
    return '"' + std::string(pieces[shape.pick("piece", pieces.size())]) + '"';
}

std::string call(const seeded_shape& shape, std::size_t i, std::size_t bytes) {
    std::string arguments;
    switch (shape.pick("arguments form", 6)) {
    case 0:
        arguments = quoted(shape.value("arguments", bytes));
        break;
    case 1:
        arguments = shape.value("arguments", bytes);
        break;
    case 2:
        arguments = shape.text("arguments", bytes);
        break;
    case 3:
        arguments = quoted("{\"list\":" + shape.value("list", bytes) + "}", 1 + i % 3);
        break;
    default:
        arguments = piece_of_arguments(shape, i);
    }
    return "{" + index_of(shape, i) + R"("id":)" + shape.id("call", i) +
           R"(,"type":"function","function":{"name":)" + tool_name(shape, i) + R"(,"arguments":)" +
           arguments + "}" +
           (shape.chance("extra", 8) ? R"(,"extra_content":)" + shape.value("extra", bytes) : "") +
           "}";
}

std::string calls(const seeded_shape& shape, std::size_t begin, std::size_t bytes) {
    std::string all = R"("tool_calls":[)";
    const std::size_t most = shape.elements("calls", bytes);
    const std::size_t end = all.size() + bytes;
    for (std::size_t i = 0; i < most && all.size() < end; ++i) {
        all += (i == 0 ? "" : ",") + call(shape, begin + i, bytes / most);
    }
    return all + "]";
}

std::string details(const seeded_shape& shape, std::size_t begin, std::size_t bytes) {
    std::string all = R"("reasoning_details":[)";
    const std::size_t end = all.size() + bytes;
    for (std::size_t i = 0; all.size() < end; ++i) {
        all += (i == 0 ? "{" : ",{") + index_of(shape, begin + i) + R"("id":)" +
               shape.id("detail", begin + i) + R"(,"type":)" +
               std::string(shape.pick(
                   "detail", {"\"reasoning.text\"", "\"reasoning.encrypted\"",
                              "\"reasoning.summary\"", "\"x\""}
               )) +
               R"(,"text":"a","data":"b"})";
    }
    return all + "]";
}

/// The members of a delta, or of a whole message.
std::string delta(const seeded_shape& shape, std::size_t i, std::size_t bytes) {
    switch (shape.pick("delta", 18)) {
    case 0:
    case 1:
        return R"("content":)" + shape.text("content", bytes);
    case 2:
        return '"' +
               std::string(shape.pick("thoughts", {"reasoning_content", "reasoning", "thinking"})) +
               R"(":)" + shape.text("thoughts", bytes);
    case 3:
    case 4:
        return details(shape, i, bytes);
    case 5:
        return R"("content":)" + shape.value("parts", bytes);
    case 6:
        return R"("content":[{"type":"text","text":"a"},{"type":"thinking","thinking":)" +
               shape.value("thinking", bytes) + "}]";
    case 7:
        return R"("function_call":{"name":"hook","arguments":)" +
               quoted(shape.value("arguments", bytes)) + "}";
    case 8:
        return R"("refusal":)" + shape.text("refusal", bytes);
    case 9:
        return R"("extra_content":)" + shape.value("extra", bytes);
    case 10:
        return R"("usage":)" + shape.value("usage", bytes);
    case 11:
        return R"("x":)" + shape.value("unknown", bytes);
    case 12: // Thoughts and text by turns.
        return (i % 2 == 0 ? R"("content":)" : R"("reasoning":)") + shape.text("content", bytes);
    case 13: // Text and calls by turns.
        return i % 2 == 0 ? R"("content":)" + shape.text("content", bytes) : calls(shape, i, bytes);
    default:
        return calls(shape, i, bytes);
    }
}

std::string chunk(const seeded_shape& shape, std::size_t i, std::size_t bytes) {
    const std::string part = shape.chance("whole", 6) ? "message" : "delta";
    const std::string inner = "\"" + part + "\":{" + delta(shape, i, bytes) + "}";
    switch (shape.pick("chunk", 16)) {
    case 0:
        return R"({"choices":[{"index":0,)" + inner + R"(}],"usage":)" +
               shape.value("usage", bytes) + "}";
    case 1:
        return R"({"error":)" + shape.value("error", bytes) + "}";
    case 2: {
        std::string all = R"({"choices":[)";
        for (std::size_t at = 0; all.size() < bytes; ++at) {
            all += (at == 0 ? "" : ",") + std::string(R"({"delta":{)") + delta(shape, at, 1) + "}}";
        }
        return all + "]}";
    }
    case 3:
        return R"({"choices":[{"finish_reason":)" + shape.text("reason", bytes) + "," + inner +
               "}]}";
    case 4:
        return "{" + shape.name("member", i) + ":" + shape.value("member", bytes) +
               R"(,"choices":[{)" + inner + "}]}";
    case 5:
        return shape.value("chunk", bytes);
    default:
        return R"({"choices":[{"index":0,)" + inner + "}]}";
    }
}

} // namespace

std::string http_answer(std::string_view content_type, std::string_view body) {
    return "HTTP/1.1 200 OK\r\nContent-Type: " + std::string(content_type) +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

namespace {

/// A chunk of an answer that repeats `unit` within a list.
std::string
list_chunk(std::string_view begin, std::string_view unit, std::string_view end, std::size_t bytes) {
    std::string all(begin);
    while (all.size() < bytes) {
        all.append(all.size() == begin.size() ? "" : ",").append(unit);
    }
    return all.append(end);
}

std::string calls_of(std::string_view tool, std::size_t count, std::string_view arguments) {
    std::string all = R"({"choices":[{"delta":{"tool_calls":[)";
    for (std::size_t i = 0; i < count; ++i) {
        all += (i == 0 ? "" : ",") + std::string(R"({"index":)") + std::to_string(i) +
               R"(,"id":"c)" + std::to_string(i) + R"(","function":{"name":")" + std::string(tool) +
               R"(","arguments":)" + std::string(arguments) + "}}";
    }
    return all + "]}}]}";
}

/// A chunk, or an answer without events, that might be expensive to read.
std::string flood(std::uint32_t number, std::size_t bytes) {
    switch (number) {
    case 1:
        return list_chunk(
            R"({"choices":[)", R"({"delta":{"content":"a"}},{"delta":{"reasoning":"b"}})", "]}",
            bytes
        );
    case 2:
        return list_chunk(
            R"({"choices":[{"delta":{"content":[)",
            R"({"type":"text","text":"a"},{"type":"thinking","thinking":"b"})", "]}}]}", bytes
        );
    case 3:
        return calls_of("hook", 127, R"("{}")");
    case 4:
        return calls_of("mcp__m__t", 127, R"("{}")");
    case 5:
        return calls_of("paint", 127, R"("{}")");
    case 6:
        return calls_of("nobody", 127, quoted(list_chunk("{\"a\":[", "0", "]}", bytes / 140)));
    case 7:
        return calls_of("hook", 1, quoted(list_chunk("{\"list\":[", "{}", "]}", bytes)));
    case 8: // A reply of many segments, for replies that are items.
        return R"({"choices":[{"delta":{"content":)" +
               quoted(list_chunk(
                   R"([{"type":"chat","content":[)", R"({"type":"x"})", "]}]", bytes * 2 / 3
               )) +
               "}}]}";
    case 9:
        return R"({"choices":[{"delta":{"content":)" +
               quoted(list_chunk(
                   R"([{"type":"chat","content":[)", R"("a",{"type":"x"})", "]}]", bytes * 2 / 3
               )) +
               "}}]}";
    case 10:
        return list_chunk(
            R"({"choices":[{"delta":{"reasoning_details":[)",
            R"({"type":"reasoning.text","text":"a"},{"type":"x"})", "]}}]}", bytes
        );
    case 11:
        return calls_of("hook", 1, quoted(list_chunk("", "\"\"", "", bytes / 2)));
    default:
        return list_chunk(
            R"({"choices":[)",
            R"({"delta":{"tool_calls":[{"index":0,"function":{"name":"hook","arguments":"{}"}}]}})",
            "]}", bytes
        );
    }
}

} // namespace

std::string model_answer_of(const seeded_shape& given) {
    if (given.seed() <= model_floods) {
        return http_answer(
            "text/event-stream",
            "data: " + flood(given.seed(), given.bytes()) +
                "\n\ndata: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
        );
    }
    const seeded_shape shape = body_shape(given);
    constexpr std::array<std::size_t, 6> chunks{1, 2, 10, 100, 1'000'000, 1'000'000};
    const std::size_t most = chunks[shape.pick("chunks", chunks.size())];
    const std::size_t form = shape.pick("form", 12);
    std::string body;
    if (form == 0) {
        body = noise(shape, shape.bytes());
    }
    for (std::size_t i = 0; i < most && body.size() < shape.bytes(); ++i) {
        const std::string one = chunk(shape, i, most > 1000 ? 1 : shape.bytes() / most);
        body += form == 1 ? one + "\n" : form == 2 ? one : event(shape, one);
    }
    const std::string_view reason =
        shape.pick("end", {"stop", "tool_calls", "tool_calls", "length"});
    if (form != 1 && form != 2 && !shape.chance("cut", 8)) {
        body += "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"" + std::string(reason) +
                "\"}]}\n\ndata: [DONE]\n\n";
    }
    return framed(shape, form == 2 ? "application/json" : "text/event-stream", body);
}

std::string webhook_answer_of(const seeded_shape& given) {
    const seeded_shape shape = body_shape(given);
    std::string body;
    switch (shape.pick("form", 3)) {
    case 0:
        body = shape.text("result", shape.bytes());
        body = body.substr(1, body.size() - 2);
        break;
    case 1:
        body = noise(shape, shape.bytes());
        break;
    default:
        body = shape.value("result", shape.bytes());
    }
    return framed(shape, "application/json", body);
}

namespace {

std::string mcp_answer(const seeded_shape& shape, std::string_view id, const std::string& result) {
    const std::string begin = R"({"jsonrpc":"2.0","id":)" + std::string(id);
    std::string message = begin + R"(,"result":)" + result + "}";
    switch (shape.pick("message", 12)) {
    case 0:
        message =
            begin + R"(,"error":{"code":-1,"message":)" + shape.text("error", shape.bytes()) + "}}";
        break;
    case 1: {
        std::string batch = "[";
        while (batch.size() < shape.bytes()) {
            batch += R"({"jsonrpc":"2.0","method":"notifications/message"},)";
        }
        message = batch + message + "]";
        break;
    }
    case 2:
        message = begin + R"(,"x":)" + shape.value("unknown", shape.bytes()) + R"(,"result":{}})";
        break;
    default:
        break;
    }
    if (!shape.chance("stream", 3)) {
        return framed(shape, "application/json", message);
    }
    const std::string before =
        shape.chance("noisy", 3) ? noise(shape, shape.bytes() / 2) + "\n\n" : std::string();
    return framed(shape, "text/event-stream", before + event(shape, message));
}

std::string block(const seeded_shape& shape, std::size_t bytes) {
    const std::string_view type =
        shape.pick("block", {"text", "text", "image", "resource_link", "resource", "x"});
    return R"({"type":")" + std::string(type) + R"(","text":)" + shape.text("block", bytes) +
           R"(,"uri":)" + shape.text("uri", bytes > 1000 ? bytes / 4 : 4) + R"(,"name":)" +
           shape.text("title", bytes > 1000 ? bytes / 4 : 4) + R"(,"resource":{"text":"a"}})";
}

// A schema that the product uses, or any value.
std::string schema(const seeded_shape& shape, std::size_t bytes) {
    if (shape.chance("any schema", 3)) {
        return shape.value("schema", bytes);
    }
    const schema_shape numbers =
        random_schema_shape(static_cast<std::uint32_t>(shape.pick("schema", 100'000)));
    return texts_of(numbers, size_within(numbers, bytes)).schema;
}

} // namespace

std::string mcp_result_of(const seeded_shape& given, std::string_view id) {
    const seeded_shape shape = body_shape(given);
    static constexpr std::initializer_list<std::string_view> places{
        "content", "content", "structured", "unknown"
    };
    const std::size_t room = shape.room("content", places);
    std::string content = shape.value("content", room);
    if (!shape.chance("any content", 3)) {
        content = "[";
        const std::size_t most = shape.elements("content", room);
        for (std::size_t i = 0; i < most && content.size() < room; ++i) {
            content += (i == 0 ? "" : ",") + block(shape, room / most);
        }
        content += "]";
    }
    const bool has_text = !shape.chance("only structured", 2);
    return mcp_answer(
        shape, id,
        "{" + (has_text ? R"("content":)" + content + "," : std::string()) +
            R"("structuredContent":)" +
            shape.value("structured", shape.room("structured", places)) + R"(,"x":)" +
            shape.value("unknown", shape.room("unknown", places)) + R"(,"isError":)" +
            (shape.chance("failed", 4) ? "true}" : "false}")
    );
}

std::string mcp_list_of(const seeded_shape& given, std::string_view id) {
    const seeded_shape shape = body_shape(given);
    static constexpr std::initializer_list<std::string_view> places{"tools", "tools",  "tools",
                                                                    "tools", "cursor", "unknown"};
    const std::size_t room = shape.room("tools", places);
    const std::size_t most = shape.elements("tools", room);
    std::string tools = "[";
    for (std::size_t i = 0; i < most && tools.size() < room; ++i) {
        const std::size_t bytes = room / most;
        const bool is_described = shape.chance("described", 3);
        tools += (i == 0 ? "" : ",") + std::string(R"({"name":)") +
                 (shape.chance("odd names", 3) ? shape.name("tool", i)
                                               : "\"t" + std::to_string(i) + "\"") +
                 R"(,"description":)" + shape.text("description", is_described ? bytes : 4) +
                 R"(,"inputSchema":)" +
                 (shape.chance("no schema", 4) || most > 2000 ? "{}" : schema(shape, bytes)) + "}";
    }
    return mcp_answer(
        shape, id,
        R"({"tools":)" + tools + R"(],"x":)" +
            shape.value("unknown", shape.room("unknown", places)) +
            (shape.room("cursor", places) > 100
                 ? R"(,"nextCursor":)" + shape.text("cursor", shape.room("cursor", places))
                 : "") +
            "}"
    );
}

} // namespace agui::test
