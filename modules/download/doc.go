// Package download gets files of any size from web servers: in one go if it can,
// in several if a connection breaks. Servers are verified with the certificates of
// the machine, and reached through the proxies that its environment names, as
// net/http has it.
//
// It is linked into the full host program, and into the controller.
package download
