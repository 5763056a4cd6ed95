package swap

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/fstab"
)

// swapEffect is the kind of effect whose key is a path and whose state is a [live].
const swapEffect modules.EffectKind = "swap"

// live is the state of a swap area.
type live struct {
	exists   bool
	size     int64 // size of a file, in bytes
	private  bool  // only its owner may read the file
	holds    string
	active   bool
	priority int
}

// The content of a file or device.
const (
	swapArea = "swap"
	nothing  = "" // a file of zeros, a device without a signature
)

// now returns the state of the area, in a check run the predicted one.
func (s *Swap) now(ctx context.Context, h modules.Host) (live, error) {
	if state, predicted := h.Forecast.Lookup(swapEffect, s.Name); predicted {
		return state.(live), nil
	}
	at, err := modules.Follow(h.Files, s.Name)
	switch {
	case modules.NotThere(err):
		return live{}, nil
	case err != nil:
		return live{}, modules.PermissionRefusal(err)
	case at.Kind == modules.Directory, at.Kind == modules.Special && !s.device():
		return live{}, modules.Refuse("%s is not a file", s.Name)
	}
	is := live{exists: true, size: at.Size, private: at.Mode.Perm()&0o077 == 0}
	if s.device() {
		is.size, is.private = 0, true
		is.holds, err = s.signature(ctx, h)
	} else {
		is.holds, err = s.header(h)
	}
	if err != nil {
		return live{}, err
	}
	is.active, is.priority, err = s.listed(h)
	return is, err
}

// header finds the content of a file from its beginning: a swap area has its signature at the end of the first page,
// whose size depends on the processor (linux/include/linux/swap.h).
func (s *Swap) header(h modules.Host) (string, error) {
	file, err := h.Files.Open(s.Name)
	if err != nil {
		return "", modules.PermissionRefusal(err)
	}
	defer file.Close()
	const largest = 64 << 10
	begin, err := io.ReadAll(io.LimitReader(file, largest))
	if err != nil {
		return "", err
	}
	for size := page; size <= len(begin); size *= 2 {
		if bytes.HasSuffix(begin[:size], []byte("SWAPSPACE2")) {
			return swapArea, nil
		}
	}
	if len(bytes.Trim(begin, "\x00")) == 0 {
		return nothing, nil
	}
	return "something else", nil
}

// signature runs blkid(8) to find the content of a device.
func (s *Swap) signature(ctx context.Context, h modules.Host) (string, error) {
	if err := may(h.Files); err != nil {
		return "", err // it would find nothing
	}
	exit, err := h.Commands.Probe(ctx, modules.Command{Argv: []string{"blkid", "-p", "-o", "value", "-s", "TYPE", s.Name}, Reads: swapEffect, Timeout: time.Minute})
	const none = 2 // blkid(8)
	switch {
	case err != nil:
		return "", err
	case exit.Code == none:
		return nothing, nil
	case exit.Code != 0:
		return "", modules.Refuse("blkid cannot identify the content of %s: exited with status %d", s.Name, exit.Code)
	}
	if what := strings.TrimSpace(exit.Stdout.Text); what != "" {
		return what, nil
	}
	return "something else", nil // a table of partitions
}

// listed reports whether the kernel uses the area, and with which priority.
func (s *Swap) listed(h modules.Host) (active bool, priority int, err error) {
	file, err := h.Files.Open("/proc/swaps")
	switch {
	case modules.NotThere(err): // a kernel without swap
		return false, 0, nil
	case err != nil:
		return false, 0, modules.PermissionRefusal(err)
	}
	defer file.Close()
	const most = 1 << 20
	text, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return false, 0, err
	}
	is, _, err := modules.Resolve(h.Files, s.Name)
	if err != nil {
		return false, 0, modules.PermissionRefusal(err)
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) < 5 || !sameFile(words[0], is) {
			continue
		}
		priority, err = strconv.Atoi(words[4])
		return true, priority, err
	}
	return false, 0, nil
}

// sameFile reports whether a name from the kernel, which writes special characters in octal, is the path.
func sameFile(told, path string) bool {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(told) == path
}

// may returns an error unless the user is root.
func may(files modules.FileRights) error {
	if !modules.HasRootRights(files, fstab.Path) {
		return modules.Refuse(`only root can set up swap space; use "become"`)
	}
	return nil
}

// timeout is how long a program may take: swapoff reads back all swapped pages.
const timeout = 10 * time.Minute

func run(ctx context.Context, h modules.Host, argv ...string) error {
	return modules.RunProgram(ctx, h, modules.Command{Argv: argv, Timeout: timeout})
}

// zeros is the content of a new file.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

var errPlan = errors.New("the plan is not one of a swap area")
