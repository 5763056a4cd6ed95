package service

import (
	"context"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/excerpt"
)

// The values of provider.
const (
	systemD = "systemd"
	openRC  = "openrc"
)

// A manager is a program that runs services.
type manager interface {
	// look describes the unit of that name. A missing unit is not an error.
	look(ctx context.Context, h modules.Host, name string) (unit, error)
	// command is the program that does one step.
	command(u unit, v verb) []string
	// refused returns the error with which the operating system would refuse the verbs; nil if it permits them.
	refused(h modules.Host, u unit, verbs []verb) error
	// uncertain reports whether refused cannot know.
	uncertain(h modules.Host) bool
	// log returns the last lines that the service has written since then, if any.
	log(ctx context.Context, h modules.Host, u unit, since time.Time) []string
}

// A verb is one action of a manager on a unit, by systemctl's name.
type verb string

// The verbs.
const (
	reread  verb = "daemon-reload"
	forget  verb = "zap" // OpenRC: forget that a service has been started
	forgive verb = "reset-failed"
	unmask  verb = "unmask"
	stop    verb = "stop"
	disable verb = "disable"
	enable  verb = "enable"
	start   verb = "start"
	restart verb = "restart"
	reload  verb = "reload"
	mask    verb = "mask"
)

// queryTimeout bounds a question to a manager, which is answered at once unless
// the host is in trouble.
const queryTimeout = 30 * time.Second

// manager finds the service manager of the host.
func (s *Service) manager(h modules.Host) (manager, error) {
	bySystemd, err := exists(h.Files, "/run/systemd/system") // sd_booted(3)
	if err != nil {
		return nil, err
	}
	byOpenRC := false
	for _, program := range []string{"/sbin/openrc-run", "/sbin/rc-service", "/usr/sbin/rc-service", "/usr/bin/rc-service"} {
		if byOpenRC {
			break
		}
		if byOpenRC, err = exists(h.Files, program); err != nil {
			return nil, err
		}
	}
	switch {
	case s.Provider == systemD && !bySystemd:
		return nil, modules.Refuse("provider is not manageable: systemd is not the init system of this host (no directory /run/systemd/system)")
	case s.Provider == openRC && !byOpenRC:
		return nil, modules.Refuse("provider is not manageable: OpenRC is not on this host (no file /sbin/openrc-run)")
	case s.Provider == systemD || s.Provider == "" && bySystemd:
		return systemd{}, nil
	case s.Provider == openRC || byOpenRC:
		return openrc{describe: s.Reload || actionOf(s) == toReload}, nil
	}
	return nil, modules.Refuse("no suitable provider found: neither systemd nor OpenRC runs this host")
}

// exists reports whether a path exists, links followed.
func exists(files modules.FileReader, name string) (bool, error) {
	_, err := modules.Follow(files, name)
	if modules.NotThere(err) {
		return false, nil
	}
	return err == nil, err
}

// query runs a query. certain means that only changes to units can change its answer, so that in a check run other
// changes do not make it uncertain.
func query(ctx context.Context, h modules.Host, certain bool, argv ...string) (modules.Exit, error) {
	c := modules.Command{Argv: argv, Timeout: queryTimeout}
	if certain {
		c.Reads = unitEffect
	}
	return h.Commands.Probe(ctx, c)
}

// complaint returns the line of standard error with the cause.
func complaint(exit modules.Exit) string {
	last := ""
	for line := range strings.Lines(exit.Stderr.Text) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "* ") // OpenRC begins lines with a star
		if line != "" && !strings.HasPrefix(line, "See ") && !strings.HasPrefix(line, "Hint: ") {
			last = line
		}
	}
	if last == "" {
		return "it said nothing"
	}
	return clip(last)
}

// maxLine bounds a line of a host that goes into an error, in bytes.
const maxLine = 300

func clip(line string) string { return excerpt.Of(strings.ToValidUTF8(line, "\uFFFD"), maxLine) }
