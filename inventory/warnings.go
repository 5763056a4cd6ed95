package inventory

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// notes collects what is worth a warning.
type notes struct {
	warnings []string
	ignored  []string      // ansible_ variables that have no meaning here
	at       *yamlpos.Node // where the first of them stands
}

func (n *notes) list() []string {
	if n.at == nil {
		return n.warnings
	}
	slices.Sort(n.ignored)
	names := strings.Join(slices.Compact(n.ignored), ", ")
	return append(n.warnings, fmt.Sprintf("%s: ignored, as no host needs Python or a setting of its shell: %s", n.at.Pos(), names))
}

func (n *notes) add(at *yamlpos.Node, format string, args ...any) {
	n.warnings = append(n.warnings, at.Pos()+": "+fmt.Sprintf(format, args...))
}

func (n *notes) ignore(key *yamlpos.Node) {
	if n.at == nil {
		n.at = key
	}
	n.ignored = append(n.ignored, key.Text)
}

// nearMiss warns of a variable that was probably meant to be one of ours.
func (n *notes) nearMiss(key *yamlpos.Node, meant string) {
	n.add(key, "%s is a variable without a meaning of its own (did you mean %q?)", key.Text, meant)
}
