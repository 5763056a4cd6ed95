// Package gather collects the facts of the machine that the program runs on. It
// is linked into the host program only.
package gather
