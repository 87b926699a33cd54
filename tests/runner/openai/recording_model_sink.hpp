#pragma once

#include "runner/base/model_provider.hpp"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace agui::test {

/// Writes down what a model answered: adjacent deltas of one thing joined, so that it reads the
/// same however the bytes were cut.
class recording_model_sink : public runner::model_sink {
public:
    void on_begin() override { ++begins; }
    void on_text(std::string_view delta) override { add("text ", delta); }
    void on_reasoning(std::string_view delta) override { add("reasoning ", delta); }
    void on_call(std::size_t call, std::string_view id, std::string_view name) override {
        lines.push_back(
            "call " + std::to_string(call) + " " + std::string(id) + " " + std::string(name)
        );
    }
    void on_call_arguments(std::size_t call, std::string_view delta) override {
        contract_broken = contract_broken || ended_.contains(call);
        add("arguments " + std::to_string(call) + " ", delta);
    }

    void on_call_end(std::size_t call) override {
        contract_broken = !ended_.insert(call).second || contract_broken;
        lines.push_back("end " + std::to_string(call));
    }

    void
    on_hosted_tool(std::string_view id, std::string_view name, runner::hosted_tool state) override {
        const std::string line = "hosted " + std::string(id) + " ";
        lines.push_back(
            line + (state == runner::hosted_tool::running     ? std::string(name)
                    : state == runner::hosted_tool::completed ? "completed"
                                                              : "failed")
        );
    }

    void on_media(const runner::generated_media& made) override {
        const bool is_image = made.what == runner::generated_media::kind::image;
        std::string line = is_image ? "image " : "audio ";
        line += made.problem.empty() ? std::to_string(made.bytes.size()) + " bytes"
                                     : std::string(made.problem);
        lines.push_back(
            made.transcript.empty() ? line : line + ": " + std::string(made.transcript)
        );
    }
    std::string_view on_media_bytes(std::size_t bytes) override {
        media_bytes.push_back(bytes);
        return bytes <= media_bytes_max ? std::string_view() : "is more than the test takes";
    }

    std::vector<std::string> lines;
    /// What on_media_bytes() was asked; larger media are refused.
    std::vector<std::size_t> media_bytes;
    std::size_t media_bytes_max = SIZE_MAX;
    int begins = 0;
    /// An empty delta came, or something for a call that had ended.
    bool contract_broken = false;

private:
    void add(const std::string& kind, std::string_view delta) {
        contract_broken = contract_broken || delta.empty();
        if (lines.empty() || !lines.back().starts_with(kind)) {
            lines.push_back(kind);
        }
        lines.back().append(delta);
    }

    std::set<std::size_t> ended_;
};

} // namespace agui::test
