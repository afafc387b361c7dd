# Install rules and the CMake package: find_package(schemafill) gives schemafill::schemafill.
include(CMakePackageConfigHelpers)

set(_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/schemafill)
set(_bundle_dir ${CMAKE_INSTALL_LIBDIR}/schemafill/llama)

# A llama.cpp that `make setup` built lives in the checkout, so it is copied along, into a folder of our own beside any
# system one. Else the package refers to where it was found.
if(SCHEMAFILL_LLAMA_BUNDLED)
  install(DIRECTORY ${SCHEMAFILL_LLAMA_PREFIX}/include/ DESTINATION ${_bundle_dir}/include
          FILES_MATCHING REGEX "/(llama|ggml|gguf)[^/]*\\.h$")
  install(DIRECTORY ${SCHEMAFILL_LLAMA_PREFIX}/lib/ DESTINATION ${_bundle_dir}/lib
          USE_SOURCE_PERMISSIONS
          FILES_MATCHING REGEX "/(libllama|libggml[a-z0-9-]*)\\.so(\\.[0-9]+)?$" REGEX "/cmake/(llama|ggml)/[^/]*\\.cmake$"
          PATTERN "pkgconfig" EXCLUDE)
  set(SCHEMAFILL_LLAMA_HINT "\${_schemafill_prefix}/${_bundle_dir}")
  set(_rpath "$ORIGIN/../${_bundle_dir}/lib")
else()
  set(SCHEMAFILL_LLAMA_HINT "${SCHEMAFILL_LLAMA_PREFIX}")
  get_filename_component(_rpath "${llama_LIBRARY}" DIRECTORY)
endif()

install(TARGETS schemafill EXPORT schemafillTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(_program schemafill_cli schemafill_train_cli)
  if(TARGET ${_program})
    set_target_properties(${_program} PROPERTIES INSTALL_RPATH "${_rpath}")
    install(TARGETS ${_program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()
install(DIRECTORY include/schemafill DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

install(EXPORT schemafillTargets NAMESPACE schemafill:: DESTINATION ${_package_dir})
configure_package_config_file(cmake/schemafillConfig.cmake.in ${PROJECT_BINARY_DIR}/schemafillConfig.cmake
                              INSTALL_DESTINATION ${_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/schemafillConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/schemafillConfig.cmake ${PROJECT_BINARY_DIR}/schemafillConfigVersion.cmake
        DESTINATION ${_package_dir})
