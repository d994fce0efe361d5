# Installs the build in BUILD to a fresh prefix under WORK, then configures, builds and runs the project in SOURCE
# against it, as a user of find_package(sordino) would. Any step that fails fails the test.
file(REMOVE_RECURSE "${WORK}")
set(prefix "${WORK}/prefix")

function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " line)
    message(FATAL_ERROR "failed with ${status}: ${line}")
  endif()
endfunction()

set(flags "")
if(SANITIZE)
  set(flags "-fsanitize=${SANITIZE}")
endif()
step("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${prefix}" --component development --config "${CONFIG}")
step("${CMAKE_COMMAND}" -S "${SOURCE}" -B "${WORK}/build" -G "${GENERATOR}" "-DCMAKE_MAKE_PROGRAM=${MAKE_PROGRAM}"
     "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_BUILD_TYPE=${CONFIG}" "-DCMAKE_CXX_FLAGS=${flags}" "-DCMAKE_C_FLAGS=${flags}"
     "-DCMAKE_PREFIX_PATH=${prefix}")
step("${CMAKE_COMMAND}" --build "${WORK}/build" --config "${CONFIG}")
step("${CMAKE_CTEST_COMMAND}" --test-dir "${WORK}/build" --output-on-failure -C "${CONFIG}")
