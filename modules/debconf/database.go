package debconf

import (
	"bufio"
	"io"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// effect is the kind of effect that a question has: Key is its name, State a [question].
const effect modules.EffectKind = "debconf"

// A question is a host's record of a question. The zero question is one that no package has.
type question struct {
	owners   []string // packages that have the question
	value    string
	seen     bool
	password bool // its answer is in the file of passwords
}

func (q question) there() bool { return len(q.owners) > 0 }

// The files of debconf, unless its configuration names others (debconf.conf(5)): answers, and answers that only root
// may read.
const (
	answers   = "/var/cache/debconf/config.dat"
	passwords = "/var/cache/debconf/passwords.dat"
)

// look returns the host's state of the question, or the predicted one.
func (d *Debconf) look(h modules.Host) (question, error) {
	if state, ok := h.Forecast.Lookup(effect, d.Name); ok {
		return state.(question), nil
	}
	if !modules.HasProgram(h.Files, "", "debconf-set-selections") {
		return question{}, modules.Refuse("this host has no debconf-set-selections; the type debconf needs Debian or a derivative")
	}
	files := []string{answers, passwords}
	if d.Password != "" {
		files = []string{passwords, answers}
	}
	for _, name := range files {
		q, err := d.read(h.Files.Knowing(effect), name)
		if err != nil {
			return question{}, err
		}
		if q.there() {
			q.password = name == passwords
			return q, d.fits(q)
		}
	}
	return question{}, nil
}

// fits refuses to make a password of a question of another type, whose answer all may read, or the other way round.
func (d *Debconf) fits(q question) error {
	switch {
	case q.password && d.Type != "":
		return modules.Refuse(`the question %s has the type password; write the property "password" instead of "type" and "value"`, d.Name)
	case !q.password && d.Password != "":
		return modules.Refuse(`%s is not a question of type password; write "type" and "value"`, d.Name)
	}
	return nil
}

// maxDatabase bounds a file of debconf, in bytes.
const maxDatabase = 64 << 20

// read looks for the question in a file of debconf: paragraphs with a field a line.
//
//	Name: postfix/main_mailer_type
//	Template: postfix/main_mailer_type
//	Value: Internet Site
//	Owners: postfix
//	Flags: seen
func (d *Debconf) read(files modules.FileReader, name string) (question, error) {
	file, err := files.Open(name)
	switch {
	case modules.NotThere(err):
		return question{}, nil
	case err != nil:
		return question{}, modules.PermissionRefusal(err)
	}
	defer file.Close()
	var q question
	mine := false
	lines := bufio.NewScanner(io.LimitReader(file, maxDatabase))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		field, text, _ := strings.Cut(lines.Text(), ":")
		text = strings.TrimSpace(text)
		switch {
		case field == "Name":
			if mine {
				return q, nil
			}
			mine = text == d.Name
		case !mine:
		case field == "Value":
			q.value = text
		case field == "Owners":
			q.owners = list(text)
		case field == "Flags":
			q.seen = slices.Contains(list(text), "seen")
		}
	}
	return q, lines.Err()
}

// list takes names apart that have commas between them.
func list(text string) []string {
	var all []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			all = append(all, name)
		}
	}
	return all
}
