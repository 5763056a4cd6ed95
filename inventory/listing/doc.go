// Package listing shows an inventory: as ansible-inventory prints it ([List],
// [HostVars], [Graph]), and as people look at it ([TreeOf], [Explain], [Lint]).
// What it gives can be printed: nothing in it is obeyed by a terminal, and in the
// place of each password stands [Withheld].
//
// What an inventory means may not come in: it is asked for, never read again here.
package listing
