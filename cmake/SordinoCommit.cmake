# Which commit is built. Included, it brings two functions; run as `cmake -DHEADER=FILE -P SordinoCommit.cmake`, as every build
# does, it writes the header, and leaves one that says the same as it was: a new commit compiles one file.

# Sets `variable` to SORDINO_COMMIT of the environment; else to what git says of the clone that this file stands in, with
# -dirty after it where files differ; else to what the file COMMIT says, which an archive of the sources has; else to unknown.
# A repository around the sources is another's, and is not asked.
function(sordino_find_commit variable)
  set(source "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/..")
  set(found "$ENV{SORDINO_COMMIT}")
  if(NOT found AND EXISTS "${source}/.git")
    execute_process(COMMAND git describe --always --dirty "--exclude=*" WORKING_DIRECTORY "${source}"
      OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  elseif(NOT found AND EXISTS "${source}/COMMIT")
    file(STRINGS "${source}/COMMIT" found LIMIT_COUNT 1)
  endif()
  if(NOT found)
    set(found unknown)
  elseif(NOT found MATCHES "^[A-Za-z0-9._+-]+$")
    message(FATAL_ERROR "'${found}' names no commit: letters, digits and . _ + - do (SORDINO_COMMIT, or the file COMMIT)")
  endif()
  set(${variable} "${found}" PARENT_SCOPE)
endfunction()

# Compiles the commit into `target`, whose sources include sordino_commit.hpp.
function(sordino_name_commit target)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/commit")
  add_custom_target(sordino_commit
    COMMAND "${CMAKE_COMMAND}" "-DHEADER=${folder}/sordino_commit.hpp" -P "${CMAKE_CURRENT_FUNCTION_LIST_FILE}"
    BYPRODUCTS "${folder}/sordino_commit.hpp" VERBATIM COMMENT "Asking which commit this is")
  add_dependencies(${target} sordino_commit)
  target_include_directories(${target} PRIVATE "${folder}")
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  sordino_find_commit(commit)
  configure_file("${CMAKE_CURRENT_LIST_DIR}/sordino_commit.hpp.in" "${HEADER}" @ONLY)
endif()
