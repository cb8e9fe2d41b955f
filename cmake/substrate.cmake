# The substrate's extras: OpenMP for its CPU loops.
find_package(OpenMP)
get_target_property(substrate_type gemmpeak_substrate TYPE)
if(OpenMP_CXX_FOUND AND substrate_type STREQUAL STATIC_LIBRARY)
  target_link_libraries(gemmpeak_substrate PUBLIC OpenMP::OpenMP_CXX)
endif()
# The seeded weights are the same bits everywhere, also where the compiler would fuse multiply and add.
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/substrate/weights.cpp PROPERTIES
  COMPILE_OPTIONS -ffp-contract=off)
