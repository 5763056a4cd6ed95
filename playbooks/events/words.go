package events

import "strings"

// Reference names a resource as a manifest does, on one line.
func Reference(r Result) string { return reference(r) }

// Detail returns a result in a few words, on one line.
func Detail(r Result) string { return detail(r) }

// WithoutHost returns a text in which {host} and {address} replace the whole words that are the name and the address of
// its host. Texts that are equal then differ in nothing else.
func WithoutHost(text, host, address string) string { return without(text, host, address) }

// ForHost puts the name and the address of a host where [WithoutHost] has left their places.
func ForHost(text, host, address string) string {
	return strings.NewReplacer(hostMark, host, addressMark, address).Replace(text)
}

// MainCause returns the common part of the errors of hosts with the same problem.
func MainCause(err string) string { return mainCause(err) }
