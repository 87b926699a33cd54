// Measures JSON whose names were chosen to collide, beside ordinary JSON of the same size. Prints a
// line for each: members, bytes, milliseconds of CPU to parse, and the longest chain of the object.
#include "session/base/parse_json.hpp"
#include "tests/support/colliding_names.hpp"

#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

namespace {

double milliseconds() {
    return static_cast<double>(std::clock()) * 1000.0 / static_cast<double>(CLOCKS_PER_SEC);
}

void show(const char* name, const std::vector<std::string>& names) {
    const std::string text = agui::test::object_text(names);
    const double begin = milliseconds();
    const auto parsed = agui::parse_json(text);
    const double taken = milliseconds() - begin;
    std::printf(
        "%-12s %6zu members %8zu bytes %9.1f ms, longest chain %zu\n", name, names.size(),
        text.size(), taken, parsed ? agui::test::longest_chain(parsed->get_object()) : 0
    );
}

} // namespace

int main() {
    for (const unsigned bits : {12U, 15U}) {
        const std::size_t count = std::size_t{1} << bits;
        std::vector<std::string> ordinary;
        for (std::size_t i = 0; i < count; ++i) {
            ordinary.push_back("n" + std::to_string(10'000 + i));
        }
        show("ordinary", ordinary);
        show("one bucket", agui::test::names_of_one_bucket(bits));
        show("one digest", agui::test::names_of_one_digest(count));
    }
}
