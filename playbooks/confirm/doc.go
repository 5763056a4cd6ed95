// Package confirm keeps changes from locking out the controller: a host reverts what concerns how it is reached, unless a [Guard]
// confirms it over a new login.
//
//	guard.go  what a guard does during a play and after it
//	login.go  the new login, and the ways to it
package confirm
