// Package layers lays variables one on the other: what the files say of all, of the
// groups of a host, and of the host itself. Which layers a host has, and in which
// order, is for the inventory to know.
package layers
