package reboot

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// steps are the steps of Apply.
type steps struct {
	back bool // the host is back: only report it
	boot string
}

// A note is stored while the host is down. It means that the resource has restarted the host.
type note struct {
	Name    string           `json:"name"`
	Boot    string           `json:"boot"` // the id of the boot that it ends
	Changes []modules.Change `json:"changes"`
}

// Check implements [modules.Resource].
func (r *Reboot) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	boot, err := bootID(h.Files)
	if err != nil {
		return modules.Plan{}, err
	}
	if n := r.noted(h); n != nil && n.Boot != boot {
		return plan(n.Changes, steps{back: true, boot: boot}), nil
	}
	why := "wanted in each run"
	switch r.When {
	case notified:
		return modules.Plan{}, nil
	case pending:
		if why, err = asked(ctx, h); why == "" {
			return modules.Plan{}, err
		}
	}
	return r.restart(h, why)
}

// plan is the plan of a restart, before and after it: both report the same.
func plan(changes []modules.Change, do steps) modules.Plan {
	return modules.Plan{Action: "restarted the host", Changes: changes, Effects: []modules.Effect{modules.Anything}, Steps: do}
}

// restart is the plan of having the host start again.
func (r *Reboot) restart(h modules.Host, why string) (modules.Plan, error) {
	boot, err := bootID(h.Files)
	switch {
	case err != nil:
		return modules.Plan{}, err
	case os.Geteuid() != 0:
		return modules.Plan{}, modules.Refuse(`only root may restart the host; use "become"`)
	case command(h.Files) == nil:
		return modules.Plan{}, modules.Refuse("neither systemctl nor reboot is found in %s: a host without both, such as a container, is restarted from outside", modules.DefaultPath)
	case h.Private == "":
		return modules.Plan{}, modules.Refuse("no directory to note the restart in")
	}
	return plan([]modules.Change{{Property: "restart", Have: why, Want: "done"}}, steps{boot: boot}), nil
}

// bootID identifies the current boot.
func bootID(files modules.FileReader) (string, error) {
	const at = "/proc/sys/kernel/random/boot_id"
	text, err := read(files, at)
	if err != nil {
		return "", modules.Refuse("this system has no id of the current boot: %w", err)
	}
	return strings.TrimSpace(text), nil
}

func read(files modules.FileReader, name string) (string, error) {
	file, err := files.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	const most = 64 << 10
	text, err := io.ReadAll(io.LimitReader(file, most))
	return string(text), err
}

// asking are the files with which a host requests a restart: of Debian's packages, and of zypper.
var asking = []string{"/run/reboot-required", "/run/reboot-needed"}

// asked describes how the host requests a restart; "" if it does not.
func asked(ctx context.Context, h modules.Host) (string, error) {
	for _, name := range asking {
		_, err := h.Files.Stat(name)
		switch {
		case err == nil:
			return name, nil
		case !modules.NotThere(err):
			return "", modules.PermissionRefusal(err)
		}
	}
	switch {
	case modules.HasProgram(h.Files, "", "needs-restarting"): // program of dnf and yum
	case modules.HasProgram(h.Files, "", "apt-get"), modules.HasProgram(h.Files, "", "zypper"), !modules.HasProgram(h.Files, "", "rpm"):
		return "", nil
	default:
		return "", modules.Refuse("only needs-restarting reports whether this host requires a restart, and it is not installed; install the package dnf-utils")
	}
	exit, err := h.Commands.Probe(ctx, modules.Command{Argv: []string{"needs-restarting", "-r"}, Timeout: 5 * time.Minute})
	switch {
	case err != nil:
		return "", err
	case exit.Code == 0:
		return "", nil
	case exit.Code == 1:
		return "needs-restarting", nil
	}
	return "", modules.Refuse("needs-restarting ended with exit code %d: %s", exit.Code, strings.TrimSpace(exit.Stderr.Text))
}

// command is the command that restarts the host, without waiting; nil if there is none.
func command(files modules.FileReader) []string {
	_, err := files.Stat("/run/systemd/system") // sd_booted(3)
	switch {
	case err == nil && modules.HasProgram(files, "", "systemctl"):
		return []string{"systemctl", "--no-block", "reboot"}
	case err != nil && modules.HasProgram(files, "", "reboot"):
		return []string{"reboot"}
	}
	return nil
}

// notePath is the path of the note.
func notePath(h modules.Host) string { return path.Join(h.Private, "reboot.json") }

// noted is the note of this resource, if the run continues after a lost connection. The note of a run that was not
// resumed is ignored.
func (r *Reboot) noted(h modules.Host) *note {
	if !r.again || h.Private == "" {
		return nil
	}
	text, err := read(h.Files, notePath(h))
	var n note
	if err != nil || json.Unmarshal([]byte(text), &n) != nil || n.Name != r.Name {
		return nil
	}
	return &n
}

// Apply implements [modules.Resource]. The shutdown ends the host program like all others.
func (r *Reboot) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	do, ok := p.Steps.(steps)
	if !ok {
		return errors.New("the plan is not one of a restart")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if do.back {
		return forget(ctx, h)
	}
	text, err := json.Marshal(note{Name: r.Name, Boot: do.boot, Changes: p.Changes})
	if err != nil {
		return err
	}
	const private fs.FileMode = 0o600
	if err := h.Files.Write(ctx, notePath(h), strings.NewReader(string(text)), modules.Attributes{Mode: private, UID: -1, GID: -1}); err != nil {
		return err
	}
	wait := r.Restarts()
	err = modules.RunProgram(ctx, h, modules.Command{Argv: command(h.Files), Timeout: time.Minute})
	if err != nil { // or the host was so fast that the program was ended, too
		wait = min(wait, 10*time.Second)
	} else {
		err = modules.Refuse("the host has not gone down within %s", r.Timeout)
	}
	select {
	case <-ctx.Done():
		return modules.ErrRestarting
	case <-time.After(wait):
	}
	return errors.Join(err, forget(ctx, h))
}

func forget(ctx context.Context, h modules.Host) error {
	err := h.Files.Remove(ctx, notePath(h), false)
	if modules.NotThere(err) {
		return nil
	}
	return err
}

// Verify implements [modules.Verifier]: the host is back, and does not request another restart.
func (r *Reboot) Verify(ctx context.Context, h modules.Host, _ modules.Plan) error {
	if r.When != pending {
		return nil
	}
	why, err := asked(ctx, h)
	if err == nil && why != "" {
		err = modules.Refuse("the host has restarted, but still requires a restart: %s", why)
	}
	return err
}
