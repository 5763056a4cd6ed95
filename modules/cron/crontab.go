package cron

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/excerpt"
)

// crontabEffect is the kind of effect whose key is a user id in decimal and whose
// state is the text of that user's crontab.
const crontabEffect modules.EffectKind = "crontab"

// crontabTimeout is how long the crontab program may take.
const crontabTimeout = time.Minute

// A crontab is the crontab of one user.
type crontab struct {
	uid  int
	name string // name of the user; empty means the process's own
}

// crontab finds whose crontab the entry is in. The own one is used without a
// user name, which crontab takes of root only.
func (c *Cron) crontab(ctx context.Context, accounts modules.Accounts) (crontab, error) {
	own := os.Geteuid()
	if c.User == "" {
		return crontab{uid: own}, nil
	}
	uid, err := accounts.UserID(ctx, c.User)
	name := accounts.UserName(ctx, uid)
	switch {
	case err != nil:
		return crontab{}, modules.Refuse("user: %w", err)
	case c.Ensure == absent && uid != own && name == strconv.Itoa(uid): // an id needs no account
		return crontab{}, modules.Refuse("user: user %q: %w", c.User, modules.ErrNoAccount)
	case uid == own:
		return crontab{uid: own}, nil
	case own != 0:
		return crontab{}, modules.Refuse(`user %d may not change the crontab of user %d: %w; use "become"`, own, uid, fs.ErrPermission)
	}
	return crontab{uid, name}, nil
}

func (t crontab) key() string { return strconv.Itoa(t.uid) }

// String is the crontab in a sentence.
func (t crontab) String() string {
	if t.name == "" {
		return "the own crontab"
	}
	return "the crontab of " + strconv.Quote(t.name)
}

func (t crontab) command(what, stdin string) modules.Command {
	argv := []string{"crontab"}
	if t.name != "" {
		argv = append(argv, "-u", t.name)
	}
	return modules.Command{Argv: append(argv, what), Timeout: crontabTimeout, Stdin: stdin}
}

// read returns the text of the crontab. It is empty if the user has none, or does not exist yet.
func (t crontab) read(ctx context.Context, h modules.Host) (string, error) {
	if text, predicted := h.Forecast.Lookup(crontabEffect, t.key()); predicted {
		return text.(string), nil
	}
	list := t.command("-l", "")
	list.Reads = crontabEffect
	t.consult(ctx, h)
	exit, err := h.Commands.Probe(ctx, list)
	if err == nil && exit.Code != 0 && userComes(h.Forecast, t.name) && strings.Contains(exit.Stderr.Text, "unknown") {
		return "", nil
	}
	if err != nil || exit.Code != 0 && !isMissing(exit.Stderr.Text) {
		list.Reads = "" // any pending change may fix it, such as a package
		exit, err = h.Commands.Probe(ctx, list)
	}
	switch {
	case err != nil:
		return "", notRun(err)
	case exit.Code != 0 && isMissing(exit.Stderr.Text):
		return "", nil
	case exit.Code != 0:
		return "", &failure{what: "reading " + t.String(), exit: exit}
	case exit.Stdout.Dropped > 0:
		return "", modules.Refuse("%s is larger than %d KiB", t, modules.MaxOutput>>10)
	}
	return exit.Stdout.Text, nil
}

// paths are the files that the answer of crontab -l depends on.
func (t crontab) paths(ctx context.Context, accounts modules.Accounts) []string {
	paths := []string{"/etc/cron.allow", "/etc/cron.deny"}
	for _, dir := range slices.Backward(spools) {
		paths = append(paths, path.Join(dir, t.user(ctx, accounts)))
	}
	return paths
}

// user is the name that the file of the crontab has.
func (t crontab) user(ctx context.Context, accounts modules.Accounts) string {
	if t.name != "" {
		return t.name
	}
	return accounts.UserName(ctx, t.uid)
}

// spools are the folders that may hold the crontabs: of Debian and Alpine, of SUSE, and of Red Hat.
var spools = []string{"/var/spool/cron/crontabs", "/var/spool/cron/tabs", "/var/spool/cron"}

// spool returns the file of the crontab, or all possible files if no spool folder exists yet.
func (t crontab) spool(ctx context.Context, h modules.Host) []string {
	var all []string
	for _, dir := range spools {
		name := path.Join(dir, t.user(ctx, h.Accounts))
		if info, err := modules.Follow(h.Files, dir); err == nil && info.Kind == modules.Directory {
			return []string{name}
		}
		all = append(all, name)
	}
	return all
}

// consult looks up other predictions about those files.
func (t crontab) consult(ctx context.Context, h modules.Host) {
	for _, p := range t.paths(ctx, h.Accounts) {
		h.Forecast.Lookup(modules.PathEffect, p)
	}
}

// isMissing reports whether the error of crontab -l means a missing crontab. It knows the message of Vixie's cron, on
// which Debian's cron and cronie are based, and the message of busybox.
func isMissing(stderr string) bool {
	return strings.Contains(strings.ToLower(stderr), "no crontab for") ||
		strings.Contains(stderr, "can't open") && strings.Contains(stderr, "No such file")
}

// write replaces the crontab, whole and at once.
func (t crontab) write(ctx context.Context, h modules.Host, text string) error {
	exit, err := h.Commands.Run(ctx, t.command("-", text))
	switch {
	case err != nil:
		return notRun(err)
	case exit.Code != 0:
		return &failure{what: "writing " + t.String(), exit: exit}
	}
	return nil
}

// notRun explains why the crontab program could not be run.
func notRun(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return modules.Refuse("no crontab program (install the package cron or cronie first)")
	}
	return modules.Refuse("running crontab: %w", err)
}

// A failure is a refusal by crontab, with its output.
type failure struct {
	what string
	exit modules.Exit
}

// maxEvidence is how many bytes of crontab's output are shown.
const maxEvidence = 500

func (f *failure) Error() string {
	evidence := strings.Join(strings.FieldsFunc(f.exit.Stderr.Text, func(r rune) bool { return r == '\n' }), "; ")
	if evidence == "" {
		return f.Redacted()
	}
	return f.what + ": " + strings.ToValidUTF8(excerpt.Of(evidence, maxEvidence), "\uFFFD")
}

// Redacted implements [modules.Redactor].
func (f *failure) Redacted() string {
	return f.what + ": crontab ended with " + strconv.Itoa(f.exit.Code)
}
