package expression

import (
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// KindOfValue is the type of a value of the inventory.
func KindOfValue(v any) Kind {
	switch v := v.(type) {
	case string:
		if j2.HasTags(v) {
			return AnyKind
		}
		return TextKind
	case bool:
		return boolKind
	case []any:
		return ListKind
	case map[string]any:
		return MapKind
	case int, int64:
		return NumberKind
	case float64:
		return kindOfFloat(v, "")
	}
	return AnyKind
}

// KindOfNode is the type of what is written in YAML.
func KindOfNode(n *yaml.Node) Kind {
	switch {
	case n == nil:
		return AnyKind
	case n.Kind == yaml.AliasNode:
		return KindOfNode(n.Alias)
	case n.Kind == yaml.SequenceNode:
		return ListKind
	case n.Kind == yaml.MappingNode:
		return MapKind
	case yamlnode.PlainBool(n):
		return boolKind
	case yamlnode.HasJinja(n):
		return AnyKind
	}
	switch n.ShortTag() {
	case "!!str", "!vault", "!unsafe":
		return TextKind
	case "!!int":
		return NumberKind
	case "!!float":
		v, err := strconv.ParseFloat(n.Value, 64)
		if err != nil {
			return floatKind
		}
		return kindOfFloat(v, n.Value)
	}
	return AnyKind
}

// kindOfFloat is the type of a number, which is written so; "" if it is not known how.
func kindOfFloat(v float64, written string) Kind {
	if printed := strconv.FormatFloat(v, 'f', -1, 64); strings.Contains(printed, ".") && (written == "" || written == printed) {
		return fractKind
	}
	return floatKind
}

// KindOfElements is the type of all elements of a list.
func KindOfElements(n *yaml.Node) Kind {
	if n == nil || n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		return AnyKind
	}
	k := KindOfNode(n.Content[0])
	mixed, bools := false, false
	for _, one := range n.Content {
		mixed = mixed || KindOfNode(one) != k
		bools = bools || KindOfNode(one) == boolKind
	}
	switch {
	case mixed && bools:
		return maybeBoolKind
	case mixed:
		return AnyKind
	}
	return k
}

// KindOfAll returns the type of a value that has one of some types.
func KindOfAll(kinds []Kind) Kind {
	k := kinds[0]
	for _, other := range kinds[1:] {
		switch {
		case other == k:
		case other == boolKind || other == maybeBoolKind || k == boolKind || k == maybeBoolKind:
			k = maybeBoolKind
		default:
			k = AnyKind
		}
	}
	return k
}
