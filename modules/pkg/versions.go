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

// suits reports whether a full version matches the version or the range in ensure.
func (p *Package) suits(ctx context.Context, m judge, version string) (bool, error) {
	if !isRange(p.Ensure) {
		order, err := m.against(ctx, version, p.Ensure)
		return err == nil && order == 0, err
	}
	bounds, _ := parseRange(p.Ensure) // Validate has found it right
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
func (p *Package) candidate(ctx context.Context, m manager) (string, error) {
	chosen, err := m.offer(ctx, p.Name, p.version())
	if err != nil || !isRange(p.Ensure) {
		return chosen, err
	}
	if chosen != "" {
		if ok, err := p.suits(ctx, m, chosen); err != nil || ok {
			return chosen, err
		}
	}
	all, err := m.versions(ctx, p.Name)
	if err != nil || chosen == "" && len(all) == 0 {
		return "", err
	}
	best := ""
	for _, version := range all {
		ok, err := p.suits(ctx, m, version)
		if err != nil {
			return "", err
		}
		if !ok {
			continue
		}
		order := 1
		if best != "" {
			order, err = m.order(ctx, version, best)
		}
		if err != nil {
			return "", err
		}
		if order > 0 {
			best = version
		}
	}
	if best == "" {
		return "", lacks("no version of %q that is %s is available; available: %s", p.Name, p.Ensure, words(some(all)))
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

// versions implements [looker].
func (a apt) versions(ctx context.Context, name string) ([]string, error) {
	policy, err := a.policy(ctx, name)
	return policy.versions, err
}

// versions implements [looker].
func (d dnf) versions(ctx context.Context, name string) ([]string, error) {
	rows, err := d.available(ctx, name)
	return ownVersions(rows, name), err
}

// versions implements [looker].
func (z zypper) versions(ctx context.Context, name string) ([]string, error) {
	base, _ := splitArch(name)
	rows, err := z.search(ctx, "-s", base)
	return ownVersions(rows, name), err
}

// ownVersions are different versions of a package among rows, the highest first.
func ownVersions(rows []rpmRow, name string) []string {
	base, arch := splitArch(name)
	var all []string
	for _, r := range rows {
		if r.name == base && (arch == "" || r.arch == arch) {
			all = append(all, r.version)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return compareRPM(b, a) })
	return slices.Compact(all)
}

// versions implements [looker].
func (a apk) versions(ctx context.Context, name string) ([]string, error) {
	policy, err := a.policy(ctx, "", name)
	return policy.available(name), err
}

// versions implements [looker].
func (p pacman) versions(ctx context.Context, name string) ([]string, error) {
	found, err := p.sources(ctx, name)
	return versionsFrom(found), err
}

// versionsFrom are the different versions that sources have.
func versionsFrom(found []source) (all []string) {
	for _, s := range found {
		if !slices.Contains(all, s.version) {
			all = append(all, s.version)
		}
	}
	return all
}
