package debconf

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// A Debconf is the answer to one question of a package. Check reads debconf's files, so that it starts no program and
// takes no lock.
type Debconf struct {
	Name        string `json:"name" text:"argument" required:"true" looks:"^[^ ]+$" doc:"the question, such as postfix/main_mailer_type"`
	Package     string `json:"package" required:"true" looks:"^[a-z0-9][a-z0-9.+-]*$" doc:"package that owns the question"`
	Ensure      string `json:"ensure,omitempty" enum:"present,absent" default:"present" doc:"absent: the package's answer is removed"`
	Type        string `json:"type,omitempty" enum:"string,boolean,select,multiselect,note,text,title" doc:"of the question, as the templates of the package have it"`
	Value       string `json:"value,omitempty" doc:"the answer, on one line; of a select one of its choices, of a multiselect several with commas between them"`
	Password    string `json:"password,omitempty" secret:"true" doc:"the answer to a question of type password, instead of type and value; never printed"`
	Seen        *bool  `json:"seen,omitempty" doc:"false: the question is marked as unseen, so that the package may show it; default: true"`
	LockTimeout string `json:"lock_timeout,omitempty" pattern:"^[0-9]+[smh]$" default:"2m" doc:"how long to wait while another process uses the database of debconf"`
}

const (
	present = "present"
	absent  = "absent"

	password = "password" // a type of question
)

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "debconf",
		Doc: "Keeps the answer to a question of a Debian package. If the package is not installed yet, its installation uses the " +
			"answer. An installed package uses it when it is configured again (dpkg-reconfigure).",
		New: func() modules.Resource { return new(Debconf) },
	}
}

// Requires implements [modules.Requirer].
func (d *Debconf) Requires() modules.Requirements { return modules.Requirements{FullProgram: true} }

var packageShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9.+-]*$`) })

// Validate implements [modules.Resource].
func (d *Debconf) Validate() error {
	var errs []error
	if strings.ContainsAny(d.Name, " \t\r\n\\") || strings.HasPrefix(d.Name, "#") {
		errs = append(errs, modules.Errorf("name", "%q is not a name of a question", d.Name))
	}
	if d.Package != "" && !packageShape().MatchString(d.Package) {
		errs = append(errs, modules.Errorf("package", "%q is not a package name", d.Package))
	}
	switch {
	case d.Ensure == absent:
		for property, given := range map[string]bool{"type": d.Type != "", "value": d.Value != "", "password": d.Password != "", "seen": d.Seen != nil} {
			if given {
				errs = append(errs, modules.Errorf(property, "'%s' is about a question that is present", property))
			}
		}
	case d.Password != "" && (d.Type != "" || d.Value != ""):
		errs = append(errs, modules.Errorf("password", "'password' takes the place of 'type' and 'value'"))
	case d.Password == "" && d.Type == "":
		errs = append(errs, &modules.PropertyError{Path: "type", Msg: `"type" cannot be empty`, Hint: `write "type" (such as string, boolean or select) and "value", or write "password"`})
	case d.Type == "boolean" && d.Value != "" && d.Value != "true" && d.Value != "false":
		errs = append(errs, modules.Errorf("value", "%q is neither true nor false, which a boolean is", d.Value))
	}
	return errors.Join(append(errs, validateAnswer("value", d.Value), validateAnswer("password", d.Password))...)
}

// validateAnswer refuses answers that debconf would change, since it interprets blanks and continued lines.
func validateAnswer(property, answer string) error {
	switch {
	case strings.ContainsAny(answer, "\r\n\x00"):
		return modules.Errorf(property, "an answer is one line")
	case strings.TrimSpace(answer) != answer:
		return modules.Errorf(property, "debconf keeps no blanks around an answer")
	case strings.HasSuffix(answer, `\`) || strings.Contains(answer, `\n`):
		return modules.Errorf(property, "debconf cannot store a backslash at the end of a value, or before the letter n")
	}
	return nil
}

func (d *Debconf) typ() string {
	if d.Password != "" {
		return password
	}
	return d.Type
}

func (d *Debconf) answer() string { return d.Value + d.Password }

func (d *Debconf) seen() bool { return d.Seen == nil || *d.Seen }

// wait is how long to wait for another user of the database.
func (d *Debconf) wait() time.Duration {
	wait, _ := time.ParseDuration(d.LockTimeout) // the tag has found it right
	return wait
}

func (d *Debconf) owns(q question) bool { return slices.Contains(q.owners, d.Package) }
