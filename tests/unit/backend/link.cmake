# The CPU backend's host facts, and made-up modules for the registry: test_modules/<kind>/.
add_library(test_modules INTERFACE)
foreach(kind good old stranger empty)
  add_library(test_module_${kind} MODULE ${CMAKE_CURRENT_LIST_DIR}/modules/${kind}.cpp)
  target_link_libraries(test_module_${kind} PRIVATE gemmpeak_backend)
  set_target_properties(test_module_${kind} PROPERTIES PREFIX "" OUTPUT_NAME gemmpeak_backend_fake
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test_modules/${kind} CXX_VISIBILITY_PRESET hidden)
  add_dependencies(test_modules test_module_${kind})
endforeach()
list(APPEND link gemmpeak_cpu_facts test_modules)
