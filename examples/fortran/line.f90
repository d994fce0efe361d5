! Rows of a Poisson problem on a line that are spread over MPI processes, solved in Fortran. The communicator is the
! integer that it is in Fortran; a program that says `use mpi` passes MPI_COMM_WORLD. line_mpi.c calls and checks this.
integer(c_int) function solve_line(comm, first_row, rows, b, x) bind(c) result(code)
  use sordino
  implicit none
  integer(c_int), value :: comm
  integer(c_int64_t), value :: first_row, rows  ! mine begin here, counted from 1
  real(c_double), intent(in) :: b(rows)
  real(c_double), intent(out) :: x(rows)

  integer(c_int64_t), target :: starts(rows + 1), columns(3 * rows)
  real(c_double), target :: values(3 * rows)
  type(sordino_rows) :: A
  type(c_ptr) :: solver
  integer(c_int64_t) :: i, entries, column, n

  interface
    integer(c_int64_t) function rows_of_line() bind(c)  ! of all processes
      import
    end function
  end interface

  n = rows_of_line()
  entries = 0
  do i = 1, rows
    starts(i) = entries + 1
    do column = max(first_row + i - 2, 1_c_int64_t), min(first_row + i, n)
      entries = entries + 1
      columns(entries) = column
      values(entries) = merge(2.01d0, -1.0d0, column == first_row + i - 1)
    end do
  end do
  starts(rows + 1) = entries + 1

  A = sordino_rows(first_row, rows, c_loc(starts), c_loc(columns), c_loc(values), 64, 1)
  code = sordino_create_mpi(comm, A, 'engine=host rtol=1e-9' // c_null_char, solver)
  if (code == SORDINO_OK) then
    code = sordino_solve(solver, b, x)
    call sordino_destroy(solver)
  end if
  if (code /= SORDINO_OK) print *, sordino_text()
end function
