package manifests

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

// A problem is an error or a warning about files, as validate prints it for programs.
type problem struct {
	Severity string `json:"severity"`       // error or warning
	File     string `json:"file,omitempty"` // none if it is about no place in a file
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
}

// problemFormats has the formats of validate in addition to text.
var problemFormats = map[string]func(*output.Printer, []problem) error{
	"json":   func(p *output.Printer, all []problem) error { return output.PrintJSON(p, all...) },
	"github": printAnnotations,
	"gitlab": printCodeQuality,
}

// problemsOf returns the warnings, and after them all errors in err.
func problemsOf(warnings []string, err error) []problem {
	var all []problem
	add := func(severity string, e *yamlpos.Error) {
		one := problem{severity, e.Path(), e.Line, e.Column, e.Msg, e.Hint}
		if msg, hint, cut := strings.Cut(e.Msg, "\n  hint: "); cut && e.Hint == "" { // of an error that another one wraps
			one.Message, one.Hint = msg, hint
		}
		if m := leadingPlace().FindStringSubmatch(one.Message); m != nil && e.File == "" {
			one.File, one.Message = m[1], m[4]
			one.Line, _ = strconv.Atoi(m[2])
			one.Column, _ = strconv.Atoi(m[3])
		}
		all = append(all, one)
	}
	for _, w := range warnings {
		add("warning", &yamlpos.Error{Msg: w})
	}
	var errs yamlpos.Errors
	errs.Add(err)
	for _, e := range errs {
		add("error", e)
	}
	return all
}

// leadingPlace finds the place in a warning, which is a text.
var leadingPlace = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)^([^\n]+?):([0-9]{1,9}):([0-9]{1,9}): (.*)$`) })

// text is the message with the hint.
func (p problem) text() string {
	text := p.Message
	if p.Hint != "" {
		text += "\nhint: " + p.Hint
	}
	return events.Block(text)
}

// pathIn returns the path of the file relative to the project folder of a CI system, which identifies files by it;
// unchanged if the file is not below that folder.
func (p problem) pathIn(project string) string {
	if project == "" || p.File == "" {
		return filepath.ToSlash(p.File)
	}
	absolute, err := filepath.Abs(p.File)
	if err != nil {
		return filepath.ToSlash(p.File)
	}
	path, err := filepath.Rel(project, absolute)
	if err != nil || !filepath.IsLocal(path) {
		return filepath.ToSlash(p.File)
	}
	return filepath.ToSlash(path)
}

// Characters with a meaning in GitHub's workflow commands, see toolkit/packages/core/src/command.ts.
var (
	githubText     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// printAnnotations prints workflow commands, which GitHub shows next to the lines of a pull request.
func printAnnotations(p *output.Printer, all []problem) error {
	var b strings.Builder
	for _, one := range all {
		var at []string
		if path := one.pathIn(p.App.Getenv("GITHUB_WORKSPACE")); path != "" {
			at = append(at, "file="+githubProperty.Replace(events.Line(path)))
			for _, n := range []struct {
				key   string
				value int
			}{{"line", one.Line}, {"col", one.Column}} {
				if n.value > 0 {
					at = append(at, fmt.Sprintf("%s=%d", n.key, n.value))
				}
			}
		}
		at = append(at, "title=ccm-push validate")
		fmt.Fprintf(&b, "::%s %s::%s\n", one.Severity, strings.Join(at, ","), githubText.Replace(one.text()))
	}
	return p.Print(b.String())
}

// A codeQualityIssue is an entry of GitLab's report: the part of the Code Climate format that GitLab reads.
type codeQualityIssue struct {
	Description string   `json:"description"`
	CheckName   string   `json:"check_name"`
	Fingerprint string   `json:"fingerprint"`
	Severity    string   `json:"severity"`
	Location    location `json:"location"`
}

type location struct {
	Path  string `json:"path"`
	Lines lines  `json:"lines"`
}

type lines struct {
	Begin int `json:"begin"`
}

// printCodeQuality prints the report as one list. GitLab omits an entry without a path and a line, so a problem without
// a file is reported for all files.
func printCodeQuality(p *output.Printer, all []problem) error {
	issues := []codeQualityIssue{}
	seen := map[string]int{}
	for _, one := range all {
		issue := codeQualityIssue{Description: one.text(), CheckName: "ccm-push validate", Severity: "minor"}
		if one.Severity == "error" {
			issue.Severity = "critical"
		}
		issue.Location.Path = cmp.Or(one.pathIn(p.App.Getenv("CI_PROJECT_DIR")), ".")
		issue.Location.Lines.Begin = max(1, one.Line)
		// Without the line: a problem that only moves is not new.
		what := strings.Join([]string{one.Severity, issue.Location.Path, one.Message}, "\x00")
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", what, seen[what]))
		seen[what]++
		issue.Fingerprint = hex.EncodeToString(sum[:16])
		issues = append(issues, issue)
	}
	text, err := printable.JSON(issues)
	if err != nil {
		return err
	}
	return p.Print(string(text) + "\n")
}
