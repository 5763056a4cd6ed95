package service

import (
	"errors"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// A Service is a unit of systemd or a service of OpenRC. It behaves like CCM's service resource, with intended
// exceptions:
//   - instances of templates, "app@1", and escaped names are accepted;
//   - a unit that does not exist counts as stopped and disabled, where CCM fails;
//   - a service that dies within half a second of its start has failed;
//   - a unit of Type=oneshot that has ended well counts as running, as long as systemd remembers it;
//   - an impossible state (a masked unit that runs, a static one that is disabled) is refused before any change;
//   - a unit file that has changed is read again, and that is reported.
//
// `reload`, `masked`, `timeout`, `refreshonly` and `action` are ours.
type Service struct {
	Name   string `json:"name" text:"argument" required:"true" looks:"^([a-zA-Z0-9._+:~@-]|\\\\x[0-9a-f]{2})+$" doc:"name of the unit; without a suffix such as .timer it is a .service"`
	Ensure string `json:"ensure,omitempty" event:"no" enum:"running,stopped" default:"running" doc:"whether the service runs"`
	Enable *bool  `json:"enable,omitempty" event:"no" doc:"start at boot; default: unchanged"`
	Masked *bool  `json:"masked,omitempty" event:"no" doc:"masked: systemd never starts it; default: unchanged"`
	Reload bool   `json:"reload,omitempty" doc:"after a change of a subscribed resource, reload instead of restart, if the service can and its unit file is the same"`
	modules.Event
	Action   string `json:"action,omitempty" event:"only" enum:"restart,reload,start,stop,restarted,reloaded" adhoc:"add refreshonly: true; or write ensure: running, and list under subscribe the resources whose changes must restart the service" doc:"action of an event; default: restart, or reload with reload: true. Ad hoc, restart and reload also start a stopped service"`
	Provider string `json:"provider,omitempty" enum:"systemd,openrc" doc:"service manager; default: the host's"`
	Timeout  string `json:"timeout,omitempty" default:"90s" looks:"^([0-9.]+(ms|s|m|h))+$" doc:"limit for starting, stopping and reloading, each"`

	seen unit // result of Check
}

// The values of ensure.
const (
	running = "running"
	stopped = "stopped"
)

// The values of action. The first two have another spelling each.
const (
	toRestart = modules.ActionRestart
	toReload  = modules.ActionReload
	toStart   = "start"
	toStop    = "stop"

	restarted = "restarted"
	reloaded  = "reloaded"
)

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "service",
		Doc:  "Starts or stops a service, enables or disables it at boot, and restarts or reloads it when a subscribed resource has changed.",
		New:  func() modules.Resource { return new(Service) },
	}
}

// Validate implements [modules.Resource].
func (s *Service) Validate() error {
	_, err := s.timeout()
	return errors.Join(validateName(s), err, validateMasked(s), validateAction(s))
}

func validateAction(s *Service) error {
	action := actionOf(s)
	switch {
	case s.RefreshOnly:
		return nil
	case action == toStart:
		return &modules.PropertyError{Path: "action", Msg: `"action: start" is for events`, Hint: "write ensure: running, or add refreshonly: true"}
	case action == toStop:
		return &modules.PropertyError{Path: "action", Msg: `"action: stop" is for events`, Hint: "write ensure: stopped, or add refreshonly: true"}
	case action != "" && s.Ensure == stopped:
		return modules.Errorf("action", "a service that is %sed cannot stay stopped", action)
	}
	return nil
}

// actionOf returns the action in its first spelling.
func actionOf(s *Service) string {
	switch s.Action {
	case restarted:
		return toRestart
	case reloaded:
		return toReload
	}
	return s.Action
}

// maxName is how long the name of a unit may be, in bytes (systemd.unit(5)).
const maxName = 255

// dangerous are characters with a special meaning in a shell.
const dangerous = ";&|$`()[]{}<>*?'\"!\n\r\t"

// wellNamed reports whether a name has only allowed characters: the characters that CCM allows, @ before the instance
// of a template, and escapes of systemd-escape(1) for any other character.
func wellNamed(name string) bool {
	const hex = "0123456789abcdef"
	for name != "" {
		c := name[0]
		switch {
		case strings.HasPrefix(name, `\x`) && len(name) >= 4 && strings.IndexByte(hex, name[2]) >= 0 && strings.IndexByte(hex, name[3]) >= 0:
			name = name[4:]
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("._+:~@-", c) >= 0:
			name = name[1:]
		default:
			return false
		}
	}
	return true
}

func validateName(s *Service) error {
	name, _ := splitSuffix(s.Name)
	switch {
	case s.Name == "":
		return nil // the tag reports it
	case strings.ContainsAny(s.Name, dangerous):
		return modules.Errorf("name", "service name contains dangerous characters: %q", s.Name)
	case !wellNamed(s.Name):
		return modules.Errorf("name", `service name contains invalid characters: %q (allowed: alphanumeric, ._+:~-@ and escapes such as \x2d)`, s.Name)
	case strings.Trim(s.Name, ".") == "":
		return modules.Errorf("name", "%q is not a service name", s.Name)
	case len(s.Name) > maxName:
		return modules.Errorf("name", "service name has %d characters, and at most %d are possible", len(s.Name), maxName)
	case strings.HasSuffix(name, "@"):
		return &modules.PropertyError{
			Path: "name", Msg: s.Name + " is a systemd template, which needs an instance name", Hint: "add an instance name, such as " + name + "1",
		}
	}
	return nil
}

// Bounds of the timeout.
const (
	minTimeout = time.Second
	maxTimeout = 24 * time.Hour
)

// timeout is how long one call of the service manager may take; 0 if it is not known yet.
func (s *Service) timeout() (time.Duration, error) {
	if s.Timeout == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(s.Timeout)
	if err != nil || d < minTimeout || d > maxTimeout {
		return 0, &modules.PropertyError{
			Path: "timeout",
			Msg:  "invalid timeout " + quote(s.Timeout),
			Hint: "write a duration from 1s to 24h, such as 30s or 5m",
		}
	}
	return d, nil
}

func validateMasked(s *Service) error {
	switch {
	case s.Masked == nil:
		return nil
	case s.Provider == openRC:
		return modules.Errorf("masked", "OpenRC has no masked services")
	case !*s.Masked:
		return nil
	case s.Ensure != stopped:
		return &modules.PropertyError{Path: "masked", Msg: "a masked service cannot run", Hint: "write ensure: stopped"}
	case s.Enable != nil && *s.Enable:
		return &modules.PropertyError{Path: "masked", Msg: "a masked service cannot be enabled", Hint: `remove "enable"`}
	}
	return nil
}

func is(b *bool, value bool) bool { return b != nil && *b == value }
