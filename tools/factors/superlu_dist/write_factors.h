/* Writes what SuperLU_DIST has factored, for `sordino trsv`: one function for real, one for complex matrices.
 *
 * Call it after pdgssvx (pzgssvx) has returned info = 0, from all processes of the grid, with a folder that is there; it needs
 * a C++ compiler, and this file is for callers in C, too. Process 0 receives and writes one supernode after the other, so it
 * needs no more memory than that takes. SuperLU_DIST 7 or later: before, real and complex structures had the same names. */
#ifndef SORDINO_TOOLS_WRITE_FACTORS_H
#define SORDINO_TOOLS_WRITE_FACTORS_H

#include <superlu_ddefs.h>
#include <superlu_zdefs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 0 if process 0 could write all arrays, in all processes alike. n: rows of the matrix. */
int write_real_factors(int_t n, const dLUstruct_t* lu, const dScalePermstruct_t* scale, gridinfo_t* grid, const char* folder);
int write_complex_factors(int_t n, const zLUstruct_t* lu, const zScalePermstruct_t* scale, gridinfo_t* grid,
                          const char* folder);

#ifdef __cplusplus
}
#endif

#endif
