#pragma once

#include <boost/json/object.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace agui::test {

/// A piece of the conversation in a model request, whatever the dialect.
struct spoken {
    enum class kind {
        input,     ///< A text for the model.
        result,    ///< Of the call `id`.
        text,      ///< The model's.
        call,      ///< The model's; `id`.
        reasoning, ///< Plain text, which goes back to its model alone.
        opaque,    ///< Signed or encrypted, and bound to everything before it.
    };
    kind what = kind::input;
    std::string bytes; ///< JSON, as it was sent.
    std::string id = {};
    /// What every model can read of an answer: its text, or the call's id, name and arguments.
    std::string plain = {};

    [[nodiscard]] bool is_answer() const noexcept {
        return what != kind::input && what != kind::result;
    }
};

/// A model request in parts.
struct asked_request {
    std::string system;
    std::vector<std::string> tools;      ///< JSON of each.
    std::vector<std::string> tool_names; ///< As sent.
    std::vector<spoken> parts;
};

/// An answer: the stream, and the parts as they must come back.
struct made_answer {
    std::string events;
    std::vector<spoken> parts;
};

/// Numbers that are the same for a seed.
class random_source {
public:
    explicit random_source(std::uint32_t seed) : engine_(seed) {}

    [[nodiscard]] std::size_t below(std::size_t limit) { return engine_() % limit; }
    [[nodiscard]] bool one_of(std::size_t limit) { return below(limit) == 0; }
    [[nodiscard]] std::mt19937& engine() noexcept { return engine_; }

private:
    std::mt19937 engine_;
};

/// The API of one vendor: reads requests as strictly as the vendor, and answers at random. Keeps no
/// state.
class strict_vendor {
public:
    virtual ~strict_vendor() = default;

    /// The body without the members that are no part of what the model reads. Throws
    /// std::runtime_error for a wrong use of them.
    [[nodiscard]] virtual std::string without_marks(std::string body) const { return body; }
    /// True if opaque data is valid only with the list of tools with which it was made.
    [[nodiscard]] virtual bool binds_tools() const noexcept { return false; }
    /// Throws an exception for a request that the vendor refuses, whatever came before it.
    [[nodiscard]] virtual asked_request read(const boost::json::object& body) const = 0;
    /// `number` is another one for each answer of any vendor.
    [[nodiscard]] virtual made_answer
    answer(const asked_request& asked, std::uint64_t number, random_source& random) const = 0;
};

[[nodiscard]] std::unique_ptr<strict_vendor> make_strict_chat();      ///< Chat Completions
[[nodiscard]] std::unique_ptr<strict_vendor> make_strict_claude();    ///< Messages
[[nodiscard]] std::unique_ptr<strict_vendor> make_strict_responses(); ///< Responses

} // namespace agui::test
