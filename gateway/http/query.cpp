#include "gateway/http/query.hpp"

#include <boost/url/params_encoded_view.hpp>
#include <boost/url/parse_query.hpp>

#include <algorithm>
#include <charconv>

namespace agui::gateway {

namespace {

constexpr std::size_t parameters_max = 64;
constexpr std::size_t page_default = 50;
constexpr std::size_t page_max = 200;

failure invalid(std::string detail) { return {errc::invalid_input, std::move(detail), "query"}; }

} // namespace

const std::string* query_parameters::find(std::string_view name) const noexcept {
    const auto found = std::ranges::find(all_, name, &std::pair<std::string, std::string>::first);
    return found == all_.end() ? nullptr : &found->second;
}

result<query_parameters> parse_query(std::string_view query) {
    std::vector<std::pair<std::string, std::string>> all;
    if (query.empty()) {
        return query_parameters(std::move(all));
    }
    const auto parsed = boost::urls::parse_query({query.data(), query.size()});
    if (!parsed) {
        return invalid("the query is not a valid URL query");
    }
    if (parsed->size() > parameters_max) {
        return invalid("the query has too many parameters");
    }
    boost::urls::encoding_opts form;
    form.space_as_plus = true;
    for (const auto& parameter : *parsed) {
        all.emplace_back(parameter.key.decode(form), parameter.value.decode(form));
    }
    return query_parameters(std::move(all));
}

result<void> read_number(
    const query_parameters& query, std::string_view name, std::uint64_t highest,
    std::uint64_t& value
) {
    const std::string* text = query.find(name);
    if (text == nullptr) {
        return {};
    }
    std::uint64_t number = 0;
    const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), number);
    if (problem != std::errc{} || end != text->data() + text->size() || number > highest) {
        return failure{
            errc::invalid_input,
            "must be a whole number from 0 to " + std::to_string(highest),
            std::string(name),
            {}
        };
    }
    value = number;
    return {};
}

result<std::size_t> read_page_limit(const query_parameters& query) {
    const std::string* text = query.find("limit");
    if (text == nullptr) {
        return page_default;
    }
    std::size_t limit = 0;
    const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), limit);
    const bool is_number =
        problem != std::errc::invalid_argument && end == text->data() + text->size();
    if (!is_number || (limit == 0 && problem == std::errc{})) {
        return failure{errc::invalid_input, "must be a whole number of at least 1", "limit"};
    }
    // Larger values are reduced: a page may hold less than the requested number.
    return problem == std::errc{} ? std::min(limit, page_max) : page_max;
}

bool has_parameter(std::string_view query, std::string_view name) {
    const result<query_parameters> parsed = parse_query(query);
    return parsed && parsed->find(name) != nullptr;
}

} // namespace agui::gateway
