package events

import "strings"

// Reference names a resource as a manifest does, on one line.
func Reference(r Result) string { return reference(r) }

// Detail is what there is to say about a result in a few words, on one line.
func Detail(r Result) string { return detail(r) }

// WithoutHost is a text with {host} and {address} in place of the name and the address of its
// host, where they stand as words: texts that are equal then differ in nothing else.
func WithoutHost(text, host, address string) string { return without(text, host, address) }

// ForHost puts the name and the address of a host where [WithoutHost] has left their places.
func ForHost(text, host, address string) string {
	return strings.NewReplacer(hostMark, host, addressMark, address).Replace(text)
}

// MainCause is what the errors of hosts that suffer from the same thing have in common.
func MainCause(err string) string { return mainCause(err) }
