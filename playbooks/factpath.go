package playbooks

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/facts"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/templates"
)

// At gives what stands at a path such as host.info.platform, or all facts if it is "".
// If there is no such fact, the event says which paths there are.
func (f HostFacts) At(path string) (any, events.Event) {
	if f.Err != nil || path == "" {
		return f.Facts, f.Err
	}
	value, err := templates.Lookup(f.Facts, path)
	if err != nil {
		return nil, f.noFact(path, err)
	}
	return value, nil
}

// maxFactNames is how many names a hint lists: a host may have any number.
const maxFactNames = 20

// noFact says what paths there are in place of one that leads nowhere. Of a host
// that was asked for its custom facts only, the others are known by name.
func (f HostFacts) noFact(path string, err error) events.HostFailed {
	e := events.HostFailed{Host: f.Host, Phase: "facts", Error: err.Error(), Hint: "write keys with dots between them, as in host.info.platform"}
	if te, ok := errors.AsType[*templates.Error](err); ok {
		e.Error, e.Hint = te.Msg, cmp.Or(te.Hint, e.Hint)
	}
	first, _, _ := strings.Cut(path, ".")
	if _, found := f.Facts[first]; found || slices.Contains(facts.Names(), first) {
		return e
	}
	names := slices.Concat(facts.Names(), slices.Sorted(maps.Keys(f.Facts)))
	if meant := yamlpos.Suggest(first, names); meant != "" {
		e.Hint = fmt.Sprintf("did you mean %q?", meant)
	} else if first != "" {
		e.Hint = "a path begins with " + strings.Join(names[:min(len(names), maxFactNames)], ", ") + ", or a key of the host's own facts files"
	}
	return e
}
