# Writes a C++ file with a function that returns the files of a folder, and of other folders below their names:
#   cmake -DFUNCTION=… -DFOLDER=… [-DPREFIX=…/] [-DSUBFOLDERS=…;…] -DOUTPUT=… -P embed.cmake
set(arrays "")
set(entries "")
set(number 0)
foreach(folder IN LISTS FOLDER SUBFOLDERS)
  set(prefix "${PREFIX}")
  if(NOT folder STREQUAL FOLDER)
    get_filename_component(prefix "${folder}" NAME)
    string(APPEND prefix "/")
  endif()
  file(GLOB names RELATIVE "${folder}"
    "${folder}/*.html" "${folder}/*.js" "${folder}/*.css" "${folder}/*.svg")
  list(SORT names)
  foreach(name IN LISTS names)
    file(READ "${folder}/${name}" bytes HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
    string(APPEND arrays "constexpr char file_${number}[] = {${bytes}'\\0'};\n")
    string(APPEND entries "        {\"${prefix}${name}\", {file_${number}, sizeof(file_${number}) - 1}},\n")
    math(EXPR number "${number} + 1")
  endforeach()
endforeach()
file(WRITE "${OUTPUT}" "// Written by gateway/embed.cmake.
#include \"gateway/http/static_files.hpp\"

namespace agui::gateway {
namespace {
${arrays}} // namespace

const std::vector<embedded_file>& ${FUNCTION}() {
    static const std::vector<embedded_file> files{
${entries}    };
    return files;
}

} // namespace agui::gateway
")
