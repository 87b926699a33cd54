# Installs BUILD into a folder below WORK, builds the programs beside this file against it, and runs them.
# Use: cmake -DBUILD=… -DWORK=… -DCOMPILER=… -P test.cmake
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}/data")
set(quiet OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
set(told COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/installed" ${quiet})
execute_process(COMMAND "${WORK}/installed/bin/agui-gateway" --version ${quiet})

# build_program(FOLDER PROGRAM): in WORK/PROGRAM.
function(build_program folder program)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -G Ninja -S "${folder}" -B "${WORK}/${program}"
            "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_PREFIX_PATH=${WORK}/installed"
            "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}" "-DCMAKE_CXX_FLAGS=${FLAGS}"
    ${quiet})
  execute_process(COMMAND "${CMAKE_COMMAND}" --build "${WORK}/${program}" ${told})
endfunction()

build_program("${CMAKE_CURRENT_LIST_DIR}" package_user)
execute_process(COMMAND "${WORK}/package_user/package_user" "${WORK}/data" ${told})

build_program("${CMAKE_CURRENT_LIST_DIR}/chat" package_chat)
execute_process(COMMAND "${WORK}/package_chat/package_chat" ${told})
execute_process(
  COMMAND bash "${CMAKE_CURRENT_LIST_DIR}/../database_free.sh" "${WORK}/package_chat/package_chat" ${told})

file(GLOB_RECURSE config "${WORK}/installed/*/agui-gateway-config.cmake")
execute_process(
  COMMAND "${CMAKE_COMMAND}" "-DCONFIG=${config}" -P "${CMAKE_CURRENT_LIST_DIR}/compiler.cmake" ${told})
