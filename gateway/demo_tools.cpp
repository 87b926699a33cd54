#include "gateway/demo.hpp"
#include "session/base/json_member.hpp"
#include "session/base/parse_json.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value_to.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;
namespace json = boost::json;

namespace {

using demo_outcome = asio::awaitable<runner::tool_outcome>;

/// Long enough to write a message to the active run, short enough to wait for.
constexpr std::chrono::milliseconds recipe_tick{250};
constexpr int ticks_of_step = 6;
constexpr std::array<std::string_view, 3> recipe_steps{
    "Searching cookbooks", "Comparing recipes", "Writing it down"
};

runner::tool_outcome demo_refusal(std::string why) {
    return {.what = runner::tool_outcome::kind::error, .content = std::move(why)};
}

// The document belongs to the user as well, so it may have no list, or something else in its place.
demo_outcome add_to_list(runner::tool_invocation call) {
    const std::string item = json::value_to<std::string>(call.arguments.at("item"));
    const json::object entry{{"text", item}, {"done", false}};
    const json::array append{{{"op", "add"}, {"path", "/items/-"}, {"value", entry}}};
    const json::array begin{
        {{"op", "add"}, {"path", "/title"}, {"value", "Shopping list"}},
        {{"op", "add"}, {"path", "/items"}, {"value", json::array{entry}}}
    };
    result<void> changed = co_await call.run->patch_state(append);
    if (!changed && changed.error().code == errc::patch_conflict) {
        changed = co_await call.run->patch_state(begin);
    }
    if (!changed) {
        co_return demo_refusal("The list was not changed: " + changed.error().detail);
    }
    co_return runner::tool_outcome{.content = item + " is on the list."};
}

/// Marks the ordered items of the list. Each `test` makes the patch fail if the list has changed.
json::array order_patch(const json::value& state, const json::array& ordered) {
    json::array patch;
    const json::object* const document = state.if_object();
    const json::value* const items = document == nullptr ? nullptr : document->if_contains("items");
    if (items == nullptr || !items->is_array()) {
        return patch;
    }
    for (std::size_t i = 0; i < items->get_array().size(); ++i) {
        const json::object* const item = items->get_array()[i].if_object();
        const json::value* const text = item == nullptr ? nullptr : item->if_contains("text");
        if (text == nullptr || std::ranges::find(ordered, *text) == ordered.end()) {
            continue;
        }
        const std::string place = "/items/" + std::to_string(i);
        patch.push_back({{"op", "test"}, {"path", place + "/text"}, {"value", *text}});
        patch.push_back({{"op", "add"}, {"path", place + "/done"}, {"value", true}});
    }
    return patch;
}

demo_outcome place_order(runner::tool_invocation call) {
    const json::array& ordered = call.arguments.at("items").as_array();
    std::string told = "Ordered:";
    for (const json::value& item : ordered) {
        told.append(told.ends_with(':') ? " " : ", ").append(item.as_string());
    }
    const std::string_view note = string_in(call.arguments, "note");
    if (!note.empty()) {
        told.append(" (").append(note).append(")");
    }
    const result<json_text> state = co_await call.run->state();
    const result<json::value> document = state ? parse_json(state->view()) : json::value();
    if (document) {
        // The order stands even if the list has changed in the meantime.
        (void)co_await call.run->patch_state(order_patch(*document, ordered));
    }
    co_return runner::tool_outcome{.content = told + "."};
}

demo_outcome find_recipe(runner::tool_invocation call) {
    const std::string dish = json::value_to<std::string>(call.arguments.at("dish"));
    constexpr int total = ticks_of_step * static_cast<int>(recipe_steps.size());
    const result<std::string> activity = call.run->show_activity(
        {.type = "progress",
         .content = {{"title", "Recipe for " + dish}, {"done", 0}, {"total", total}}}
    );
    if (!activity) {
        co_return demo_refusal("The recipe cannot be shown.");
    }
    asio::steady_timer timer(co_await asio::this_coro::executor);
    int done = 0;
    for (const std::string_view step : recipe_steps) {
        call.run->start_step(step);
        for (int tick = 0; tick < ticks_of_step; ++tick) {
            timer.expires_after(recipe_tick);
            boost::system::error_code ec;
            co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ec));
            if (ec) {
                co_return demo_refusal("The search was stopped.");
            }
            const json::object progress{{"op", "replace"}, {"path", "/done"}, {"value", ++done}};
            (void)call.run->patch_activity(*activity, json::array{progress});
        }
        call.run->finish_step(step);
    }
    co_return runner::tool_outcome{
        .content = "Recipe for " + dish + ": mix flour, milk and eggs, then bake for 20 minutes."
    };
}

json::object text_up_to(int characters) {
    return {{"type", "string"}, {"minLength", 1}, {"maxLength", characters}};
}

json::object arguments_of(json::object properties, std::string_view required) {
    return {
        {"type", "object"},
        {"properties", std::move(properties)},
        {"required", json::array{required}}
    };
}

} // namespace

std::vector<runner::server_tool> demo_tools() {
    const json::object items{
        {"type", "array"}, {"minItems", 1}, {"maxItems", 50}, {"items", text_up_to(100)}
    };
    return {
        {{"add_to_list", "Adds an item to the shopping list that the user sees.",
          arguments_of({{"item", text_up_to(100)}}, "item")},
         add_to_list},
        {{"place_order", "Orders items. The user is asked first.",
          arguments_of({{"items", items}, {"note", text_up_to(200)}}, "items")},
         place_order,
         {.approval = runner::approval_rule::always}},
        {{"find_recipe", "Finds a recipe. Takes some seconds.",
          arguments_of({{"dish", text_up_to(100)}}, "dish")},
         find_recipe}
    };
}

} // namespace agui::gateway
