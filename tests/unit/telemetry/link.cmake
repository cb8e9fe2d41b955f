# The scripted NVML libraries: opened by the tests by path, not linked.
list(FILTER sources EXCLUDE REGEX "/fake_nvml\\.cpp$")
list(FILTER sources EXCLUDE REGEX "^unit/telemetry/fake_nvml\\.cpp$")
add_library(telemetry_fakes INTERFACE)
set(fake_source ${CMAKE_CURRENT_LIST_DIR}/fake_nvml.cpp)
foreach(kind full old stump)
  add_library(fake_nvml_${kind} MODULE ${fake_source})
  target_link_libraries(fake_nvml_${kind} PRIVATE gemmpeak_flags)
  string(TOUPPER ${kind} upper)
  target_compile_definitions(fake_nvml_${kind} PRIVATE FAKE_NVML_${upper})
  set_target_properties(fake_nvml_${kind} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fakes CXX_VISIBILITY_PRESET hidden)
  target_compile_definitions(telemetry_fakes INTERFACE
    FAKE_NVML_${upper}="${PROJECT_BINARY_DIR}/fakes/libfake_nvml_${kind}.so")
  add_dependencies(telemetry_fakes fake_nvml_${kind})
endforeach()
list(APPEND link telemetry_fakes)
