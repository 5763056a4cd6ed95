package pkg

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	rpmversion "github.com/knqyf263/go-rpm-version"
)

// compareDpkg orders two versions as dpkg does (deb-version(7)): below 0 if the first is lower. The existing library
// reads numbers into an int, which is too small for some versions, such as timestamps on hosts of 32 bits.
func compareDpkg(a, b string) int {
	epochA, upstreamA, revisionA := splitDpkg(a)
	epochB, upstreamB, revisionB := splitDpkg(b)
	return cmp.Or(
		compareNumbers(epochA, epochB),
		compareDpkgPart(upstreamA, upstreamB),
		compareDpkgPart(revisionA, revisionB),
	)
}

// splitDpkg splits a version. A missing part is empty, which counts as 0.
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

// compareDpkgPart compares the characters before the next digit by [dpkgWeight], then digits as a number, and so on to
// the end of both.
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

// dpkgWeight is the weight of the first character: a tilde comes before the end, the end and digits before letters, and
// these before anything else.
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

// compareRPM orders two versions, [epoch:]version[-release], as rpm does: below 0
// if the first is lower.
func compareRPM(a, b string) int {
	return rpmversion.NewVersion(a).Compare(rpmversion.NewVersion(b))
}

// order implements [judge].
func (rpmdb) order(_ context.Context, one, other string) (int, error) {
	return compareRPM(one, other), nil
}

// against implements [judge]. If wanted lacks epoch or release, any value matches, as in dnf itself.
func (rpmdb) against(_ context.Context, have, wanted string) (int, error) {
	h, w := parseEVR(have), parseEVR(wanted)
	if w.epoch == "" {
		w.epoch = h.epoch
	}
	if w.release == "" {
		w.release = h.release
	}
	return compareRPM(have, w.String()), nil
}

func number(epoch string) int {
	n, _ := strconv.Atoi(epoch)
	return n
}

// compareAlpm orders two versions, [epoch:]version[-release], as pacman does (vercmp(8)): below 0 if the first is
// lower. pacman uses the order of old rpm versions, which differs from today's rpm. Releases are compared if both
// versions have one.
func compareAlpm(a, b string) int {
	epochA, versionA, releaseA, hasA := splitAlpm(a)
	epochB, versionB, releaseB, hasB := splitAlpm(b)
	order := cmp.Or(compareAlpmPart(epochA, epochB), compareAlpmPart(versionA, versionB))
	if order == 0 && hasA && hasB {
		order = compareAlpmPart(releaseA, releaseB)
	}
	return order
}

func splitAlpm(text string) (epoch, version, release string, hasRelease bool) {
	epoch = leadingDigits(text)
	if rest, ok := strings.CutPrefix(text[len(epoch):], ":"); ok {
		text = rest
	} else {
		epoch = ""
	}
	if epoch == "" {
		epoch = "0"
	}
	if at := strings.LastIndexByte(text, '-'); at >= 0 {
		return epoch, text[:at], text[at+1:], true
	}
	return epoch, text, "", false
}

// compareAlpmPart compares rows of digits and of letters one by one; separators count by their length.
func compareAlpmPart(a, b string) int {
	if a == b {
		return 0
	}
	for a != "" && b != "" {
		restA, restB := strings.TrimLeftFunc(a, isSeparator), strings.TrimLeftFunc(b, isSeparator)
		if restA == "" || restB == "" {
			a, b = restA, restB
			break
		}
		if order := cmp.Compare(len(a)-len(restA), len(b)-len(restB)); order != 0 {
			return order
		}
		numeric := isDigit(restA[0])
		segmentA, segmentB := segment(restA, numeric), segment(restB, numeric)
		switch {
		case segmentB == "" && numeric: // numbers are newer than letters
			return 1
		case segmentB == "":
			return -1
		}
		order := strings.Compare(segmentA, segmentB)
		if numeric {
			order = compareNumbers(segmentA, segmentB)
		}
		if order != 0 {
			return order
		}
		a, b = restA[len(segmentA):], restB[len(segmentB):]
	}
	switch {
	case a == "" && b == "":
		return 0
	case a == "" && !isLetter(b[0]), a != "" && isLetter(a[0]): // remaining letters make a version older: 1.0rc
		return -1
	}
	return 1
}

func isSeparator(r rune) bool { return r > 127 || !isDigit(byte(r)) && !isLetter(byte(r)) }

// segment is the digits, or the letters, that s begins with.
func segment(s string, numeric bool) string {
	end := 0
	for end < len(s) && (numeric && isDigit(s[end]) || !numeric && isLetter(s[end])) {
		end++
	}
	return s[:end]
}
