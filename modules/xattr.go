package modules

import (
	"slices"
	"strings"
)

// Capability is the extended attribute by which a program has capabilities. The kernel takes it
// away when a file is written to or gets another owner.
const Capability = "security.capability"

// HasXattr reports whether an extended attribute is in a list of [Files].Xattrs.
func HasXattr(all []string, name string) bool {
	return slices.ContainsFunc(all, func(one string) bool {
		other, _ := CutXattr(one)
		return other == name
	})
}

// CutXattr splits an extended attribute after its name, which may contain any bytes.
func CutXattr(one string) (name, digits string) {
	at := max(strings.LastIndexByte(one, '='), 0)
	return one[:at], one[min(at+1, len(one)):]
}
