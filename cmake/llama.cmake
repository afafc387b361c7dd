# Finds llama.cpp (targets `llama`, `ggml::ggml`) and checks that it has the functions we use, those of
# src/model/llama/llama_internal.h included. First that passes: SCHEMAFILL_LLAMA_DIR if set, and nothing else then; a system
# install; the one that `make setup` put into .venv/. Sets SCHEMAFILL_LLAMA_PREFIX and SCHEMAFILL_LLAMA_BUNDLED (from .venv/).

# Prefixes that hold lib*/cmake/llama/llama-config.cmake.
function(_schemafill_llama_candidates result)
  if(SCHEMAFILL_LLAMA_DIR)
    set(${result} "${SCHEMAFILL_LLAMA_DIR}" PARENT_SCOPE)
    return()
  endif()
  set(found "")
  find_path(_system llama-config.cmake NO_CACHE
            PATH_SUFFIXES lib/cmake/llama lib/${CMAKE_LIBRARY_ARCHITECTURE}/cmake/llama lib64/cmake/llama
            HINTS ${CMAKE_PREFIX_PATH} PATHS /usr/local /usr)
  if(_system)
    string(REGEX REPLACE "/lib(64)?/.*" "" _system "${_system}")
    list(APPEND found "${_system}")
  endif()
  file(GLOB _venv "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/lib/cmake/llama")
  foreach(dir IN LISTS _venv)
    string(REGEX REPLACE "/lib/cmake/llama$" "" prefix "${dir}")
    list(APPEND found "${prefix}")
  endforeach()
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

# Whether the llama.cpp under `prefix` passes cmake/llama_check/. Asked again when the library or our declarations change.
function(_schemafill_llama_passes prefix result)
  file(GLOB_RECURSE library FOLLOW_SYMLINKS "${prefix}/lib*/libllama.so")
  set(state "${prefix}")
  foreach(file IN LISTS library)
    file(TIMESTAMP "${file}" time)
    string(APPEND state "|${file}|${time}")
  endforeach()
  foreach(file src/model/llama/llama_internal.h cmake/llama_check/check.cpp)
    file(SHA256 "${PROJECT_SOURCE_DIR}/${file}" hash)
    string(APPEND state "|${hash}")
  endforeach()
  string(SHA256 state "${state}")
  if(NOT DEFINED SCHEMAFILL_LLAMA_OK_${state})
    try_compile(passes
                PROJECT llama_check
                SOURCE_DIR "${PROJECT_SOURCE_DIR}/cmake/llama_check"
                BINARY_DIR "${PROJECT_BINARY_DIR}/llama_check"
                NO_CACHE
                CMAKE_FLAGS "-DLLAMA_CHECK_PREFIX=${prefix}" "-DLLAMA_CHECK_INCLUDE=${PROJECT_SOURCE_DIR}/src"
                OUTPUT_VARIABLE output)
    file(REMOVE_RECURSE "${PROJECT_BINARY_DIR}/llama_check")
    file(WRITE "${PROJECT_BINARY_DIR}/llama_check.log" "${output}")
    if(passes)  # a failure is not kept: it may be mended without changing a file that we look at
      set(SCHEMAFILL_LLAMA_OK_${state} TRUE CACHE INTERNAL "")
    endif()
  endif()
  if(SCHEMAFILL_LLAMA_OK_${state})
    set(${result} TRUE PARENT_SCOPE)
  else()
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

set(SCHEMAFILL_LLAMA_PREFIX "")
_schemafill_llama_candidates(_candidates)
foreach(_prefix IN LISTS _candidates)
  _schemafill_llama_passes("${_prefix}" _passes)
  if(_passes)
    set(SCHEMAFILL_LLAMA_PREFIX "${_prefix}")
    break()
  endif()
  message(STATUS "llama.cpp in ${_prefix} lacks functions that SchemaFill uses; see ${PROJECT_BINARY_DIR}/llama_check.log")
endforeach()

if(NOT SCHEMAFILL_LLAMA_PREFIX)
  if(SCHEMAFILL_LLAMA_DIR)
    set(_remedy "Unset SCHEMAFILL_LLAMA_DIR to use the one that `make setup` builds, or point it to a fitting one.")
  else()
    set(_remedy "Run `make setup`, which builds it into .venv/.")
  endif()
  if(_candidates)
    message(FATAL_ERROR "No fitting llama.cpp; looked at ${_candidates}. ${_remedy}")
  endif()
  message(FATAL_ERROR "No llama.cpp found. ${_remedy}")
endif()

# llama-config.cmake caches what it found; without this a changed prefix would still give the old library.
unset(llama_LIBRARY CACHE)
unset(llama_DIR CACHE)
unset(ggml_DIR CACHE)
find_package(llama REQUIRED PATHS "${SCHEMAFILL_LLAMA_PREFIX}" NO_DEFAULT_PATH)
string(FIND "${SCHEMAFILL_LLAMA_PREFIX}" "${PROJECT_SOURCE_DIR}/.venv/" _position)
if(_position EQUAL 0)
  set(SCHEMAFILL_LLAMA_BUNDLED TRUE)
else()
  set(SCHEMAFILL_LLAMA_BUNDLED FALSE)
endif()
message(STATUS "llama.cpp ${LLAMA_VERSION} in ${SCHEMAFILL_LLAMA_PREFIX}")
