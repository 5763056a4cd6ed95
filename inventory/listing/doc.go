// Package listing shows an inventory: as ansible-inventory prints it ([List],
// [HostVars], [Graph]), and as people look at it ([TreeOf], [Explain], [Lint]).
// What it gives can be printed: a terminal obeys nothing in it, and [Withheld] stands in
// the place of each password.
//
// What an inventory means may not come in: package inventory is asked for it.
package listing
