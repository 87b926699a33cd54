# Writes a C++ file that holds the files of a folder: cmake -DFOLDER=… -DOUTPUT=… -P embed.cmake
file(GLOB names RELATIVE "${FOLDER}" "${FOLDER}/*.html" "${FOLDER}/*.js" "${FOLDER}/*.css" "${FOLDER}/*.svg")
list(SORT names)
set(arrays "")
set(entries "")
set(number 0)
foreach(name IN LISTS names)
  file(READ "${FOLDER}/${name}" bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  string(APPEND arrays "constexpr char file_${number}[] = {${bytes}'\\0'};\n")
  string(APPEND entries "        {\"${name}\", {file_${number}, sizeof(file_${number}) - 1}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE "${OUTPUT}" "// Written by gateway/embed.cmake.
#include \"gateway/http/static_files.hpp\"

namespace agui::gateway {
namespace {
${arrays}} // namespace

const std::vector<embedded_file>& embedded_page() {
    static const std::vector<embedded_file> files{
${entries}    };
    return files;
}

} // namespace agui::gateway
")
