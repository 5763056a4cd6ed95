// Package download downloads files of any size from web servers: in one request if possible, in several if a connection
// breaks. Servers are verified with the certificates of the machine, and reached through the proxies in its
// environment, as in net/http.
//
// It is linked into the full host program, and into the controller.
package download
