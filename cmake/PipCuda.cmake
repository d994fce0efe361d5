# Finds nvcc: the one asked for, the one on PATH, the one of an installed toolkit, or the one that NVIDIA's wheels on
# PyPI carry (nvidia-cuda-nvcc, -crt, -runtime, -cccl and nvidia-nvvm, all of CUDA 13; pyproject.toml pins them).
#
# The wheels share one tree, site-packages/nvidia/cu13, that lacks two things a toolkit has and that nvcc and CMake look
# for: the folder lib64/ (the wheels say lib/), and library names without a version. So a tree of symbolic links in the
# build folder gives the wheels a toolkit's shape.

# Lists the folders `nvidia/cu13` that Python can see: those of the virtual environment, and, while pip builds in
# isolation, those of pip's temporary environment, which only that build's own Python knows.
function(sordino_find_cuda_wheels result)
  set(roots "")
  find_program(SORDINO_PYTHON_FOR_CUDA NAMES python3 python HINTS "$ENV{VIRTUAL_ENV}/bin" NO_CACHE)
  foreach(python IN ITEMS "${Python_EXECUTABLE}" "${PYTHON_EXECUTABLE}" "${SORDINO_PYTHON_FOR_CUDA}")
    if(python AND EXISTS "${python}")
      execute_process(
        COMMAND "${python}" -c "import sys; print(';'.join(p + '/nvidia/cu13' for p in sys.path if p))"
        OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
      list(APPEND roots ${found})
    endif()
  endforeach()
  if(DEFINED ENV{VIRTUAL_ENV})
    file(GLOB found "$ENV{VIRTUAL_ENV}/lib/python3*/site-packages/nvidia/cu13")
    list(APPEND roots ${found})
  endif()
  list(REMOVE_DUPLICATES roots)
  set(${result} "${roots}" PARENT_SCOPE)
endfunction()

# Links the wheels at `root` into a toolkit-shaped tree at `tree`.
function(sordino_shape_cuda_toolkit root tree)
  file(REMOVE_RECURSE "${tree}")
  file(MAKE_DIRECTORY "${tree}/bin" "${tree}/lib64/stubs")
  file(CREATE_LINK "${root}/include" "${tree}/include" SYMBOLIC)
  file(CREATE_LINK "${root}/nvvm" "${tree}/nvvm" SYMBOLIC)
  file(GLOB programs "${root}/bin/*")
  foreach(program IN LISTS programs)
    cmake_path(GET program FILENAME name)
    file(CREATE_LINK "${program}" "${tree}/bin/${name}" SYMBOLIC)
  endforeach()
  file(GLOB libraries "${root}/lib/lib*")
  foreach(library IN LISTS libraries)
    cmake_path(GET library FILENAME name)
    string(REGEX REPLACE "\\.so\\..*$" ".so" unversioned "${name}")
    file(CREATE_LINK "${library}" "${tree}/lib64/${name}" SYMBOLIC)
    file(CREATE_LINK "${library}" "${tree}/lib64/${unversioned}" SYMBOLIC)
  endforeach()
endfunction()

# Whether an nvcc compiles C++20: it may be too old, without its toolkit, or at odds with the host compiler. What
# works is remembered, because asking takes a second.
function(sordino_try_nvcc nvcc works)
  if(NOT SORDINO_NVCC_THAT_WORKS STREQUAL nvcc)
    set(source "${CMAKE_BINARY_DIR}/try_nvcc.cu")
    file(WRITE "${source}" "#include <concepts>\n__global__ void kernel(std::integral auto) {}\ntemplate __global__ void kernel(int);\n")
    set(host "$ENV{CUDAHOSTCXX}")
    if(CMAKE_CUDA_HOST_COMPILER)
      set(host "${CMAKE_CUDA_HOST_COMPILER}")
    endif()
    if(host)
      set(host -ccbin "${host}")
    endif()
    execute_process(COMMAND "${nvcc}" -std=c++20 ${host} -c "${source}" -o "${CMAKE_BINARY_DIR}/try_nvcc.o"
      RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
    if(status EQUAL 0)
      set(SORDINO_NVCC_THAT_WORKS "${nvcc}" CACHE INTERNAL "The nvcc that was tried")
    else()
      message(STATUS "Sordino: ${nvcc} does not compile C++20:\n${said}")
    endif()
  endif()
  if(SORDINO_NVCC_THAT_WORKS STREQUAL nvcc)
    set(${works} ON PARENT_SCOPE)
  else()
    set(${works} OFF PARENT_SCOPE)
  endif()
endfunction()

# Sets `nvcc` to one that works, or to nothing and `why_not` to the reason. One that was asked for, by
# CMAKE_CUDA_COMPILER or CUDACXX, is the only candidate.
function(sordino_find_nvcc nvcc why_not)
  set(tree "${CMAKE_BINARY_DIR}/pip-cuda")
  if(CMAKE_CUDA_COMPILER AND NOT CMAKE_CUDA_COMPILER MATCHES "^${tree}/")
    set(candidates "${CMAKE_CUDA_COMPILER}")
  elseif(DEFINED ENV{CUDACXX})
    set(candidates "$ENV{CUDACXX}")
  else()
    find_program(found nvcc NO_CACHE HINTS ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin)
    set(candidates "")
    if(found)
      list(APPEND candidates "${found}")
    endif()
    # The links are laid anew each time: pip's temporary environments do not stay, and wheels are upgraded.
    sordino_find_cuda_wheels(roots)
    foreach(root IN LISTS roots)
      if(EXISTS "${root}/bin/nvcc" AND EXISTS "${root}/nvvm/bin/cicc" AND EXISTS "${root}/lib/libcudart_static.a")
        sordino_shape_cuda_toolkit("${root}" "${tree}")
        list(APPEND candidates "${tree}/bin/nvcc")
        break()
      endif()
    endforeach()
  endif()

  set(${why_not} "no nvcc found; SORDINO_CUDA=1 in the environment of make or pip brings one from PyPI" PARENT_SCOPE)
  foreach(candidate IN LISTS candidates)
    sordino_try_nvcc("${candidate}" works)
    if(works)
      set(${nvcc} "${candidate}" CACHE FILEPATH "The CUDA compiler" FORCE)
      return()
    endif()
    set(${why_not} "${candidate} does not compile C++20 here; it takes CUDA 12 and a g++ that this CUDA knows" PARENT_SCOPE)
  endforeach()
  set(${nvcc} "" PARENT_SCOPE)
endfunction()
