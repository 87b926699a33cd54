#include "gateway/runs/run_opening.hpp"

#include "translator/agui/agui_translator.hpp"
#include "translator/agui/protocol_version.hpp"

#include <utility>

namespace agui::gateway {

namespace {

class opening_sink final : public translator::wire_sink {
public:
    void on_event(const translator::wire_event& event) override {
        forms.v1_1 = event.json;
        forms.v1_0 = event.v1_0.value_or(event.json);
        forms.undeclared = event.undeclared.value_or(event.json);
    }

    run_opening_forms forms;
};

} // namespace

run_opening_forms
write_opening(std::string_view thread_id, const session::run_record& run, unix_ms now) {
    opening_sink sink;
    translator::agui_translator translator(sink, {});
    translator.set_time(now);
    translator.start({thread_id, run.run_id, run.parent_run_id});
    return std::move(sink.forms);
}

const std::string&
opening_for_first_reader(const run_opening_forms& forms, const session::run_record& run) {
    using translator::projection;
    switch (translator::projection_from_string(run.protocol).value_or(projection::undeclared)) {
    case projection::undeclared:
        return forms.undeclared;
    case projection::v1_0:
        return forms.v1_0;
    case projection::v1_1:
        return forms.v1_1;
    }
    return forms.undeclared;
}

} // namespace agui::gateway
