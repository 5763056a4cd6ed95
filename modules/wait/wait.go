package wait

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	shellquote "github.com/kballard/go-shellquote"

	"github.com/ccm-push/ccm-push/modules"
)

// A Wait is one condition, and how long it may take. It behaves like Ansible's wait_for, with intended exceptions: a
// port, a path, a URL and a command each are one condition, and a redirection of a URL is an answer and not followed,
// since only the author decides which servers a host talks to.
type Wait struct {
	Name     string `json:"name" required:"true" doc:"purpose of the wait, in words"`
	Ensure   string `json:"ensure,omitempty" enum:"present,absent" default:"present" doc:"absent: until the port is closed, the path gone, no line like that in it, no such answer given, or the command fails"`
	Port     int    `json:"port,omitempty" doc:"a TCP port that takes connections"`
	Host     string `json:"host,omitempty" text:"argument" with:"port" default:"127.0.0.1" doc:"name or address whose port it is, as the managed host sees it"`
	Path     string `json:"path,omitempty" looks:"^/" doc:"absolute path of a file or directory; links are followed"`
	Line     string `json:"line,omitempty" with:"path" doc:"regular expression that a line of the file at path matches"`
	URL      string `json:"url,omitempty" secret:"url" looks:"^https?://" doc:"a URL that answers"`
	Status   []int  `json:"status,omitempty" with:"url" doc:"accepted status codes; default: 200 to 299"`
	Command  string `json:"command,omitempty" doc:"a command that only looks, split at blanks with shell quoting but without a shell; it ends with 0"`
	Timeout  string `json:"timeout,omitempty" default:"5m" looks:"^([0-9.]+(ms|s|m|h))+$" doc:"how long to wait at most"`
	Interval string `json:"interval,omitempty" default:"1s" looks:"^([0-9.]+(ms|s|m|h))+$" doc:"how long to wait between two looks"`
}

const (
	present = "present"
	absent  = "absent"
)

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "wait",
		Doc: "Waits until a port takes connections, a path or a line in it is there, a URL answers, or a command " +
			"succeeds, or until that is no longer so. If it is so already, it is stable.",
		New:  func() modules.Resource { return new(Wait) },
		Idle: true,
	}
}

// Requires implements [modules.Requirer].
func (w *Wait) Requires() modules.Requirements { return modules.Requirements{FullProgram: true} }

// Validate implements [modules.Resource].
func (w *Wait) Validate() error {
	errs := []error{modules.ValidateLine("name", w.Name), modules.ValidatePath("path", w.Path), w.validateOne()}
	if w.Port < 0 || w.Port > 65535 {
		errs = append(errs, modules.Errorf("port", `"port" must be from 1 to 65535, not %d`, w.Port))
	}
	if strings.ContainsAny(w.Host, " /\n\r\x00") {
		errs = append(errs, modules.Errorf("host", "%q is not a host name or address", w.Host))
	}
	if _, err := regexp.Compile(w.Line); err != nil {
		errs = append(errs, modules.Errorf("line", "%v", err))
	}
	if w.URL != "" {
		errs = append(errs, validateURL(w.URL))
	}
	for i, code := range w.Status {
		if code < 100 || code > 599 {
			errs = append(errs, modules.Errorf(fmt.Sprintf("status[%d]", i), "%d is outside 100-599", code))
		}
	}
	if w.Command != "" {
		if words, err := shellquote.Split(w.Command); err != nil || len(words) == 0 || words[0] == "" {
			errs = append(errs, &modules.PropertyError{
				Path: "command", Msg: fmt.Sprintf("%q is not a command", w.Command), Hint: "close the quote, or put a backslash before the quote",
			})
		}
	}
	_, timeout := duration("timeout", w.Timeout, 5*time.Minute)
	_, interval := duration("interval", w.Interval, time.Second)
	return errors.Join(append(errs, timeout, interval)...)
}

// validateOne requires exactly one condition.
func (w *Wait) validateOne() error {
	var given []string
	for _, one := range []struct {
		name  string
		given bool
	}{{"port", w.Port != 0}, {"path", w.Path != ""}, {"url", w.URL != ""}, {"command", w.Command != ""}} {
		if one.given {
			given = append(given, one.name)
		}
	}
	switch len(given) {
	case 0:
		return &modules.PropertyError{Msg: "nothing is waited for", Hint: `write "port", "path", "url" or "command"`}
	case 1:
		return nil
	}
	return &modules.PropertyError{Path: given[1], Msg: strings.Join(given, " and ") + " are two conditions", Hint: "write a resource for each"}
}

func validateURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || !slices.Contains([]string{"http", "https"}, u.Scheme) || u.Host == "" {
		return &modules.PropertyError{Path: "url", Msg: "this is not an http or https URL", Hint: "write one such as http://127.0.0.1:8080/health"}
	}
	return nil
}

// duration reads a property that is a duration; an empty text means otherwise.
func duration(property, text string, otherwise time.Duration) (time.Duration, error) {
	if text == "" {
		return otherwise, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 10*time.Millisecond || d > 24*time.Hour {
		return 0, &modules.PropertyError{
			Path: property, Msg: fmt.Sprintf("invalid duration %q", text), Hint: "write a duration from 10ms to 24h, such as 500ms, 10s or 5m",
		}
	}
	return d, nil
}

// what describes the condition, for people. It contains no part of a URL that may be a secret.
func (w *Wait) what() string {
	switch {
	case w.Port != 0:
		return fmt.Sprintf("port %d of %s", w.Port, cmp.Or(w.Host, "127.0.0.1"))
	case w.Line != "":
		return fmt.Sprintf("a line like %s in %s", w.Line, w.Path)
	case w.Path != "":
		return w.Path
	case w.URL != "":
		u, err := url.Parse(w.URL)
		if err != nil { // Validate has seen it
			return "the URL"
		}
		return u.Scheme + "://" + u.Host + u.Path
	}
	return "the command " + w.Command
}

// until describes the condition as the end of a sentence: "for /run/app", "for the end of /run/app".
func (w *Wait) until() string {
	if w.Ensure == absent {
		return "for the end of " + w.what()
	}
	return "for " + w.what()
}
