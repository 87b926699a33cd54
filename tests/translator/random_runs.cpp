// Random runs as lines of JSON, for checkers in other languages: {"seed", "1.1", "1.0",
// "undeclared", "frames"}, the events in each projection, and the bytes of each event of 1.1 in
// protobuf, as hexadecimal digits. Every stream has passed the verifier; otherwise the program ends
// with status 1.

#include "tests/translator/agui/random_run.hpp"
#include "translator/protobuf/event_encoder.hpp"
#include "translator/verifier/verifier.hpp"

#include <charconv>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using lines = std::vector<std::string>;

/// False if the stream breaks a rule, which is then printed.
bool is_valid(const lines& events, unsigned seed, std::string_view projection) {
    agui::translator::event_verifier verifier;
    const auto complain = [&](const std::string& problem) {
        std::cerr << "seed " << seed << ", " << projection << ": " << problem << '\n';
        return false;
    };
    for (const std::string& event : events) {
        if (const auto problem = verifier.check(event)) {
            return complain(*problem + " in " + event);
        }
    }
    const auto problem = verifier.end();
    return !problem || complain(*problem);
}

std::string joined(const lines& values) {
    std::string out = "[";
    for (const std::string& value : values) {
        out += out.size() == 1 ? "" : ",";
        out += value;
    }
    return out + "]";
}

std::string hexadecimal(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out = "\"";
    for (const char byte : bytes) {
        const auto value = static_cast<unsigned char>(byte);
        out += digits[value >> 4U];
        out += digits[value & 15U];
    }
    return out + "\"";
}

bool write_run(unsigned seed) {
    const agui::translator::random_run run(seed, true);
    const agui::translator::recorded_events& forms = run.forms();
    if (!is_valid(forms.all, seed, "1.1") || !is_valid(forms.v1_0, seed, "1.0") ||
        !is_valid(forms.undeclared, seed, "undeclared")) {
        return false;
    }
    lines frames;
    for (std::string event : forms.all) {
        agui::translator::encode_event(event, 0);
        frames.push_back(hexadecimal(event));
    }
    std::cout << R"({"seed":)" << seed << R"(,"1.1":)" << joined(forms.all) << R"(,"1.0":)"
              << joined(forms.v1_0) << R"(,"undeclared":)" << joined(forms.undeclared)
              << R"(,"frames":)" << joined(frames) << "}\n";
    return true;
}

unsigned number(std::string_view text) {
    unsigned value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::cerr << "usage: random-runs FIRST-SEED COUNT\n";
        return 2;
    }
    bool good = true;
    const unsigned first = number(argv[1]);
    for (unsigned seed = first; seed - first < number(argv[2]); ++seed) {
        good = write_run(seed) && good;
    }
    return good && std::cout.flush() ? 0 : 1;
}
