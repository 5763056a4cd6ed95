package judge

import (
	"crypto/md5"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	shellquote "github.com/kballard/go-shellquote"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/mountinfo"
)

// maxText bounds how much of a file, a table of the kernel or a page is read, in bytes.
const maxText = 1 << 20

func (l looker) read(name string) (string, error) {
	f, err := l.host.Files.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxText))
	return string(text), err
}

// limit is the rule's timeout, which is in milliseconds, or d.
func (l looker) limit(d time.Duration) time.Duration {
	if ms := l.rule.Number("timeout"); ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	return d
}

const commandTime = 10 * time.Second // as in goss

func (l looker) command() (finder, error) {
	argv, err := shellquote.Split(l.rule.Name)
	if err != nil || len(argv) == 0 {
		return nil, fmt.Errorf("%q is not a command", l.rule.Name)
	}
	exit, err := l.host.Commands.Probe(l.ctx, modules.Command{Argv: argv, Timeout: l.limit(commandTime), Home: true})
	if err != nil {
		return nil, err
	}
	return of(map[string]any{"exit-status": float64(exit.Code), "stdout": exit.Stdout.Text, "stderr": exit.Stderr.Text}), nil
}

func (l looker) file() (finder, error) {
	name := path.Clean(l.rule.Name)
	if !path.IsAbs(name) {
		return nil, errors.New("the path is not absolute")
	}
	info, err := l.host.Files.Stat(name)
	if modules.NotThere(err) {
		return absent("exists"), nil
	}
	if err != nil {
		return nil, err
	}
	target := info
	if info.Kind == modules.Symlink { // like goss, which reads the target of a link
		if target, err = modules.Follow(l.host.Files, name); err != nil && !modules.NotThere(err) {
			return nil, err
		}
	}
	return func(attribute string) (any, error) {
		switch attribute {
		case "exists":
			return true, nil
		case "filetype":
			return string(info.Kind), nil
		case "linked-to":
			if info.Kind != modules.Symlink {
				return nil, errUnknown
			}
			return info.Target, nil
		}
		if target.Kind == "" {
			return nil, errUnknown // a link that leads nowhere
		}
		switch attribute {
		case "mode":
			return modules.FormatMode(target.Mode), nil
		case "size":
			return float64(target.Size), nil
		case "owner":
			return l.host.Accounts.UserName(l.ctx, target.UID), nil
		case "uid":
			return float64(target.UID), nil
		case "group":
			return l.host.Accounts.GroupName(l.ctx, target.GID), nil
		case "gid":
			return float64(target.GID), nil
		case "sha256":
			return l.host.Files.Digest(name)
		case "md5":
			return l.digest(name, md5.New())
		case "sha512":
			return l.digest(name, sha512.New())
		}
		return l.read(name) // contents
	}, nil
}

// digest is the hash of a file in hex.
func (l looker) digest(name string, h hash.Hash) (string, error) {
	f, err := l.host.Files.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	const part = 1 << 20
	for {
		switch _, err := io.CopyN(h, f, part); {
		case l.ctx.Err() != nil:
			return "", l.ctx.Err()
		case err == io.EOF:
			return hex.EncodeToString(h.Sum(nil)), nil
		case err != nil:
			return "", err
		}
	}
}

// entry finds the line of an account in a database such as passwd.
func (l looker) entry(database string) ([]string, error) {
	if strings.ContainsAny(l.rule.Name, ":\n") || strings.HasPrefix(l.rule.Name, "-") {
		return nil, fmt.Errorf("%q is not a valid account name", l.rule.Name)
	}
	exit, err := l.probe("getent", database, l.rule.Name)
	var text string
	switch {
	case err == nil && exit.Code == 0:
		text = exit.Stdout.Text
	case err == nil && exit.Code == 2:
		return nil, nil
	default: // a host without getent
		if text, err = l.read("/etc/" + database); err != nil {
			return nil, err
		}
	}
	for line := range strings.Lines(text) {
		if fields := strings.Split(strings.TrimSpace(line), ":"); fields[0] == l.rule.Name {
			return fields, nil
		}
	}
	return nil, nil
}

func (l looker) user() (finder, error) {
	fields, err := l.entry("passwd")
	switch {
	case err != nil:
		return nil, err
	case fields == nil:
		return absent("exists"), nil
	case len(fields) < 7:
		return nil, errors.New("its line in passwd is too short")
	}
	return func(attribute string) (any, error) {
		switch attribute {
		case "uid":
			return strconv.ParseFloat(fields[2], 64)
		case "gid":
			return strconv.ParseFloat(fields[3], 64)
		case "home":
			return fields[5], nil
		case "shell":
			return fields[6], nil
		case "groups":
			exit, err := l.probe("id", "-Gn", l.rule.Name)
			return strings.Fields(exit.Stdout.Text), err
		}
		return true, nil
	}, nil
}

func (l looker) group() (finder, error) {
	fields, err := l.entry("group")
	switch {
	case err != nil:
		return nil, err
	case fields == nil:
		return absent("exists"), nil
	case len(fields) < 3:
		return nil, errors.New("its line in group is too short")
	}
	return func(attribute string) (any, error) {
		if attribute == "gid" {
			return strconv.ParseFloat(fields[2], 64)
		}
		return true, nil
	}, nil
}

func (l looker) kernelParam() (finder, error) {
	name := strings.ReplaceAll(l.rule.Name, ".", "/")
	if strings.Contains(name, "..") {
		return nil, errors.New("unknown kernel parameter")
	}
	text, err := l.read(path.Join("/proc/sys", name))
	if errors.Is(err, fs.ErrNotExist) {
		return of(nil), nil
	}
	return of(map[string]any{"value": strings.Join(strings.Fields(text), " ")}), err
}

