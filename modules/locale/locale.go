package locale

import (
	"cmp"
	"errors"
	"regexp"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// A Locale is a locale that programs of the host can use. If the host has locale-gen, as on Debian and Arch, it is
// generated, and listed in /etc/locale.gen; elsewhere packages contain locales, such as glibc-langpack-de.
type Locale struct {
	Name    string `json:"name" required:"true" doc:"the locale, such as de_DE.UTF-8, as locale -a or /usr/share/i18n/SUPPORTED has it"`
	Ensure  string `json:"ensure,omitempty" enum:"present,absent" default:"present" doc:"whether the host has it"`
	Default bool   `json:"default,omitempty" doc:"true: it is the default locale (LANG) of programs and logins"`
	// Restore is set if the resource undoes another one.
	Restore map[string]*edit.Restore `json:"restore,omitzero" wire:"only"`
}

const (
	present = "present"
	absent  = "absent"

	listFile    = "/etc/locale.gen"
	archive     = "/usr/lib/locale"
	supported   = "/usr/share/i18n/SUPPORTED"
	commonFile  = "/etc/locale.conf"    // locale.conf(5)
	defaultFile = "/etc/default/locale" // Debian's file, which may be a link to the other one
)

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "locale",
		Doc: "Keeps a locale generated, and the default one. Programs that run keep the locale that they have begun " +
			"with, and so do logins.",
		New: func() modules.Resource { return new(Locale) },
	}
}

// Requires implements [modules.Requirer].
func (l *Locale) Requires() modules.Requirements { return modules.Requirements{FullProgram: true} }

var nameShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.@-]*$`) })

// Validate implements [modules.Resource].
func (l *Locale) Validate() error {
	var errs []error
	if l.Name != "" && !nameShape().MatchString(l.Name) {
		errs = append(errs, &modules.PropertyError{Path: "name", Msg: "this is not a locale", Hint: "write its name alone, such as de_DE.UTF-8"})
	}
	if l.Default && l.Ensure == absent {
		errs = append(errs, modules.Errorf("default", "a locale that is absent is not the default one"))
	}
	return errors.Join(errs...)
}

// spelling is a name in which the spellings of its character set are one, as in the C library: de_DE.utf8.
func spelling(name string) string {
	language, set, _ := strings.Cut(name, ".")
	set, variant, _ := strings.Cut(set, "@")
	set = strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return -1
	}, set)
	if set != "" {
		language += "." + set
	}
	if variant != "" {
		language += "@" + variant
	}
	return language
}

// inside reports whether the C library has the locale always.
func (l *Locale) inside() bool {
	switch spelling(l.Name) {
	case "C", "POSIX", "C.utf8":
		return true
	}
	return false
}

// generates describes how the host generates its locales.
type generates struct {
	yes     bool   // by locale-gen
	charset string // charset to generate it with; empty if the locale is unknown there
	debian  bool
}

// files are the files to edit, with links resolved.
func (l *Locale) files(files modules.FileReader, by generates) (edit.Files, error) {
	var all edit.Files
	if by.yes && !l.inside() {
		all = append(all, &edit.File{Path: listFile, Optional: l.Ensure == absent, Create: true, Mode: "0644", Edit: func(t *edit.Text) (edit.Done, error) {
			return l.list(t, by.charset)
		}})
	}
	if l.Default || l.Restore != nil {
		path := commonFile
		if by.debian {
			at, _, err := modules.Resolve(files, defaultFile)
			if err != nil && !modules.NotThere(err) {
				return nil, modules.PermissionRefusal(err)
			}
			path = cmp.Or(at, defaultFile)
		}
		all = append(all, &edit.File{Path: path, Create: true, Mode: "0644", Edit: l.choose})
	}
	return all.Restoring(l.Restore), nil
}

// list edits the text of /etc/locale.gen: the locale stays in its first place, which may be a comment.
func (l *Locale) list(t *edit.Text, charset string) (edit.Done, error) {
	want := l.Name + " " + charset
	var on, off []int
	for i, line := range t.Lines {
		words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line.Text), "#"))
		switch {
		case len(words) != 2 || spelling(words[0]) != spelling(l.Name):
		case strings.HasPrefix(strings.TrimSpace(line.Text), "#"):
			off = append(off, i)
		default:
			on = append(on, i)
		}
	}
	done := func(have, want string) (edit.Done, error) {
		return edit.Done{Action: "listed", Changes: []modules.Change{{Property: "locale.gen", Have: have, Want: want}}}, nil
	}
	switch {
	case l.Ensure == absent && len(on) == 0, l.Ensure != absent && len(on) > 0:
		return edit.Done{}, nil
	case l.Ensure == absent:
		have := strings.TrimSpace(t.Lines[on[0]].Text)
		for _, i := range on {
			t.Lines[i].Text = "# " + strings.TrimSpace(t.Lines[i].Text)
		}
		return done(have, absent)
	case len(off) > 0:
		t.Lines[off[0]].Text = want
	default:
		t.Insert(len(t.Lines), want)
	}
	return done(absent, want)
}

// choose edits the text with the default locale.
func (l *Locale) choose(t *edit.Text) (edit.Done, error) {
	want, have := "LANG="+l.Name, ""
	changed := t.KeepLine(want, func(line string) (string, bool) {
		value, ok := strings.CutPrefix(strings.TrimSpace(line), "LANG=")
		if !ok {
			return "", false
		}
		if have = strings.Trim(value, `"'`); spelling(have) != spelling(l.Name) { // the last one counts
			line = want
		}
		return line, true
	})
	if !changed {
		return edit.Done{}, nil
	}
	return edit.Done{Action: "chosen", Changes: []modules.Change{{Property: "default", Have: edit.Shown(cmp.Or(have, "none")), Want: l.Name}}}, nil
}
