// Package faultproxy is a TCP proxy that breaks connections at a given place. A test puts a [Proxy] between an SSH
// client and a server, and chooses the fault of each connection and its place: after a number of bytes, or after a
// number of SSH packets.
package faultproxy
