package expression

import (
	"cmp"
	"strings"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// compareVersions is compareVersions(a, b): -1, 0 or 1. Versions are compared as Ansible's test version does it:
// runs of digits as numbers and other runs as texts, one after the other, and the longer one is newer where all
// before is equal. A number that meets a text has no order.
func compareVersions(args []any) (any, error) {
	var texts [2]string
	for i, arg := range args {
		text, err := render.TextOf(arg)
		if err != nil {
			return nil, diag.Faultf("compareVersions: needs texts, not %s", render.KindName(arg))
		}
		texts[i] = strings.TrimSpace(text)
	}
	a, b := versionParts(texts[0]), versionParts(texts[1])
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		if isNumber(x) != isNumber(y) {
			return nil, diag.Faultf("compareVersions: %q and %q cannot be compared: %q against %q", texts[0], texts[1], x, y)
		}
		if isNumber(x) { // a longer number is larger, without zeros in front
			x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
			if c := cmp.Compare(len(x), len(y)); c != 0 {
				return c, nil
			}
		}
		if c := cmp.Compare(x, y); c != 0 {
			return c, nil
		}
	}
	return cmp.Compare(len(a), len(b)), nil
}

// versionParts returns the runs of digits and of other characters between dots. Lower-case letters are runs of their
// own, as there: 1.0-rc1 has the parts 1, 0, -, rc and 1.
func versionParts(version string) []string {
	kind := func(c byte) int {
		switch {
		case c == '.':
			return 0
		case c >= '0' && c <= '9':
			return 1
		case c >= 'a' && c <= 'z':
			return 2
		}
		return 3
	}
	var parts []string
	for start := 0; start < len(version); {
		end := start + 1
		for end < len(version) && kind(version[end]) == kind(version[start]) && kind(version[start]) != 0 {
			end++
		}
		if kind(version[start]) != 0 {
			parts = append(parts, version[start:end])
		}
		start = end
	}
	return parts
}

func isNumber(part string) bool { return part[0] >= '0' && part[0] <= '9' }
