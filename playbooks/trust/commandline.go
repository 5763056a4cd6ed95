package trust

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/pattern"
)

// CommandLine is how a user has hosts trusted. It has the flags that say where the hosts
// are and what is known of them.
func CommandLine(inventories, knownHosts, hosts []string) string {
	words := []string{"ccm-push"}
	for _, path := range inventories {
		words = append(words, "-i", shellWord(path))
	}
	for _, path := range knownHosts {
		words = append(words, "--known-hosts", shellWord(path))
	}
	return strings.Join(append(words, "trust", shellWord(pattern.Fold(hosts))), " ")
}

// shellWord quotes text for a shell if it needs that.
func shellWord(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:@%+,", r)
	}
	if text != "" && !slices.ContainsFunc([]rune(text), func(r rune) bool { return !plain(r) }) {
		return text
	}
	return fmt.Sprintf("'%s'", strings.ReplaceAll(text, "'", `'\''`))
}
