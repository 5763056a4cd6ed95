package accounts

import (
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// Defaults are the defaults of useradd for a new user (login.defs(5), useradd(8)).
type Defaults struct {
	PrivateGroups bool        // a new user gets a group of the same name
	Base          string      // the directory of homes
	Skel          string      // directory with the first files of a new home
	HomeMode      fs.FileMode // mode of a new home
	Shell         string
	MailDir       string // the directory of mailboxes; empty if a new user gets none
}

// ReadDefaults reads login.defs and /etc/default/useradd.
func ReadDefaults(files modules.FileReader) (Defaults, error) {
	defs, err := read(files, "/etc/login.defs")
	if err == nil && defs == "" {
		defs, err = read(files, "/usr/etc/login.defs") // openSUSE
	}
	if err != nil {
		return Defaults{}, err
	}
	useradd, err := read(files, "/etc/default/useradd")
	return ParseDefaults(defs, useradd), err
}

// ParseDefaults reads the texts of login.defs and /etc/default/useradd.
func ParseDefaults(defs, useradd string) Defaults {
	d := Defaults{Base: "/home", Skel: "/etc/skel", HomeMode: 0o755, Shell: "/bin/sh", MailDir: "/var/mail"}
	var homeMode bool
	settings(defs, " \t", func(key, value string) {
		mode, err := strconv.ParseUint(value, 8, 9)
		switch {
		case key == "USERGROUPS_ENAB":
			d.PrivateGroups = strings.EqualFold(value, "yes")
		case key == "MAIL_DIR" && path.IsAbs(value):
			d.MailDir = path.Clean(value)
		case key == "HOME_MODE" && err == nil:
			d.HomeMode, homeMode = fs.FileMode(mode), true
		case key == "UMASK" && err == nil && !homeMode:
			d.HomeMode = 0o777 &^ fs.FileMode(mode)
		}
	})
	settings(useradd, "=", func(key, value string) {
		switch {
		case key == "CREATE_MAIL_SPOOL" && strings.EqualFold(value, "no"): // without it, it depends on the version
			d.MailDir = ""
		case !path.IsAbs(value):
		case key == "HOME":
			d.Base = path.Clean(value)
		case key == "SKEL":
			d.Skel = path.Clean(value)
		case key == "SHELL":
			d.Shell = path.Clean(value)
		}
	})
	return d
}

// settings calls set with each key and value of a file that has one a line.
func settings(text, separators string, set func(key, value string)) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if i := strings.IndexAny(line, separators); i > 0 && line[0] != '#' {
			set(line[:i], strings.Trim(strings.TrimSpace(line[i+1:]), `"`))
		}
	}
}

// Shells are the paths that shells(5) lists.
func Shells(files modules.FileReader) (map[string]bool, error) {
	text, err := read(files, "/etc/shells")
	shells := map[string]bool{}
	for line := range strings.Lines(text) {
		shells[strings.TrimSpace(line)] = true
	}
	return shells, err
}
