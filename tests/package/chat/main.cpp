// Asks a server that does not exist. The test is that the program links.

#include "runner/chat/run_chat.hpp"
#include "runner/openai/openai_model.hpp"

#include <iostream>

int main() {
    using namespace agui::runner;
    const chat_result answer = run_chat(
        openai_model({.url = "http://127.0.0.1:1", .model = "m"}), "Hi",
        {tool("add", "Adds two numbers.", {"a", "b"}, [](double a, double b) { return a + b; })}
    );
    std::cout << (answer ? answer->totals.content : answer.error().text()) << '\n';
    return !answer && answer.error().what == stop_reason::model_unavailable ? 0 : 1;
}
