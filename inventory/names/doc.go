// Package names says what hosts and groups may be called, and reads addresses with
// ports, such as [2001:db8::1]:2222.
package names
