package modules

import (
	"fmt"
	"path"
	"strings"
)

// An Affects lists the possible changes of an action: paths with everything below them, service#NAME and package#NAME. Nil
// means unknown changes. An empty list means no changes.
type Affects []string

// affected are the kinds of effects of the types that a list may name.
var affected = map[string]EffectKind{"service": UnitEffect, "package": PackageEffect}

// Validate reports entries that are neither absolute paths nor references to a service or package. The errors are
// PropertyErrors.
func (a Affects) Validate() error {
	for i, entry := range a {
		property := fmt.Sprintf("affects[%d]", i)
		typ, name, isRef := strings.Cut(entry, "#")
		switch {
		case path.IsAbs(entry):
			if err := ValidateText(property, entry); err != nil {
				return err
			}
		case !isRef || affected[typ] == "" || name == "":
			return Errorf(property, "%q is not valid: write an absolute path, service#NAME or package#NAME", entry)
		}
	}
	return nil
}

// Effects returns the effects of an action with that list. Whether the list is complete is only likely.
func (a Affects) Effects() []Effect {
	if a == nil {
		return []Effect{Anything}
	}
	return append(a.Only(), Elsewhere)
}

// Only returns the effects of an action with that list, which is complete.
func (a Affects) Only() []Effect {
	var effects []Effect
	for _, entry := range a {
		if path.IsAbs(entry) {
			at := path.Clean(entry)
			effects = append(append(effects, Differ("", at)...), Effect{Kind: BelowEffect, Key: at})
			continue
		}
		typ, _, _ := strings.Cut(entry, "#")
		effects = append(effects, Effect{Kind: KindEffect, Key: string(affected[typ])})
	}
	return effects
}
