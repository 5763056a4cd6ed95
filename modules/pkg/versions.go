package pkg

import (
	"context"
	"slices"
	"strings"
)

// A bound is one end of a range of versions: ">= 1.2".
type bound struct{ operator, version string }

// operators are the operators of bounds. A longer one comes before its own prefixes.
var operators = []string{">=", "<=", "!=", ">", "<", "="}

// isRange reports whether ensure contains a range of versions: it begins with an operator.
func isRange(ensure string) bool {
	return strings.HasPrefix(ensure, ">") || strings.HasPrefix(ensure, "<") || strings.HasPrefix(ensure, "=") || strings.HasPrefix(ensure, "!")
}

// parseRange reads bounds with commas between them: ">= 1.2, < 2". ok is false if a part is not a bound.
func parseRange(text string) (bounds []bound, ok bool) {
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		i := slices.IndexFunc(operators, func(operator string) bool { return strings.HasPrefix(part, operator) })
		if i < 0 {
			return nil, false
		}
		version := strings.TrimSpace(part[len(operators[i]):])
		if !isVersion(version) {
			return nil, false
		}
		bounds = append(bounds, bound{operators[i], version})
	}
	return bounds, true
}

// isVersion reports whether a text has the characters of a version, and could not be taken for an option.
func isVersion(text string) bool {
	return versionCharacters().MatchString(text) && isAlphanumeric(text[0])
}

// holds reports whether a version satisfies the bound. order is the comparison of the version to the bound's version.
func (b bound) holds(order int) bool {
	switch b.operator {
	case ">=":
		return order >= 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	case "<":
		return order < 0
	case "!=":
		return order != 0
	}
	return order == 0
}

// wanted is the property ensure of a package: present, absent, latest, a version or a range.
type wanted string

// pinned reports whether ensure is a version or a range.
func (w wanted) pinned() bool { return w != present && w != latest && w != absent }

// version is the version in ensure; empty means any, or one of a range.
func (w wanted) version() string {
	if w.pinned() && !isRange(string(w)) {
		return string(w)
	}
	return ""
}

// within is the range in ensure; empty means none.
func (w wanted) within() string {
	if isRange(string(w)) {
		return string(w)
	}
	return ""
}

// suits reports whether a full version matches the version or the range in ensure.
func (w wanted) suits(ctx context.Context, m judge, version string) (bool, error) {
	if !isRange(string(w)) {
		order, err := m.against(ctx, version, string(w))
		return err == nil && order == 0, err
	}
	bounds, _ := parseRange(string(w)) // Validate has found it right
	for _, b := range bounds {
		order, err := m.against(ctx, version, b.version)
		if err != nil || !b.holds(order) {
			return false, err
		}
	}
	return true, nil
}

// candidate returns the version to install: the one in ensure, or the package manager's own choice of the newest. For a
// range it returns that choice if it is in the range, otherwise the highest version in the range. It returns "" for a
// virtual package.
func (i *installation) candidate(ctx context.Context) (string, error) {
	wants := wanted(i.Ensure)
	chosen, err := i.by.offer(ctx, i.Name, wants.version())
	if err != nil || !isRange(i.Ensure) {
		return chosen, err
	}
	if chosen != "" {
		if ok, err := wants.suits(ctx, i.by, chosen); err != nil || ok {
			return chosen, err
		}
	}
	all, err := i.by.versions(ctx, i.Name)
	if err != nil || chosen == "" && len(all) == 0 {
		return "", err
	}
	best := ""
	for _, version := range all {
		ok, err := wants.suits(ctx, i.by, version)
		if err != nil {
			return "", err
		}
		if !ok {
			continue
		}
		order := 1
		if best != "" {
			order, err = i.by.order(ctx, version, best)
		}
		if err != nil {
			return "", err
		}
		if order > 0 {
			best = version
		}
	}
	if best == "" {
		return "", lacks("no version of %q that is %s is available; available: %s", i.Name, i.Ensure, words(some(all)))
	}
	return best, nil
}

// some are a few versions, for an error.
func some(versions []string) []string {
	const enough = 5
	if len(versions) <= enough {
		return versions
	}
	return append(slices.Clone(versions[:enough]), "…")
}
