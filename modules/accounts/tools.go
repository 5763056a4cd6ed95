package accounts

import (
	"context"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// Tools are the programs of a host that change its accounts.
type Tools string

// The tools that are known.
const (
	ShadowUtils Tools = "shadow"  // useradd and its like, of shadow-utils
	Busybox     Tools = "busybox" // adduser and similar tools, as in Alpine; they cannot change existing accounts
)

// FindTools finds out which tools a host has.
func FindTools(files modules.FileReader) (Tools, error) {
	switch {
	case modules.HasProgram(files, "", "useradd"):
		return ShadowUtils, nil
	case modules.HasProgram(files, "", "adduser"):
		return Busybox, nil
	}
	return "", modules.Refuse("neither useradd nor adduser is found in %s; install shadow-utils (on Debian, passwd)", modules.DefaultPath)
}

// timeout bounds one program: it may have to wait for a lock, and to copy or
// chown a home.
const timeout = 10 * time.Minute

// Run starts a program that changes accounts. Its error is the last line that the program wrote to its standard error,
// without secrets. The files of accounts keep their extended attributes.
func Run(ctx context.Context, h modules.Host, c modules.Command, secrets ...string) error {
	c.Timeout = timeout
	before, err := readXattrs(h.Files)
	if err != nil {
		return err
	}
	exit, err := h.Commands.Run(ctx, c)
	if kept := before.keep(context.WithoutCancel(ctx), h.Files); err == nil && exit.Code == 0 {
		return kept
	}
	if err != nil {
		return err
	}
	text := strings.TrimSpace(exit.Stderr.Text)
	text = strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "[hash]")
	}
	if text == "" {
		text = "it printed no error"
	}
	return modules.Refuse("%s ended with exit code %d: %s", c.Argv[0], exit.Code, strings.TrimPrefix(text, c.Argv[0]+": "))
}

// AddGroup is the command that makes a group.
func AddGroup(tools Tools, g Group, system bool) []string {
	argv, sys := []string{"groupadd"}, "-r"
	if tools == Busybox {
		argv, sys = []string{"addgroup"}, "-S"
	}
	if system {
		argv = append(argv, sys)
	}
	if g.GID != Unknown {
		argv = append(argv, "-g", strconv.Itoa(g.GID))
	}
	return append(argv, "--", g.Name)
}

// CheckPermitted returns why the accounts of the host may not be changed, or nil.
func CheckPermitted(rights modules.FileRights) error {
	for _, file := range []string{PasswdFile, GroupFile, ShadowFile, gshadowFile} {
		if err := rights.MayReplace(file); err != nil {
			return modules.Refuse("%w", err)
		}
	}
	return nil
}

// Process finds a process of a user: userdel and usermod refuse to remove or renumber a user with processes. On a host
// without /proc it finds none.
func Process(files modules.FileReader, uid int) (pid string, ok bool) {
	names, err := files.List("/proc")
	if err != nil {
		return "", false
	}
	for _, name := range names {
		if _, number := ID(name); !number {
			continue
		}
		if info, err := files.Stat(path.Join("/proc", name)); err == nil && info.UID == uid {
			return name, true
		}
	}
	return "", false
}
