package engine

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
)

// Services depend on files: on their unit files, and on files that they subscribe to. An undo restores the
// state of a service before its own first change or the first change of these files, and does so after the files.
const serviceType = "service"

// unitsBefore returns the state of the services whose unit may read the paths of a plan, or that subscribe to
// the resource of the attempt: each service of the catalog that the run has not noted yet.
func (a *attempt) unitsBefore(ctx context.Context, past *notes.Past) map[string]string {
	r, j := a.turn.run, a.turn.job
	var units map[string]string
	changed := paths(a.plan)
	for _, other := range r.jobs {
		of, ok := other.resource.(modules.Reverser)
		if other.entry.Type != serviceType || !ok || other.invalid != nil || other == j || other.entry.Excluded {
			continue
		}
		unit := strings.TrimPrefix(of.Subject(), "service ")
		reads := slices.ContainsFunc(changed, func(p string) bool {
			return path.Base(p) == unit || path.Base(path.Dir(p)) == unit+".d"
		})
		if !reads && !slices.Contains(other.entry.Subscribe, j.index) {
			continue
		}
		if _, noted := past.Unit(other.entry.Name); noted {
			continue
		}
		seen := r.real.present(modules.Discard{})
		var properties map[string]any
		var err error
		a.turn.outside(func() { properties, err = of.Reversal(ctx, seen, nil) })
		if state, ok := properties["ensure"].(string); err == nil && ok {
			if units == nil {
				units = map[string]string{}
			}
			units[other.entry.Name] = state
		}
	}
	return units
}

// serviceBefore notes in the change of a service its state before the run. A change of a file that the
// service reads may have been noted earlier, with the state of then.
func (a *attempt) serviceBefore(ctx context.Context, past *notes.Past, c *notes.Change) error {
	of, ok := a.turn.job.resource.(modules.Reverser)
	if c.Type != serviceType || !ok || c.Cannot != "" {
		return nil
	}
	was, noted := past.Unit(c.Name)
	var properties map[string]any
	switch {
	case c.Reversal != nil:
		if err := json.Unmarshal(c.Reversal, &properties); err != nil || !noted {
			return err
		}
		properties["ensure"] = was
		text, err := json.Marshal(properties)
		c.Reversal = text
		return err
	case !noted:
		var err error
		a.turn.outside(func() { properties, err = of.Reversal(ctx, a.seen, nil) })
		if err != nil {
			return nil // it cannot be started again, so it is only refreshed
		}
		was, _ = properties["ensure"].(string)
	}
	c.Was = was
	return nil
}

// ranBefore reports whether c changed a service that ran before the run.
func ranBefore(c *notes.Change) bool {
	var properties struct {
		Ensure string `json:"ensure"`
	}
	if c.Type != serviceType || c.Reversal != nil && json.Unmarshal(c.Reversal, &properties) != nil {
		return false
	}
	return c.Was == "running" || properties.Ensure == "running"
}

// unitChanges returns the changes of a service without the one about reading its unit file again: files are restored
// before services.
func unitChanges(c *notes.Change, all []modules.Change) []modules.Change {
	if c.Type != serviceType {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(c modules.Change) bool { return c.Property == "unit_file" })
}

// notRunning reports whether a service with these pending changes differs from the manifest: it has failed, or was
// stopped.
func notRunning(all []modules.Change) bool {
	return slices.ContainsFunc(all, func(c modules.Change) bool { return c.Property == "ensure" })
}

// diedInRun reports whether a service ran before the run, and the run left it failed: it is started again
// with the files of before.
func diedInRun(c *notes.Change) bool {
	return ranBefore(c) && c.Left != nil && notRunning(c.Left.Changes)
}
