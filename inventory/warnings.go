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

	templates  int           // values that hold what looks like an expression
	templateAt *yamlpos.Node // the first of them
}

func (n *notes) list() []string {
	if n.templates > 0 {
		n.warnings = append(n.warnings, fmt.Sprintf("%s: a variable of the inventory is a value: {{ in it stays as it is%s; write the expression into the manifest's data",
			n.templateAt.Pos(), hereAndIn(n.templates-1)))
	}
	if n.at == nil {
		return n.warnings
	}
	slices.Sort(n.ignored)
	names := strings.Join(slices.Compact(n.ignored), ", ")
	return append(n.warnings, fmt.Sprintf("%s: ignored, as no host needs Python or a setting of its shell: %s", n.at.Pos(), names))
}

func hereAndIn(others int) string {
	switch others {
	case 0:
		return ""
	case 1:
		return ", here and in 1 other"
	}
	return fmt.Sprintf(", here and in %d others", others)
}

// expressions notes values that Ansible would render.
func (n *notes) expressions(v *yamlpos.Node) {
	if v.Kind == yamlpos.Scalar && (strings.Contains(v.Text, "{{") || strings.Contains(v.Text, "{%")) {
		if n.templates++; n.templateAt == nil {
			n.templateAt = v
		}
	}
	for _, item := range v.Items {
		n.expressions(item)
	}
	for _, pair := range v.Pairs {
		n.expressions(pair.Value)
	}
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
