// Package listing prints an inventory: as ansible-inventory does ([List], [HostVars], [Graph]), and for people
// ([TreeOf], [Explain], [Lint]). Its output is safe to print: it contains nothing that a terminal obeys, and [Withheld]
// instead of each password.
//
// The meaning of an inventory does not belong here: package inventory knows it.
package listing
