package gather

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ccm-push/ccm-push/facts"
)

const (
	// maxAnswer bounds what a command may print: 64 KiB of each of its outputs.
	maxAnswer = 64 << 10
	// askTimeout is the timeout of one query.
	askTimeout = 10 * time.Second
)

// ask returns the answer to one query.
func ask(ctx context.Context, q facts.Query) (any, error) {
	switch {
	case q.Stat != "":
		return statOf(q.Stat)
	case q.Package != "":
		return packageOf(ctx, q.Package)
	case q.Service != "":
		return serviceOf(ctx, q.Service)
	case q.Getent != "":
		return entryOf(ctx, strings.Fields(q.Getent))
	case q.Command != "":
		return commandOf(ctx, "/bin/sh", "-c", q.Command)
	}
	return nil, errors.New("the query is empty")
}

// pathAnswer describes a path, and the target if it is a link.
type pathAnswer struct {
	Exists bool   `json:"exists"`
	Type   string `json:"type"` // file, directory, link or other; "" if it does not exist
	Mode   string `json:"mode"` // "0644"
	Owner  string `json:"owner"`
	Group  string `json:"group"`
	UID    uint32 `json:"uid"`
	GID    uint32 `json:"gid"`
	Size   int64  `json:"size"`
	Target string `json:"target"` // target of a link
}

func statOf(path string) (any, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return pathAnswer{}, nil
	}
	if err != nil {
		return nil, err
	}
	a := pathAnswer{Exists: true, Type: "other", Size: info.Size()}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		a.Type = "file"
	case mode.IsDir():
		a.Type = "directory"
	case mode&fs.ModeSymlink != 0:
		a.Type = "link"
		a.Target, _ = os.Readlink(path)
	}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		a.UID, a.GID = sys.Uid, sys.Gid
		a.Mode = fmt.Sprintf("%04o", sys.Mode&0o7777)
		a.Owner, a.Group = strconv.Itoa(int(sys.Uid)), strconv.Itoa(int(sys.Gid))
		if u, err := user.LookupId(a.Owner); err == nil {
			a.Owner = u.Username
		}
		if g, err := user.LookupGroupId(a.Group); err == nil {
			a.Group = g.Name
		}
	}
	return a, nil
}

// packageManagers are tried in this order: the first existing one has the packages of the host. A line that is not
// empty is the version of an installed package.
var packageManagers = []struct {
	program string
	args    []string
	version func(line string) string
}{
	{"dpkg-query", []string{"-W", "-f", "${db:Status-Status} ${Version}\n", "--"}, func(line string) string {
		version, _ := strings.CutPrefix(line, "installed ")
		if version == line {
			return ""
		}
		return version
	}},
	{"rpm", []string{"-q", "--qf", "%|EPOCH?{%{EPOCH}:}|%{VERSION}-%{RELEASE}\n", "--"}, func(line string) string { return line }},
	{"apk", []string{"list", "-I", "--"}, func(line string) string {
		name, _, _ := strings.Cut(line, " ")
		parts := strings.Split(name, "-")
		return strings.Join(parts[max(0, len(parts)-2):], "-")
	}},
	{"pacman", []string{"-Q", "--"}, func(line string) string {
		_, version, _ := strings.Cut(line, " ")
		return version
	}},
}

type packageAnswer struct {
	Installed bool   `json:"installed"`
	Version   string `json:"version"`
}

func packageOf(ctx context.Context, name string) (any, error) {
	for _, m := range packageManagers {
		if _, err := exec.LookPath(m.program); err != nil {
			continue
		}
		out, err := commandOf(ctx, m.program, append(m.args, name)...)
		if err != nil {
			return nil, err
		}
		if out.Code != 0 {
			return packageAnswer{}, nil
		}
		line, _, _ := strings.Cut(strings.TrimSpace(out.Stdout), "\n")
		version := m.version(line)
		return packageAnswer{version != "", version}, nil
	}
	return nil, errors.New("the host has no dpkg-query, rpm, apk or pacman")
}

type serviceAnswer struct {
	Exists  bool `json:"exists"`
	Running bool `json:"running"`
	Enabled bool `json:"enabled"`
}

func serviceOf(ctx context.Context, name string) (any, error) {
	out, err := commandOf(ctx, "systemctl", "show", "--property=LoadState,ActiveState,UnitFileState", "--", name)
	switch {
	case err != nil:
		return nil, err
	case out.Code != 0:
		return nil, errorText(out)
	}
	var a serviceAnswer
	for line := range strings.Lines(out.Stdout) {
		switch strings.TrimSpace(line) {
		case "LoadState=loaded", "LoadState=masked":
			a.Exists = true
		case "ActiveState=active", "ActiveState=reloading":
			a.Running = true
		case "UnitFileState=enabled", "UnitFileState=enabled-runtime", "UnitFileState=alias":
			a.Enabled = true
		}
	}
	return a, nil
}

type entryAnswer struct {
	Exists bool     `json:"exists"`
	Fields []string `json:"fields"`
}

func entryOf(ctx context.Context, words []string) (any, error) {
	out, err := commandOf(ctx, "getent", words...)
	switch {
	case err != nil:
		return nil, err
	case out.Code == 2: // the key is not there
		return entryAnswer{Fields: []string{}}, nil
	case out.Code != 0:
		return nil, errorText(out)
	}
	line, _, _ := strings.Cut(out.Stdout, "\n")
	fields := strings.Split(line, ":")
	if !strings.Contains(line, ":") { // hosts, services and the like have columns
		fields = strings.Fields(line)
	}
	return entryAnswer{true, fields}, nil
}

type commandAnswer struct {
	Stdout string `json:"stdout"` // without line breaks at its end
	Stderr string `json:"stderr"`
	Code   int    `json:"exit_code"`
}

func errorText(a commandAnswer) error {
	return fmt.Errorf("exit status %d: %s", a.Code, strings.TrimSpace(a.Stderr))
}

// commandOf runs a program, which gets no input and a session of its own, and ends all of it in time.
func commandOf(ctx context.Context, program string, args ...string) (commandAnswer, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8"}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	stdout, stderr := &bounded{}, &bounded{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Run()
	if ended := (*exec.ExitError)(nil); ctx.Err() == nil && errors.As(err, &ended) {
		err = nil
	}
	if err == nil && (stdout.full || stderr.full) {
		err = fmt.Errorf("it prints more than %d KiB", maxAnswer>>10)
	}
	if err != nil {
		return commandAnswer{}, err
	}
	return commandAnswer{strings.TrimRight(stdout.text.String(), "\n"), strings.TrimRight(stderr.text.String(), "\n"), cmd.ProcessState.ExitCode()}, nil
}

// bounded keeps the beginning of the data written to it.
type bounded struct {
	text bytes.Buffer
	full bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if keep := maxAnswer - b.text.Len(); len(p) > keep {
		b.full = true
		b.text.Write(p[:keep])
		return len(p), nil
	}
	return b.text.Write(p)
}
