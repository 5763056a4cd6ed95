package service

import (
	"bufio"
	"context"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// A bootState is the meaning of a word of `systemctl is-enabled` for enable.
type bootState struct {
	boots bool // started at boot, or when others need it: enable: true needs no change
	off   bool // enable: false needs no change
	fixed bool // neither enable nor disable changes the word
}

// bootStates has the words of systemctl(1). A test compares them with the table in examples/details.md.
var bootStates = map[string]bootState{
	"enabled":         {boots: true},
	"enabled-runtime": {}, // until the next boot
	"linked":          {off: true},
	"linked-runtime":  {off: true},
	"alias":           {boots: true},
	"masked":          {off: true},
	"masked-runtime":  {off: true},
	"static":          {boots: true, fixed: true},
	"indirect":        {boots: true, fixed: true}, // without Also=: it has another name
	"disabled":        {off: true},
	"generated":       {boots: true, fixed: true},
	"transient":       {boots: true, fixed: true},
	"bad":             {off: true},
	"":                {off: true},
}

// enabling is the meaning of the unit's word. For a unit with Also=, the state of the other units counts.
func (u unit) enabling() bootState {
	if u.also {
		return bootState{boots: u.linked, off: !u.linked}
	}
	state, known := bootStates[u.fileState]
	if !known { // a word of a later systemd
		return bootState{off: true}
	}
	return state
}

// enabled reports whether enable: true needs no change.
func (u unit) enabled() bool { return u.enabling().boots }

// disabled reports whether enable: false needs no change.
func (u unit) disabled() bool { return u.enabling().off }

// indirect finds out whether the units of Also= are enabled, which systemctl enables and disables in place of this one.
// is-enabled --full lists the links that disable would remove.
func (systemd) indirect(ctx context.Context, h modules.Host, u unit) (unit, error) {
	if u.fileState != "indirect" || u.file == "" {
		return u, nil
	}
	file, err := h.Files.Open(u.file)
	if err != nil {
		return u, modules.PermissionRefusal(err)
	}
	defer file.Close()
	section := ""
	for lines := bufio.NewScanner(file); lines.Scan() && !u.also; {
		line := strings.TrimSpace(lines.Text())
		key, value, _ := strings.Cut(line, "=")
		switch {
		case strings.HasPrefix(line, "["):
			section = line
		case section == "[Install]" && strings.TrimSpace(key) == "Also":
			u.also = strings.TrimSpace(value) != ""
		}
	}
	if !u.also {
		return u, nil
	}
	exit, err := query(ctx, h, true, systemctl("is-enabled", "--full", "--", u.id)...)
	u.linked = exit.Code == 0 && strings.Contains(strings.TrimSpace(exit.Stdout.Text), "\n")
	return u, err
}
