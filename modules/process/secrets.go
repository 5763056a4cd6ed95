package process

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Hidden replaces a secret in output, as in DSC.
const Hidden = "<secureValue>"

// Secrets are texts that must not be shown, the longest first.
type Secrets []string

// SecretsOf returns the secrets for texts and numbers that are secret.
func SecretsOf(texts []string, numbers []json.Number) Secrets {
	found := map[string]bool{}
	for _, text := range texts {
		found[text] = true
		found[withinJSON(text)] = true
		for line := range strings.Lines(text) { // messages come by lines
			found[strings.TrimRight(line, "\r\n")] = true
		}
	}
	for _, n := range numbers {
		found[string(n)] = true
	}
	delete(found, "")
	all := slices.Collect(maps.Keys(found))
	slices.SortFunc(all, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return all
}

// withinJSON is a text in the form that it has within JSON.
func withinJSON(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return s
	}
	return strings.Trim(string(b), `"`)
}

// Hide removes secrets from a text, all in one pass: the replacement of one may contain the letters of another.
func (s Secrets) Hide(text string) string {
	if len(s) == 0 {
		return text
	}
	pairs := make([]string, 0, 2*len(s))
	for _, secret := range s {
		pairs = append(pairs, secret, Hidden)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// HidePrinted removes secrets from output of a program that was not parsed. JSON can write a text in many ways, so
// lines with escapes are not shown at all.
func (s Secrets) HidePrinted(text string) string {
	if len(s) == 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.Contains(line, `\`) {
			end := line[len(strings.TrimRight(line, "\r\n")):]
			line = Hidden + end
		} else {
			line = s.Hide(line)
		}
		b.WriteString(line)
	}
	return b.String()
}
