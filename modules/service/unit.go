package service

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// A unit is a service as its manager describes it, in systemd's words.
type unit struct {
	id    string   // its own name
	names []string // id and other names of it
	file  string   // path of its definition; empty if unknown
	files []string // all files of the definition

	missing bool   // the service does not exist, and nothing of it runs
	broken  string // why its definition cannot be used
	stale   bool   // its definition has changed since the manager has read it
	sysV    bool   // a System V script that systemd has wrapped
	brought bool   // a pending package brings it

	state    string // active, reloading, inactive, failed, activating, deactivating…
	result   string // how it ended: success, exit-code, timeout…
	status   string // the exit status of its main process
	unmet    bool   // its conditions prevented its start
	endedRun bool   // Type=oneshot, and it has ended well since the boot
	oneshot  bool   // it does its work and ends
	restarts int    // automatic restarts by the manager

	fileState string   // enabled, disabled, static, masked…
	levels    []string // the runlevels that start it; of OpenRC
	canReload bool
	also      bool // no links of its own; enabled by links of other units (Also=)
	linked    bool // some of these links exist
}

// runs reports whether ensure: running needs no change.
func (u unit) runs() bool {
	return u.state == "active" || u.state == "reloading" || u.state == "refreshing" || u.endedRun
}

// stopped reports whether ensure: stopped needs no change.
func (u unit) stopped() bool { return u.missing || u.state == "inactive" || u.state == "failed" }

// condition is the unit's state in the words of ensure, or one more word if neither fits.
func (u unit) condition() string {
	switch {
	case u.state == "inactive":
		return stopped
	case u.runs():
		return running
	}
	return u.state
}

func (u unit) masked() bool { return u.fileState == "masked" || u.fileState == "masked-runtime" }

// quote quotes a text from a manifest or a host.
func quote(s string) string { return strconv.Quote(s) }

// suffixes are the suffixes of systemd.unit(5).
var suffixes = []string{
	".service", ".socket", ".target", ".timer", ".path", ".mount", ".automount", ".swap", ".slice", ".scope", ".device",
}

// splitSuffix splits the kind of unit off its name; "" means a service.
func splitSuffix(name string) (base, suffix string) {
	for _, suffix := range suffixes {
		if base, ok := strings.CutSuffix(name, suffix); ok && base != "" {
			return base, suffix
		}
	}
	return name, ""
}

// unitName is the whole name of a unit.
func unitName(name string) string {
	if _, suffix := splitSuffix(name); suffix == "" {
		return name + ".service"
	}
	return name
}

// template is the unit file of an instance: app@.service of app@1.service.
func template(id string) (string, bool) {
	base, suffix := splitSuffix(id)
	name, instance, ok := strings.Cut(base, "@")
	return name + "@" + suffix, ok && instance != ""
}

// unitEffect is the kind of a plan's effect on a unit: Key is a name of it, and State a unit. The effect with the key
// "" has the names of the unit that was changed last.
const unitEffect = modules.UnitEffect

// effects are the effects of a change that leaves the unit in this state.
func (u unit) effects() []modules.Effect {
	list := []modules.Effect{{Kind: unitEffect, Key: "", State: u.names}}
	for _, name := range u.names {
		list = append(list, modules.Effect{Kind: unitEffect, Key: name, State: u})
	}
	return list
}

// predicted is the unit in the state after earlier resources of a check run. last is false if one of them has changed
// another unit since, which might affect it.
func predicted(f modules.Forecast, name string) (u unit, last, ok bool) {
	state, ok := f.Lookup(unitEffect, name)
	if !ok {
		return unit{}, false, false
	}
	latest, _ := f.Lookup(unitEffect, "")
	names, _ := latest.([]string)
	return state.(unit), slices.Contains(names, name), true
}
