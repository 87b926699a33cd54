#pragma once

#include "translator/agui/agui_translator.hpp"
#include "translator/agui/protocol_version.hpp"
#include "translator/verifier/verifier.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace agui::test {

/// The streams that the readers of each projection get. Every event goes through a verifier of its
/// projection; a violation fails the test.
class recorded_stream final : public translator::wire_sink {
public:
    void on_event(const translator::wire_event& event) override {
        EXPECT_FALSE(ended_) << "an event after the terminal: " << event.json;
        add(translator::projection::v1_1, event.json);
        add(translator::projection::v1_0, event.v1_0.value_or(event.json));
        add(translator::projection::undeclared, event.undeclared.value_or(event.json));
        ended_ = event.terminal;
    }

    [[nodiscard]] const std::vector<std::string>&
    lines(translator::projection form = translator::projection::v1_1) const {
        return readers_[index(form)].lines;
    }

    [[nodiscard]] const std::string&
    last(translator::projection form = translator::projection::v1_1) const {
        return lines(form).back();
    }

    /// The events' types, without the prefixes that they all share.
    [[nodiscard]] std::vector<std::string>
    types(translator::projection form = translator::projection::v1_1) const {
        std::vector<std::string> out;
        for (const std::string& line : lines(form)) {
            constexpr std::string_view begin = "{\"type\":\"";
            out.push_back(line.substr(begin.size(), line.find('"', begin.size()) - begin.size()));
        }
        return out;
    }

    [[nodiscard]] bool ended() const { return ended_; }

    /// Fails the test unless every reader's stream is complete.
    void expect_complete() const {
        EXPECT_TRUE(ended_);
        for (const reader& one : readers_) {
            EXPECT_EQ(one.verifier.end(), std::nullopt);
        }
    }

private:
    struct reader {
        std::vector<std::string> lines;
        translator::event_verifier verifier;
    };

    static std::size_t index(translator::projection form) { return static_cast<std::size_t>(form); }

    void add(translator::projection form, std::string_view json) {
        if (json.empty()) {
            return;
        }
        reader& one = readers_[index(form)];
        const std::optional<std::string> wrong = one.verifier.check(json);
        EXPECT_EQ(wrong, std::nullopt) << *wrong << "\nin " << json;
        one.lines.emplace_back(json);
    }

    std::array<reader, 3> readers_;
    bool ended_ = false;
};

} // namespace agui::test
