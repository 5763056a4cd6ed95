package forecast

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// weigh notes what puts a state in doubt: its own plan, or an opaque action
// after it. What is not predicted at all comes from before every plan.
func (h predictedHost) weigh(from origin) {
	switch {
	case h.view.opaque.at > from.at:
		h.p.Doubt(h.view.opaque.ref)
	case from.doubt != "":
		h.p.Doubt(from.doubt)
	}
	if h.unapplied.at > from.at {
		h.p.doubtInList(h.unapplied.ref)
	}
	h.ordered(from)
}

// ordered notes that what was predicted by a plan may as well come later than whoever
// asks: no edge says which is first.
func (h predictedHost) ordered(from origin) {
	if from.ref != "" && !h.precedes(from.at, h.view) {
		h.p.Doubt(from.ref)
	}
}

// weighKind is weigh for what is no path, but is kept in files all the same.
func (h predictedHost) weighKind(kind modules.EffectKind, from origin) {
	h.weigh(from)
	unsure := cause{at: from.at}
	for dir, c := range h.below {
		if c.at > unsure.at && isKept(kind, dir) {
			unsure = c
		}
	}
	if unsure.ref != "" {
		h.p.Doubt(unsure.ref)
	}
}

// isKept reports whether what a system knows of a kind of things may be kept in a directory.
func isKept(kind modules.EffectKind, dir string) bool {
	return slices.ContainsFunc(keptIn(kind), func(kept string) bool { return inside(dir, kept) || inside(kept, dir) })
}

// keptIn lists where operating systems keep what they know of a kind of things.
func keptIn(kind modules.EffectKind) []string {
	if kind == modules.UserEffect || kind == modules.GroupEffect {
		return []string{"/etc"}
	}
	return []string{"/etc", "/lib", "/run", "/usr/lib", "/usr/local/lib", "/var/lib"}
}

// inside reports whether a path is a directory or below it.
func inside(name, dir string) bool {
	return name == dir || dir == "/" || strings.HasPrefix(name, dir+"/")
}
