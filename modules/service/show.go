package service

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// properties are the properties for `systemctl show` (org.freedesktop.systemd1(5)). A systemd that does not know one
// omits it.
const properties = "Id,Names,LoadState,LoadError,ActiveState,UnitFileState,NeedDaemonReload,CanReload," +
	"Type,RemainAfterExit,Result,NRestarts,ExecMainStatus,FragmentPath,SourcePath,DropInPaths," +
	"ConditionResult,ConditionTimestampMonotonic,InactiveExitTimestampMonotonic"

// parseShow reads what `systemctl show` prints about one unit, called name.
func parseShow(name, text string) unit {
	p := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok {
			p[key] = value
		}
	}
	u := unit{
		id:        p["Id"],
		names:     strings.Fields(p["Names"]),
		file:      p["FragmentPath"],
		stale:     p["NeedDaemonReload"] == "yes",
		state:     p["ActiveState"],
		result:    p["Result"],
		status:    p["ExecMainStatus"],
		unmet:     p["ConditionResult"] == "no" && number(p["ConditionTimestampMonotonic"]) > 0,
		oneshot:   p["Type"] == "oneshot" && p["RemainAfterExit"] == "no",
		restarts:  number(p["NRestarts"]),
		fileState: p["UnitFileState"],
		canReload: p["CanReload"] == "yes",
	}
	if u.id == "" {
		u.id = name
	}
	if !slices.Contains(u.names, u.id) {
		u.names = append(u.names, u.id)
	}
	for _, file := range append([]string{p["FragmentPath"], p["SourcePath"]}, strings.Fields(p["DropInPaths"])...) {
		if file != "" {
			u.files = append(u.files, file)
		}
	}
	u.sysV = u.fileState == "generated" && strings.HasPrefix(p["SourcePath"], "/etc/init.d/")
	u.endedRun = u.oneshot && u.state == "inactive" && u.result == "success" && !u.unmet &&
		number(p["InactiveExitTimestampMonotonic"]) > 0
	switch load := p["LoadState"]; load {
	case "loaded":
	case "not-found":
		u.missing = u.state == "inactive" || u.state == "failed"
		u.fileState = ""
	case "masked":
		if !u.masked() { // it was unmasked, and systemd has not noticed
			u.stale = true
		}
	case "":
		u.broken = "systemd does not report it"
	default:
		u.broken = clip(load)
		if why := loadError(p["LoadError"]); why != "" {
			u.broken = why
		}
		if load == "bad-setting" {
			u.broken += "; to see which, run on the host: systemd-analyze verify " + clip(cmp.Or(u.file, u.id))
		}
	}
	return u
}

// number reads a number that a host has printed; anything else is 0.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// loadError returns the text of an error, which follows its name on the bus, in quotes.
func loadError(value string) string {
	_, text, ok := strings.Cut(value, " ")
	if !ok {
		return ""
	}
	return clip(strings.TrimSuffix(strings.Trim(text, `"`), "."))
}
