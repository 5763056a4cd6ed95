package sudoers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/file"
)

// A Sudoers is a file in /etc/sudoers.d. visudo reads its text before a run writes it, in check runs
// too, so a mistake changes nothing and a prediction is certain.
type Sudoers struct {
	Name   string   `json:"name" text:"argument" required:"true" looks:"^[^./~]+$" doc:"the name of the file in /etc/sudoers.d; sudo reads none with a dot in it, or a ~ at its end"`
	Ensure string   `json:"ensure,omitempty" enum:"present,absent" default:"present" doc:"whether the rules are there"`
	Rules  []string `json:"rules,omitempty" doc:"the lines, such as deploy ALL=(root) NOPASSWD: /usr/bin/systemctl reload nginx; required for present"`
	Path   string   `json:"path,omitempty" looks:"^/" doc:"absolute path of the folder; default: /etc/sudoers.d"`
	// Was, set if the resource undoes another one, is the earlier file.
	Was *file.File `json:"was,omitempty" wire:"only"`

	informed modules.Circumstances
	main     string // in place of /etc/sudoers
}

const (
	present = "present"
	absent  = "absent"
)

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "sudoers",
		Doc: "Keeps a file of rules of sudo, or keeps it away. It belongs to root with mode 0440, and visudo " +
			"has read the rules before they are written.",
		New: func() modules.Resource { return new(Sudoers) },
	}
}

// Requires implements [modules.Requirer].
func (s *Sudoers) Requires() modules.Requirements { return modules.Requirements{FullProgram: true} }

// Inform implements [modules.Informed].
func (s *Sudoers) Inform(c modules.Circumstances) { s.informed = c }

// Validate implements [modules.Resource].
func (s *Sudoers) Validate() error {
	errs := []error{modules.ValidatePath("path", s.Path)}
	if strings.ContainsAny(s.Name, "/.\n\x00") || strings.HasSuffix(s.Name, "~") {
		errs = append(errs, &modules.PropertyError{Path: "name", Msg: fmt.Sprintf("sudo reads no file that is called %q", s.Name), Hint: "write a name without slashes and dots, and without a ~ at its end"})
	}
	if s.Ensure != absent && len(s.Rules) == 0 && s.Was == nil {
		errs = append(errs, modules.Errorf("rules", `"rules" cannot be empty`))
	}
	for n, rule := range s.Rules {
		property := "rules[" + strconv.Itoa(n) + "]"
		errs = append(errs, modules.ValidateLine(property, rule))
		if strings.HasSuffix(rule, `\`) {
			errs = append(errs, modules.Errorf(property, "a rule is one line, so a backslash cannot continue it"))
		}
	}
	return errors.Join(errs...)
}

// text returns the content of the file.
func (s *Sudoers) text() string { return strings.Join(s.Rules, "\n") + "\n" }

// file returns the desired file.
func (s *Sudoers) file() *file.File {
	f := &file.File{Ensure: absent}
	switch {
	case s.Was != nil:
		f = s.Was
	case s.Ensure != absent:
		f = &file.File{Ensure: present, Content: modules.TextContent(s.text()), Owner: "root", Group: rootGroup, Mode: "0440"}
	}
	f.Name = s.at()
	f.Inform(s.informed)
	return f
}

// rootGroup is the group of root by its number, since not all systems call it root.
const rootGroup = "0"

func (s *Sudoers) at() string { return path.Join(cmp.Or(s.Path, defaultDir), s.Name) }

// visudoEffect is the kind of effect that visudo reads. No other type plans it: visudo reads its standard input, and other files
// only if /etc/sudoers includes more than the folder.
const visudoEffect modules.EffectKind = "visudo"

// visudoTimeout limits a call of visudo, which looks up no host names.
const visudoTimeout = time.Minute

// Check implements [modules.Resource].
func (s *Sudoers) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	plan, err := s.file().Check(ctx, h)
	if err != nil || s.Was != nil || s.Ensure == absent {
		return plan, err
	}
	lines, included := s.merged(h.Files, s.Rules)
	h.Warn(func(h modules.Host) string { return s.overridden(h, lines, included) })
	if !plan.Pending() {
		return plan, nil
	}
	if !modules.HasProgram(h.Files, "", "visudo") {
		return modules.Plan{}, modules.Refuse("visudo is not found in %s; install the package sudo first", modules.DefaultPath)
	}
	exit, err := s.visudo(ctx, h, s.text())
	switch {
	case err != nil:
		return modules.Plan{}, err
	case exit.Code != 0:
		return modules.Plan{}, &refused{s.inRules(said(exit))}
	}
	if included {
		err = s.among(ctx, h, lines)
	}
	return plan, err
}

// visudo lets visudo read a text.
func (s *Sudoers) visudo(ctx context.Context, h modules.Host, text string) (modules.Exit, error) {
	return h.Commands.Probe(ctx, modules.Command{Argv: []string{"visudo", "-cf", "-"}, Stdin: text, Reads: visudoEffect, Timeout: visudoTimeout})
}

// refused is the first mistake that visudo finds in the rules.
type refused struct{ mistake string }

func (r *refused) Error() string { return r.Redacted() + ": " + r.mistake }

// Redacted implements [modules.Redactor].
func (r *refused) Redacted() string { return "visudo refuses the rules" }

// inRules replaces the line in a mistake LINE:COLUMN: TEXT by the number and text of the rule:
// the text that visudo reads is in no file.
func (s *Sudoers) inRules(mistake string) string {
	var line, column int
	if n, _ := fmt.Sscanf(mistake, "%d:%d:", &line, &column); n < 2 || line < 1 || line > len(s.Rules) {
		return mistake
	}
	text := mistake[strings.Index(mistake, ": ")+2:]
	return fmt.Sprintf("rule %d, column %d: %s\n    %s", line, column, text, s.Rules[line-1])
}

// said returns the first line that visudo prints, without its decoration.
func said(exit modules.Exit) string {
	line, _, _ := strings.Cut(strings.TrimSpace(cmp.Or(strings.TrimSpace(exit.Stderr.Text), exit.Stdout.Text)), "\n")
	return strings.TrimPrefix(strings.TrimPrefix(line, ">>> "), "stdin:")
}

// Apply implements [modules.Resource].
func (s *Sudoers) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	return s.file().Apply(ctx, h, p)
}
