// Package printable makes foreign texts safe to print: a terminal shows their characters and does not obey them.
//
// The package is a leaf. The layout of a result or an inventory does not belong here: [Line], [Block] and [JSON] do not
// know what they write, and [MaySecret] knows only words.
package printable
