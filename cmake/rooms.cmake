# gemmpeak_room(NAME [ROOM...]): a static library of src/NAME/*.cpp that may use the rooms named.
function(gemmpeak_room name)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  if(sources)
    add_library(gemmpeak_${name} STATIC ${sources})
    set(scope PUBLIC)
  else()
    add_library(gemmpeak_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_link_libraries(gemmpeak_${name} ${scope} gemmpeak_flags)
  foreach(room ${ARGN})
    target_link_libraries(gemmpeak_${name} ${scope} gemmpeak_${room})
  endforeach()
endfunction()

# gemmpeak_module(NAME SOURCE...): the loadable backend build/modules/gemmpeak_backend_NAME.so.
function(gemmpeak_module name)
  add_library(gemmpeak_backend_${name} MODULE ${ARGN})
  target_link_libraries(gemmpeak_backend_${name} PRIVATE gemmpeak_backend)
  set_target_properties(gemmpeak_backend_${name} PROPERTIES PREFIX ""
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/modules CXX_VISIBILITY_PRESET hidden)
endfunction()
