//go:build full || !host

package pkg

import (
	"cmp"
	"strings"
)

// pythonVersion takes a version of Python's packages apart (PEP 440, appendix B).
var pythonVersion = lazily(`^v?(?:(\d+)!)?(\d+(?:\.\d+)*)` +
	`(?:[-_.]?(alpha|beta|preview|pre|rc|a|b|c)[-_.]?(\d*))?` +
	`(?:-(\d+)|[-_.]?(post|rev|r)[-_.]?(\d*))?` +
	`(?:[-_.]?(dev)[-_.]?(\d*))?` +
	`(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?$`)

// comparePython orders two versions as pip does (PEP 440): below 0 if the first is lower. A text that is not a version
// is lower than any version, as it was in the pips that accepted it.
func comparePython(a, b string) int {
	one, other := pythonVersion().FindStringSubmatch(strings.ToLower(a)), pythonVersion().FindStringSubmatch(strings.ToLower(b))
	if one == nil || other == nil {
		return cmp.Or(cmp.Compare(rank(one != nil), rank(other != nil)), strings.Compare(a, b))
	}
	return cmp.Or(
		compareNumbers(one[1], other[1]),
		compareDotted(one[2], other[2]),
		comparePhase(one, other),
		compareNumbers(one[4], other[4]),
		cmp.Compare(rank(isPost(one)), rank(isPost(other))),
		compareNumbers(one[5]+one[7], other[5]+other[7]),
		cmp.Compare(rank(one[8] == ""), rank(other[8] == "")),
		compareNumbers(one[9], other[9]),
		compareLocal(one[10], other[10]),
	)
}

func rank(of bool) int {
	if of {
		return 1
	}
	return 0
}

// isPost reports whether a version is a post-release.
func isPost(v []string) bool { return v[5] != "" || v[6] != "" }

// comparePhase orders the phases before a release: development, then alpha, beta and candidates, then the release.
func comparePhase(one, other []string) int {
	phase := func(v []string) int {
		switch v[3] {
		case "a", "alpha":
			return 1
		case "b", "beta":
			return 2
		case "c", "rc", "pre", "preview":
			return 3
		}
		if v[8] != "" && !isPost(v) { // of the release itself
			return 0
		}
		return 4
	}
	return cmp.Compare(phase(one), phase(other))
}

// compareDotted compares numbers with dots between them; missing numbers are 0.
func compareDotted(a, b string) int {
	for a != "" || b != "" {
		var one, other string
		one, a, _ = strings.Cut(a, ".")
		other, b, _ = strings.Cut(b, ".")
		if order := compareNumbers(one, other); order != 0 {
			return order
		}
	}
	return 0
}

// compareLocal compares the parts after a plus: numbers are above words, and more is above less.
func compareLocal(a, b string) int {
	separators := strings.NewReplacer("-", ".", "_", ".")
	return compareParts(separators.Replace(a), separators.Replace(b), 1)
}

// compareParts compares parts with dots between them one by one. The text that ends first is lower. numbers is 1 if
// numbers are above words, and -1 if they are below.
func compareParts(a, b string, numbers int) int {
	for a != "" && b != "" {
		var one, other string
		one, a, _ = strings.Cut(a, ".")
		other, b, _ = strings.Cut(b, ".")
		isNumber, otherIs := leadingDigits(one) == one, leadingDigits(other) == other
		order := strings.Compare(one, other)
		switch {
		case isNumber && otherIs:
			order = compareNumbers(one, other)
		case isNumber:
			order = numbers
		case otherIs:
			order = -numbers
		}
		if order != 0 {
			return order
		}
	}
	return cmp.Compare(rank(a != ""), rank(b != ""))
}

// compareSemantic orders two versions as npm does (semver.org, 11): below 0 if the first is lower.
func compareSemantic(a, b string) int {
	coreA, preA := splitSemantic(a)
	coreB, preB := splitSemantic(b)
	if order := compareDotted(coreA, coreB); order != 0 {
		return order
	}
	if preA == "" || preB == "" { // a release is above all its pre-releases
		return cmp.Compare(rank(preA == ""), rank(preB == ""))
	}
	return compareParts(preA, preB, -1)
}

// splitSemantic splits a version, and omits the build metadata.
func splitSemantic(text string) (core, pre string) {
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "v"), "+")
	core, pre, _ = strings.Cut(text, "-")
	return core, pre
}
