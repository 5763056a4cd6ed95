package pkg

import (
	"cmp"
	"strings"
)

// compareDpkg orders two versions as dpkg does (deb-version(7)): below 0 if the
// first is lower. It is our own because the library for it reads numbers into an
// int, which is too small for what some versions hold: timestamps on hosts of 32
// bits, for one.
func compareDpkg(a, b string) int {
	epochA, upstreamA, revisionA := splitDpkg(a)
	epochB, upstreamB, revisionB := splitDpkg(b)
	return cmp.Or(
		compareNumbers(epochA, epochB),
		compareDpkgPart(upstreamA, upstreamB),
		compareDpkgPart(revisionA, revisionB),
	)
}

// splitDpkg takes a version apart. What is missing is empty, which is as good as 0.
func splitDpkg(version string) (epoch, upstream, revision string) {
	epoch, rest, ok := strings.Cut(version, ":")
	if !ok {
		epoch, rest = "", version
	}
	if at := strings.LastIndexByte(rest, '-'); at >= 0 {
		return epoch, rest[:at], rest[at+1:]
	}
	return epoch, rest, ""
}

// compareDpkgPart compares what is no digit by [dpkgWeight], then digits as a
// number, and so on to the end of both.
func compareDpkgPart(a, b string) int {
	for a != "" || b != "" {
		for a != "" && !isDigit(a[0]) || b != "" && !isDigit(b[0]) {
			if order := cmp.Compare(dpkgWeight(a), dpkgWeight(b)); order != 0 {
				return order
			}
			a, b = a[1:], b[1:]
		}
		digitsA, digitsB := leadingDigits(a), leadingDigits(b)
		if order := compareNumbers(digitsA, digitsB); order != 0 {
			return order
		}
		a, b = a[len(digitsA):], b[len(digitsB):]
	}
	return 0
}

// dpkgWeight is that of the first character: a tilde goes before the end, the end
// and digits before letters, and these before anything else.
func dpkgWeight(s string) int {
	switch {
	case s == "" || isDigit(s[0]):
		return 0
	case s[0] == '~':
		return -1
	case isLetter(s[0]):
		return int(s[0])
	}
	return int(s[0]) + 256
}

// compareNumbers compares two rows of digits of any length.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

func leadingDigits(s string) string {
	end := 0
	for end < len(s) && isDigit(s[end]) {
		end++
	}
	return s[:end]
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
