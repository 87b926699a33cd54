#include "tests/gateway/input_shapes.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <string_view>
#include <utility>

namespace agui::test {

namespace {

class writer {
public:
    writer(const input_shape& shape, unsigned size, unsigned request)
        : shape_(shape), size_(size), request_(request) {}

    std::string write() {
        out_ = R"({"threadId":"t","runId":"r)" + std::to_string(request_) + "\"";
        list("messages", [this] { messages(); });
        list("tools", [this] {
            repeat(std::min(shape_.tools, 128U), [this](unsigned i) {
                element() += R"({"name":"tool)" + std::to_string(i) + R"(","description":"d"})";
            });
        });
        list("context", [this] {
            repeat(shape_.context * size_, [this](unsigned i) {
                element() += R"({"description":"d)" + std::to_string(i) + R"(","value":"v"})";
            });
        });
        list("resume", [this] {
            repeat(shape_.resume * size_, [this](unsigned i) {
                element() +=
                    R"({"interruptId":"i)" + std::to_string(i) + R"(","status":"resolved"})";
            });
        });
        out_ += ",\"state\":";
        nested([this] { state(); });
        out_ += ",\"forwardedProps\":";
        nested([this] { members(shape_.forwarded * size_, "p"); });
        // With more members, the request would be refused.
        repeat(std::min(shape_.unknown_members * size_, 1000U), [this](unsigned i) {
            out_ += ",\"x" + std::to_string(i) + "\":[" + std::to_string(i) + "]";
        });
        return out_ + "}";
    }

private:
    template <class Body>
    void repeat(unsigned count, Body body) {
        for (unsigned i = 0; i < count; ++i) {
            body(i);
        }
    }

    std::string& element() {
        if (out_.back() != '[') {
            out_.push_back(',');
        }
        return out_;
    }

    template <class Body>
    void list(std::string_view name, Body body) {
        out_ += ",\"" + std::string(name) + "\":[";
        body();
        out_ += "]";
    }

    template <class Body>
    void nested(Body body) {
        const unsigned depth = std::min(shape_.depth, 50U);
        repeat(depth, [this](unsigned) { out_ += R"({"d":)"; });
        body();
        out_.append(depth, '}');
    }

    void members(unsigned count, std::string_view prefix) {
        out_.push_back('{');
        // In reverse order, so that they have to be sorted.
        repeat(count, [&](unsigned i) {
            out_ +=
                (i == 0 ? "\"" : ",\"") + std::string(prefix) + std::to_string(count - i) + "\":0";
        });
        out_.push_back('}');
    }

    void state() {
        out_ += R"({"m":)";
        members(shape_.state_members * size_, "s");
        out_ += R"(,"z":[)";
        repeat(shape_.state_zeros * size_, [this](unsigned) { element() += "0"; });
        out_ += "]}";
    }

    std::string id(unsigned number, unsigned distinct, std::string_view prefix) const {
        const unsigned shown = distinct == 0 ? number : number % distinct;
        const bool is_other = shape_.other_ids && request_ > 1;
        return "\"" + std::string(prefix) + (is_other ? "o" : "") + std::to_string(shown) + "\"";
    }

    std::string text(unsigned number) const {
        const bool is_other = shape_.other_texts && request_ > 1;
        return "\"text " + std::string(is_other ? "o" : "") + std::to_string(number) + "\"";
    }

    void begin_message(std::string_view role) {
        element() += R"({"role":")" + std::string(role) + R"(","id":)" +
                     id(number_++, shape_.message_ids, "m");
    }

    void parts(unsigned count) {
        out_ += ",\"content\":[";
        repeat(count, [this](unsigned i) {
            if (shape_.binary && i % 2 == 0) {
                element() +=
                    R"({"type":"binary","mimeType":"image/png","data":)" + text(i / 2) + "}";
            } else if (shape_.binary) {
                element() +=
                    R"({"type":"image","source":{"type":"data","mimeType":"image/png","value":)" +
                    text(i / 2) + "}}";
            } else {
                element() += R"({"type":"text","text":)" + text(i) + "}";
            }
        });
        out_ += "]}";
    }

    void user(unsigned i) {
        begin_message("user");
        const unsigned count = i == 0 ? shape_.parts * size_ : shape_.parts_each;
        if (count > 0) {
            parts(std::min(count, 1000U));
        } else {
            out_ += ",\"content\":" + text(i) + "}";
        }
    }

    void assistant(unsigned i) {
        begin_message("assistant");
        const unsigned count = i == 0 ? shape_.calls * size_ : shape_.calls_each;
        out_ += ",\"content\":" + text(i) + ",\"toolCalls\":[";
        repeat(std::min(count, 2000U), [this](unsigned) {
            element() += R"({"type":"function","id":)" + id(call_++, shape_.call_ids, "c") +
                         R"(,"function":{"name":"tool0","arguments":"{}"}})";
        });
        out_ += "]}";
    }

