# Compiler settings shared by every target.
find_program(GEMMPEAK_CCACHE ccache)
if(GEMMPEAK_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${GEMMPEAK_CCACHE})
endif()
add_library(gemmpeak_flags INTERFACE)
target_include_directories(gemmpeak_flags INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_compile_options(gemmpeak_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow>)
# fmt and nlohmann-json are used header-only, so that the program needs no shared library of theirs.
find_package(fmt REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(Threads REQUIRED)
target_link_libraries(gemmpeak_flags INTERFACE fmt::fmt-header-only nlohmann_json::nlohmann_json
                      Threads::Threads ${CMAKE_DL_LIBS})
if(GEMMPEAK_SANITIZE)
  string(REPLACE ";" "," gemmpeak_sanitizers "${GEMMPEAK_SANITIZE}")
  target_compile_options(gemmpeak_flags INTERFACE -fsanitize=${gemmpeak_sanitizers} -fno-omit-frame-pointer -g)
  target_link_options(gemmpeak_flags INTERFACE -fsanitize=${gemmpeak_sanitizers})
endif()
