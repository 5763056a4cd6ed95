package health

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	shellquote "github.com/kballard/go-shellquote"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/health/goss"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A Check is a health check of a manifest: a command that answers like plugins of Nagios, or rules of goss.
//
// It behaves like CCM's, except for the defaults of try_sleep (CCM means one second, and does not wait) and timeout
// (CCM waits for ever), and a command that exceeds its timeout is UNKNOWN, and tried again.
type Check struct {
	Command   string         `json:"command,omitempty" doc:"a command, split at blanks with shell quoting but without a shell; it ends with 0 for OK, 1 for WARNING, 2 for CRITICAL, anything else for UNKNOWN"`
	GossRules map[string]any `json:"goss_rules,omitempty" doc:"rules as in a file of goss"`
	Name      string         `json:"name,omitempty" doc:"its name in reports; default: the command without the folder of its program, or goss"`
	Format    string         `json:"format,omitempty" enum:"nagios,goss" doc:"default: nagios for a command, goss for goss_rules"`
	Tries     *int           `json:"tries,omitempty" doc:"maximum number of tries until the result is OK; default: 1"`
	TrySleep  string         `json:"try_sleep,omitempty" default:"1s" looks:"^(0|([0-9.]+(ns|us|µs|μs|ms|s|m|h))+)$" doc:"how long to wait between tries"`
	Timeout   string         `json:"timeout,omitempty" default:"30s" looks:"^([0-9.]+(ns|us|µs|μs|ms|s|m|h))+$" doc:"how long each try may take"`
}

// Bounds of a check.
const (
	MaxChecks  = 100 // per resource
	MaxTries   = 1000
	maxSleep   = time.Hour
	minTimeout = 100 * time.Millisecond
	maxTimeout = time.Hour
	maxName    = 200 // bytes
)

const (
	nagiosFormat = "nagios"
	gossFormat   = "goss"
)

// Validate reports all errors of a check whose values are all known.
func (c *Check) Validate() error {
	_, err := c.compile()
	return err
}

// Compile returns the form of the check that is sent to a host.
func (c *Check) Compile() (wire.HealthCheck, error) { return c.compile() }

func (c *Check) compile() (wire.HealthCheck, error) {
	h := wire.HealthCheck{Name: c.Name, Tries: 1}
	var errs []error
	add := func(err error) { errs = append(errs, err) }
	add(c.question(&h))
	if c.Tries != nil {
		if h.Tries = *c.Tries; h.Tries < 1 || h.Tries > MaxTries {
			add(modules.Errorf("tries", "%d is outside 1-%d", h.Tries, MaxTries))
		}
	}
	var err error
	h.TrySleep, err = duration("try_sleep", c.TrySleep, time.Second, 0, maxSleep)
	add(err)
	h.Timeout, err = duration("timeout", c.Timeout, 30*time.Second, minTimeout, maxTimeout)
	add(err)
	if len(h.Name) > maxName {
		if h.Name = strings.ToValidUTF8(h.Name[:maxName], ""); c.Name != "" {
			add(modules.Errorf("name", "the name has more than %d characters", maxName))
		}
	}
	if strings.ContainsAny(c.Name, "\n\r\x00") {
		add(modules.Errorf("name", "the name %q is not one line", c.Name))
	}
	return h, errors.Join(errs...)
}

// question sets the command or the rules of the check.
func (c *Check) question(h *wire.HealthCheck) error {
	rules := c.GossRules != nil
	switch {
	case c.Command != "" && rules:
		return &modules.PropertyError{Path: "goss_rules", Msg: "'command' or 'goss_rules' are mutually exclusive", Hint: "write two health checks"}
	case c.Command == "" && !rules:
		return &modules.PropertyError{Msg: "'format' flag is required", Hint: `write command: PROGRAM ARGUMENT..., or "goss_rules"`}
	case c.Format == gossFormat && !rules:
		return &modules.PropertyError{Path: "format", Msg: "a command answers in the format nagios", Hint: `write "goss_rules", or remove "format"`}
	case c.Format == nagiosFormat && rules:
		return &modules.PropertyError{Path: "format", Msg: `"goss_rules" needs the format goss`, Hint: `remove "format"`}
	case rules:
		return c.rules(h)
	}
	words, err := shellquote.Split(c.Command)
	switch {
	case strings.ContainsRune(c.Command, 0):
		return modules.Errorf("command", "a command must not contain a NUL byte")
	case err != nil:
		return &modules.PropertyError{Path: "command", Msg: strings.ToLower(err.Error()), Hint: modules.QuoteHint(err)}
	case len(words) == 0 || words[0] == "":
		return modules.Errorf("command", "no command specified")
	}
	h.Argv = words
	if h.Name == "" {
		program, rest, _ := strings.Cut(strings.TrimSpace(c.Command), " ")
		h.Name = strings.Join(strings.Fields(path.Base(program)+" "+rest), " ")
	}
	return nil
}

func (c *Check) rules(h *wire.HealthCheck) error {
	if _, err := goss.Parse(c.GossRules); err != nil {
		return gossErrors(err)
	}
	b, err := json.Marshal(c.GossRules)
	if err != nil {
		return modules.Errorf("goss_rules", "%v", err)
	}
	h.Rules = b
	if h.Name == "" {
		h.Name = gossFormat
	}
	return nil
}

// gossErrors adds the property to errors in rules.
func gossErrors(err error) error {
	var errs []error
	for _, e := range goss.Errors(err) {
		errs = append(errs, &modules.PropertyError{Path: "goss_rules", Msg: e.Msg, Hint: e.Hint})
	}
	return errors.Join(errs...)
}

// duration reads a property that is a duration; an empty text means otherwise.
func duration(property, text string, otherwise, least, most time.Duration) (time.Duration, error) {
	if text == "" {
		return otherwise, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < least || d > most {
		return 0, &modules.PropertyError{
			Path: property,
			Msg:  fmt.Sprintf("invalid duration %q", text),
			Hint: fmt.Sprintf("write a duration from %s to %s, such as 500ms, 10s or 5m", short(least), short(most)),
		}
	}
	return d, nil
}

// short is a duration without the units that are zero: 1h for 1h0m0s.
func short(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	return strings.TrimSuffix(strings.TrimSuffix(d.String(), "0s"), "0m")
}
