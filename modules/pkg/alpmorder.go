package pkg

import (
	"cmp"
	"strings"
)

// compareAlpm orders two versions, [epoch:]version[-release], as pacman does
// (vercmp(8)): below 0 if the first is lower. It is like rpm's order of old times,
// so what is good for rpm now is wrong here. Releases count if both have one.
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

// compareAlpmPart compares rows of digits and of letters one by one; what stands
// between them counts by its length.
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
	case a == "" && !isLetter(b[0]), a != "" && isLetter(a[0]): // letters that are left over are older: 1.0rc
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
