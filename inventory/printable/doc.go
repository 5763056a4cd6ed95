// Package printable makes texts from elsewhere safe to print: a terminal shows
// what is in them and does not obey it.
//
// The package is a leaf. How a result or an inventory looks may not come in: [Line],
// [Block] and [JSON] know nothing of what they write, and [MaySecret] nothing but words.
package printable