func (l looker) process() (finder, error) {
	names, err := l.host.Files.List("/proc")
	if err != nil {
		return nil, err
	}
	comm := l.rule.Name
	const longest = 15 // bytes, which the kernel keeps (proc(5))
	if len(comm) > longest {
		comm = comm[:longest]
	}
	for _, pid := range names {
		if _, err := strconv.Atoi(pid); err != nil {
			continue
		}
		if name, err := l.read("/proc/" + pid + "/comm"); err == nil && strings.TrimSuffix(name, "\n") == comm {
			return of(map[string]any{"running": true}), nil
		}
	}
	return of(map[string]any{"running": false}), nil
}

func (l looker) mount() (finder, error) {
	text, err := l.read(mountinfo.File)
	if err != nil {
		return nil, err
	}
	found, at := absent("exists"), path.Clean(l.rule.Name)
	if real, _, err := modules.Resolve(l.host.Files, at); err == nil { // the kernel lists it by the path without links
		at = real
	}
	for m := range mountinfo.Parse(text) {
		if m.Type != "" && m.Point == at {
			found = func(attribute string) (any, error) {
				switch attribute {
				case "opts":
					return sorted(m.Options), nil
				case "vfs-opts":
					return sorted(m.OfType), nil
				case "source":
					return m.Source, nil
				case "filesystem":
					return m.Type, nil
				case "usage":
					return l.usage(m.Point)
				}
				return true, nil
			}
		}
	}
	return found, nil
}

func sorted(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }

const mountTime = time.Second // as in goss

// usage returns the used part of a file system in percent. A program finds out, because a server that does not answer
// would hold up this one.
func (l looker) usage(point string) (any, error) {
	exit, err := l.host.Commands.Probe(l.ctx, modules.Command{Argv: []string{"stat", "-f", "-c", "%b %f", "--", point}, Timeout: l.limit(mountTime)})
	if err != nil {
		return nil, err
	}
	var blocks, free float64
	if _, err := fmt.Sscanf(exit.Stdout.Text, "%g %g", &blocks, &free); err != nil {
		return nil, fmt.Errorf("stat printed %q: %s", exit.Stdout.Text, strings.TrimSpace(exit.Stderr.Text))
	}
	if blocks == 0 { // not on a disk
		return nil, errUnknown
	}
	return math.Round((1 - free/blocks) * 100), nil
}

func (l looker) service() (finder, error) {
	name := l.rule.Name
	if strings.HasPrefix(name, "-") {
		return nil, fmt.Errorf("%q is not a valid service name", name)
	}
	systemd := true
	if _, err := l.host.Files.Stat("/run/systemd/system"); err != nil {
		systemd = false
	}
	return func(attribute string) (any, error) {
		argv := []string{"systemctl", "is-active", "--quiet", "--", name}
		switch {
		case attribute == "runlevels":
			return l.runlevels(name, systemd)
		case systemd && attribute == "enabled":
			argv = []string{"systemctl", "is-enabled", "--quiet", "--", name}
		case !systemd && attribute == "enabled":
			exit, err := l.probe("rc-update", "show", "-a")
			if err != nil {
				return nil, fmt.Errorf("cannot query systemd or OpenRC: %w", err)
			}
			return slices.ContainsFunc(strings.Split(exit.Stdout.Text, "\n"), func(line string) bool {
				service, levels, _ := strings.Cut(line, "|")
				return strings.TrimSpace(service) == name && strings.TrimSpace(levels) != ""
			}), nil
		case !systemd:
			argv = []string{"rc-service", name, "status"}
		}
		exit, err := l.probe(argv...)
		if err != nil {
			return nil, err
		}
		return exit.Code == 0, nil
	}, nil
}

// runlevels returns the runlevels of OpenRC or System V that start a service. systemd has none.
func (l looker) runlevels(name string, systemd bool) ([]string, error) {
	levels := []string{}
	if systemd {
		return levels, nil
	}
	openRC, err := l.host.Files.List("/etc/runlevels")
	if err != nil && !modules.NotThere(err) {
		return nil, err
	}
	for _, level := range openRC {
		services, err := l.host.Files.List(path.Join("/etc/runlevels", level))
		if err == nil && slices.Contains(services, name) {
			levels = append(levels, level)
		}
	}
	for _, level := range "0123456" {
		scripts, err := l.host.Files.List("/etc/rc" + string(level) + ".d")
		if err == nil && slices.ContainsFunc(scripts, func(script string) bool {
			return len(script) > 3 && script[0] == 'S' && script[3:] == name // S01name
		}) {
			levels = append(levels, string(level))
		}
	}
	return levels, nil
}

func (l looker) pkg() (finder, error) {
	name := l.rule.Name
	if strings.HasPrefix(name, "-") {
		return nil, fmt.Errorf("%q is not a valid package name", name)
	}
	for _, ask := range [][]string{
		{"dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}\\n", "--", name},
		{"rpm", "-q", "--qf", "installed %{VERSION}-%{RELEASE}\\n", "--", name},
	} {
		exit, err := l.probe(ask...)
		if err != nil {
			continue // it is not there
		}
		versions := []string{}
		for line := range strings.Lines(exit.Stdout.Text) {
			if status, version, _ := strings.Cut(strings.TrimSpace(line), " "); exit.Code == 0 && status == "installed" {
				versions = append(versions, version)
			}
		}
		if len(versions) == 0 {
			return absent("installed"), nil
		}
		return of(map[string]any{"installed": true, "versions": versions}), nil
	}
	return nil, errors.New("the host has neither dpkg nor rpm")
}
