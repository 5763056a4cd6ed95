// Package faultproxy is a TCP connection that goes wrong at a given place. A test puts a
// [Proxy] between an SSH client and a server, and says for each connection what becomes of
// it, and when: after so many bytes, or after so many packets of SSH.
package faultproxy
