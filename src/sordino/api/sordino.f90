! Sordino from Fortran: the functions of sordino.h, which says what they do, what they cost and who owns what. Compile this file
! with your program, and link the library.
!
!   type(sordino_rows) :: A
!   A%first_row = 1; A%rows = n; A%index_bits = 32; A%index_base = 1
!   A%row_starts = c_loc(starts); A%columns = c_loc(columns); A%values = c_loc(values)   ! these are `target`
!   if (sordino_create(A, 'rtol=1e-8' // c_null_char, solver) /= SORDINO_OK) print *, sordino_text()
module sordino
  use, intrinsic :: iso_c_binding
  implicit none

  integer(c_int), parameter :: SORDINO_OK = 0, SORDINO_BAD_INPUT = 2, SORDINO_NOT_CONVERGED = 3, SORDINO_FAILED = 4

  type, bind(c) :: sordino_rows
    integer(c_int64_t) :: first_row = 1
    integer(c_int64_t) :: rows = 0
    type(c_ptr) :: row_starts = c_null_ptr
    type(c_ptr) :: columns = c_null_ptr
    type(c_ptr) :: values = c_null_ptr
    integer(c_int) :: index_bits = 32
    integer(c_int) :: index_base = 1
  end type

  type, bind(c) :: sordino_report
    integer(c_int) :: status
    integer(c_int) :: iterations
    real(c_double) :: residual_norm
    real(c_double) :: true_residual
    real(c_double) :: seconds
    real(c_double) :: setup_seconds
    integer(c_int64_t) :: reductions
    integer(c_int64_t) :: messages
    integer(c_int64_t) :: bytes_sent
    integer(c_int64_t) :: n
    integer(c_int) :: ranks
  end type

  interface
    integer(c_int) function sordino_create(matrix, options, solver) bind(c)
      import
      type(sordino_rows), intent(in) :: matrix
      character(kind=c_char), intent(in) :: options(*)
      type(c_ptr), intent(out) :: solver
    end function

    ! comm: MPI_COMM_WORLD or another communicator of `use mpi`; with mpi_f08, comm%mpi_val
    integer(c_int) function sordino_create_mpi(comm, rows, options, solver) bind(c, name='sordino_create_mpi_fortran')
      import
      integer(c_int), value :: comm
      type(sordino_rows), intent(in) :: rows
      character(kind=c_char), intent(in) :: options(*)
      type(c_ptr), intent(out) :: solver
    end function

    ! x0 absent: 0
    integer(c_int) function sordino_solve(solver, b, x, x0) bind(c)
      import
      type(c_ptr), value :: solver
      real(c_double), intent(in) :: b(*)
      real(c_double), intent(out) :: x(*)
      real(c_double), intent(in), optional :: x0(*)
    end function

    integer(c_int) function sordino_update_values(solver, values) bind(c)
      import
      type(c_ptr), value :: solver
      real(c_double), intent(in) :: values(*)
    end function

    ! stream: a cudaStream_t
    integer(c_int) function sordino_set_stream(solver, stream) bind(c)
      import
      type(c_ptr), value :: solver, stream
    end function

    integer(c_int) function sordino_set(solver, options) bind(c)
      import
      type(c_ptr), value :: solver
      character(kind=c_char), intent(in) :: options(*)
    end function

    integer(c_int) function sordino_figures(solver, report) bind(c)
      import
      type(c_ptr), value :: solver
      type(sordino_report), intent(out) :: report
    end function

    subroutine sordino_destroy(solver) bind(c)
      import
      type(c_ptr), value :: solver
    end subroutine

    type(c_ptr) function sordino_message() bind(c)
      import
    end function

    integer(c_size_t) function c_length(text) bind(c, name='strlen')
      import
      type(c_ptr), value :: text
    end function
  end interface

contains

  !> sordino_message() as a Fortran string.
  function sordino_text() result(text)
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: bytes(:)
    integer :: k
    call c_f_pointer(sordino_message(), bytes, [c_length(sordino_message())])
    allocate (character(len=size(bytes)) :: text)
    do k = 1, size(bytes)
      text(k:k) = bytes(k)
    end do
  end function

end module
