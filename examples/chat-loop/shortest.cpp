#include "runner/chat/run_chat.hpp"
#include "runner/openai/openai_model.hpp"
#include <iostream>

int main(int, char** values) {
    using namespace agui::runner;
    const auto answer = run_chat(
        openai_model({.url = values[1], .model = values[2]}), "What is 17 plus 25?",
        {tool("add", "Adds two numbers.", {"a", "b"}, [](double a, double b) { return a + b; })}
    );
    std::cout << (answer ? answer->totals.content : answer.error().text()) << '\n';
}
