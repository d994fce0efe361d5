! A Poisson problem on a line, from Fortran, in one process: rows and columns are counted from 1.
program poisson
  use sordino
  implicit none

  integer, parameter :: n = 400
  integer(c_int32_t), target :: starts(n + 1), columns(3 * n)
  real(c_double), target :: values(3 * n)
  real(c_double) :: b(n), x(n)
  type(sordino_rows) :: A
  type(sordino_report) :: figures
  type(c_ptr) :: solver
  integer :: row, column, entries

  entries = 0
  do row = 1, n
    starts(row) = entries + 1
    do column = max(row - 1, 1), min(row + 1, n)
      entries = entries + 1
      columns(entries) = column
      values(entries) = merge(2.01d0, -1.0d0, column == row)
    end do
    b(row) = sin(0.1d0 * row)
  end do
  starts(n + 1) = entries + 1

  A%rows = n
  A%row_starts = c_loc(starts)
  A%columns = c_loc(columns)
  A%values = c_loc(values)
  call need(sordino_create(A, 'engine=host ranks=2 rtol=1e-9' // c_null_char, solver))
  call need(sordino_solve(solver, b, x))
  call need(sordino_figures(solver, figures))
  print '(i0, a, es9.2, a, es9.2)', figures%iterations, ' iterations, residual', figures%true_residual, ', ours', residual()
  call sordino_destroy(solver)
  if (residual() > 1d-9) error stop 1

contains

  subroutine need(code)
    integer(c_int), intent(in) :: code
    if (code == SORDINO_OK) return
    print *, sordino_text()
    stop 2
  end subroutine

  !> ||b - A x|| / ||b||, by our own sums.
  double precision function residual()
    double precision :: r(n)
    integer :: i
    do i = 1, n
      r(i) = b(i) - dot_product(values(starts(i):starts(i + 1) - 1), x(columns(starts(i):starts(i + 1) - 1)))
    end do
    residual = norm2(r) / norm2(b)
  end function

end program
