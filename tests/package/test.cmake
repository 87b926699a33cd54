# Installs BUILD into a folder below WORK, builds the program beside this file against it, and runs it.
# Use: cmake -DBUILD=… -DWORK=… -DCOMPILER=… -P test.cmake
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}/data")
set(quiet OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
set(told COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/installed" ${quiet})
execute_process(COMMAND "${WORK}/installed/bin/agui-gateway" --version ${quiet})
execute_process(
  COMMAND "${CMAKE_COMMAND}" -G Ninja -S "${CMAKE_CURRENT_LIST_DIR}" -B "${WORK}/build"
          "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_PREFIX_PATH=${WORK}/installed"
          -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}
  ${quiet})
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${WORK}/build" ${told})
execute_process(COMMAND "${WORK}/build/package_user" "${WORK}/data" ${told})
