# v16 as a search drives it. The reference's own script runs too where there is one (it needs the
# system Python's numpy); our driver speaks the same protocol and always runs.
set(default_search ${PROJECT_SOURCE_DIR}/../shared/baseline/v16_search.py)
if(NOT EXISTS ${default_search})
  set(default_search "")
endif()
set(GEMMPEAK_V16_SEARCH "${default_search}" CACHE FILEPATH
  "the reference search script that drives v16 in a test; empty: only our own driver does")
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND AND TARGET v16)
  set(driver ${CMAKE_CURRENT_LIST_DIR}/v16_protocol.py)
  add_test(NAME cli.v16_protocol COMMAND ${Python3_EXECUTABLE} ${driver} $<TARGET_FILE:v16>)
  set_tests_properties(cli.v16_protocol PROPERTIES LABELS cli TIMEOUT 600 RUN_SERIAL ON)
  execute_process(COMMAND /usr/bin/python3 -c "import numpy" RESULT_VARIABLE no_numpy
                  OUTPUT_QUIET ERROR_QUIET)
  if(GEMMPEAK_V16_SEARCH AND NOT no_numpy)
    add_test(NAME cli.v16_reference_search
             COMMAND ${Python3_EXECUTABLE} ${driver} $<TARGET_FILE:v16> ${GEMMPEAK_V16_SEARCH})
    set_tests_properties(cli.v16_reference_search PROPERTIES LABELS cli TIMEOUT 1800 RUN_SERIAL ON)
  endif()
endif()
