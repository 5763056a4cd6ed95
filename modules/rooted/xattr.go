package rooted

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// Written are the extended attributes that a file keeps when it is written: all except capabilities.
func Written(all []string) []string {
	return slices.DeleteFunc(all, func(one string) bool { return strings.HasPrefix(one, modules.Capability) })
}
