# The installed package refuses a compiler that miscompiles coroutines. Use: cmake -DCONFIG=FILE -P compiler.cmake
set(CMAKE_CXX_COMPILER_ID GNU)
set(CMAKE_CXX_COMPILER_VERSION 12.2.0)
include("${CONFIG}")
if(agui-gateway_FOUND OR NOT agui-gateway_NOT_FOUND_MESSAGE MATCHES "GCC 12.2.0 miscompiles")
  message(FATAL_ERROR "the package accepts GCC 12")
endif()