    void messages() {
        repeat(shape_.systems * size_, [this](unsigned i) {
            begin_message("system");
            out_ += ",\"content\":" + text(i) + "}";
        });
        repeat(shape_.assistants * size_, [this](unsigned i) { assistant(i); });
        repeat(shape_.answers * size_, [this](unsigned i) {
            begin_message("tool");
            out_ +=
                ",\"toolCallId\":" + id(i, shape_.call_ids, "c") + ",\"content\":" + text(i) + "}";
        });
        repeat(shape_.reasonings * size_, [this](unsigned i) {
            begin_message("reasoning");
            out_ += ",\"content\":" + text(i) + "}";
        });
        repeat(shape_.users * size_, [this](unsigned i) { user(i); });
    }

    const input_shape& shape_;
    const unsigned size_;
    const unsigned request_;
    unsigned number_ = 0;
    unsigned call_ = 0;
    std::string out_;
};

using number_member = std::pair<std::string_view, unsigned input_shape::*>;
constexpr std::array<number_member, 20> numbers{{
    {"users", &input_shape::users},
    {"assistants", &input_shape::assistants},
    {"answers", &input_shape::answers},
    {"systems", &input_shape::systems},
    {"reasonings", &input_shape::reasonings},
    {"message_ids", &input_shape::message_ids},
    {"parts", &input_shape::parts},
    {"parts_each", &input_shape::parts_each},
    {"calls", &input_shape::calls},
    {"calls_each", &input_shape::calls_each},
    {"call_ids", &input_shape::call_ids},
    {"tools", &input_shape::tools},
    {"context", &input_shape::context},
    {"resume", &input_shape::resume},
    {"state_members", &input_shape::state_members},
    {"state_zeros", &input_shape::state_zeros},
    {"unknown_members", &input_shape::unknown_members},
    {"forwarded", &input_shape::forwarded},
    {"depth", &input_shape::depth},
    {"", nullptr},
}};

using flag_member = std::pair<std::string_view, bool input_shape::*>;
constexpr std::array<flag_member, 4> flags{{
    {"binary", &input_shape::binary},
    {"other_texts", &input_shape::other_texts},
    {"other_ids", &input_shape::other_ids},
    {"client_history", &input_shape::client_history},
}};

} // namespace

std::vector<std::string> bodies_of(const input_shape& shape, unsigned size, unsigned requests) {
    std::vector<std::string> bodies;
    for (unsigned request = 1; request <= requests; ++request) {
        bodies.push_back(writer(shape, size, request).write());
    }
    return bodies;
}

std::vector<input_shape> worst_shapes() {
    return {
        {.name = "many parts, then many messages of that id",
         .users = 10,
         .message_ids = 1,
         .parts = 2},
        {.name = "n messages of one id, then n others",
         .users = 10,
         .message_ids = 1,
         .other_texts = true},
        {.name = "n messages, then the same ids with other texts", .users = 10, .other_texts = true
        },
        {.name = "n messages, then the same texts with other ids", .users = 10, .other_ids = true},
        {.name = "one text n times, then under other ids",
         .users = 10,
         .parts_each = 1,
         .other_ids = true},
        {.name = "one assistant message with many calls", .users = 1, .assistants = 1, .calls = 20},
        {.name = "many calls and their answers",
         .users = 1,
         .assistants = 5,
         .answers = 10,
         .calls = 2,
         .calls_each = 2,
         .tools = 128},
        {.name = "answers to few calls",
         .users = 1,
         .assistants = 5,
         .answers = 10,
         .calls_each = 1,
         .call_ids = 3,
         .tools = 128},
        {.name = "system messages", .users = 1, .systems = 10, .other_texts = true},
        {.name = "reasoning on many branches of a client's history",
         .users = 1,
         .reasonings = 10,
         .other_texts = true,
         .client_history = true},
        {.name = "everything, of one id, in a client's history",
         .users = 3,
         .assistants = 3,
         .answers = 3,
         .reasonings = 3,
         .message_ids = 2,
         .calls = 2,
         .calls_each = 2,
         .call_ids = 2,
         .tools = 10,
         .other_texts = true,
         .client_history = true},
        {.name = "files in both forms", .users = 2, .parts = 2, .parts_each = 20, .binary = true},
        {.name = "members against their order, deep",
         .users = 1,
         .state_members = 20,
         .unknown_members = 20,
         .forwarded = 20,
         .depth = 50},
        {.name = "context and resume", .users = 1, .context = 20, .resume = 20},
        {.name = "zeros", .users = 1, .state_zeros = 100},
        // The most expensive of a thousand shapes that shape-search found.
        {.name = "found by seed 443",
         .users = 1,
         .reasonings = 1,
         .message_ids = 60,
         .parts = 1,
         .calls = 1,
         .call_ids = 60,
         .context = 2,
         .resume = 2,
         .state_members = 20,
         .unknown_members = 5,
         .depth = 60,
         .other_ids = true,
         .client_history = true},
        {.name = "found by seed 151",
         .users = 1,
         .answers = 5,
         .systems = 5,
         .reasonings = 2,
         .message_ids = 60,
         .parts_each = 5,
         .calls = 1,
         .context = 1,
         .state_members = 60,
         .state_zeros = 1,
         .unknown_members = 60,
         .forwarded = 5,
         .depth = 60,
         .binary = true,
         .other_ids = true},
        {.name = "found by seed 247",
         .users = 60,
         .assistants = 1,
         .reasonings = 2,
         .parts = 5,
         .parts_each = 5,
         .call_ids = 1,
         .context = 1,
         .resume = 1,
         .state_members = 60,
         .state_zeros = 60,
         .depth = 60,
         .other_ids = true},
        {.name = "found by seed 467",
         .users = 5,
         .answers = 2,
         .reasonings = 1,
         .message_ids = 60,
         .parts_each = 1,
         .calls = 2,
         .call_ids = 20,
         .tools = 60,
         .resume = 1,
         .state_members = 60,
         .state_zeros = 2,
         .depth = 20,
         .binary = true},
        {.name = "found by seed 714",
         .users = 60,
         .systems = 20,
         .reasonings = 1,
         .message_ids = 60,
         .parts = 2,
         .parts_each = 60,
         .calls = 1,
         .calls_each = 5,
         .call_ids = 20,
         .context = 60,
         .resume = 2,
         .state_members = 5,
         .unknown_members = 2,
         .forwarded = 20,
         .other_texts = true},
        {.name = "found by seed 94",
         .users = 1,
         .systems = 5,
         .reasonings = 1,
         .parts = 20,
         .parts_each = 5,
         .call_ids = 1,
         .tools = 20,
         .state_members = 60,
         .unknown_members = 20,
         .depth = 60,
         .binary = true},
        {.name = "found by seed 153",
         .users = 60,
         .assistants = 2,
         .reasonings = 60,
         .parts = 5,
         .parts_each = 60,
         .call_ids = 20,
         .tools = 1,
         .context = 20,
         .resume = 5,
         .state_members = 20,
         .forwarded = 2,
         .other_texts = true},
        {.name = "found by seed 903",
         .users = 2,
         .message_ids = 20,
         .parts = 60,
         .calls = 60,
         .calls_each = 60,
         .call_ids = 5,
         .tools = 2,
         .resume = 1,
         .state_members = 60,
         .forwarded = 5,
         .depth = 20,
         .other_ids = true},
        {.name = "found by seed 542",
         .users = 60,
         .answers = 60,
         .systems = 2,
         .reasonings = 2,
         .parts = 60,
         .parts_each = 60,
         .calls = 1,
         .call_ids = 1,
         .tools = 60,
         .state_members = 20,
         .depth = 2,
         .other_texts = true},
        {.name = "found by seed 473",
         .users = 20,
         .systems = 60,
         .parts = 2,
         .parts_each = 5,
         .calls_each = 20,
         .call_ids = 2,
         .tools = 1,
         .context = 1,
         .resume = 2,
         .state_members = 20,
         .forwarded = 5,
         .depth = 60,
         .other_texts = true,
         .other_ids = true},
    };
}

input_shape random_shape(std::uint32_t seed) {
    std::mt19937 random(seed);
    input_shape shape;
    shape.name = "seed " + std::to_string(seed);
    constexpr std::array<unsigned, 8> amounts{0, 0, 0, 1, 2, 5, 20, 60};
    for (const auto& [name, member] : numbers) {
        if (member != nullptr) {
            shape.*member = amounts[random() % amounts.size()];
        }
    }
    shape.users = std::max(shape.users, 1U);
    for (const auto& [name, member] : flags) {
        shape.*member = random() % 3 == 0;
    }
    return shape;
}

std::string to_string(const input_shape& shape) {
    std::string text = "{.name = \"" + shape.name + "\"";
    for (const auto& [name, member] : numbers) {
        if (member != nullptr && shape.*member != 0) {
            text += ", ." + std::string(name) + " = " + std::to_string(shape.*member);
        }
    }
    for (const auto& [name, member] : flags) {
        if (shape.*member) {
            text += ", ." + std::string(name) + " = true";
        }
    }
    return text + "},";
}

} // namespace agui::test
