//go:build full || !host

package pkg

import (
	"context"
	"errors"
	"os"
	"path"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// A library is the common part of the package managers of languages: none of their packages is held, virtual or in a
// file, and they query their index each time.
type library struct {
	*access
	place
}

func (library) provider(context.Context, string) (string, error) { return "", nil }
func (library) release(string) string                            { return "" }
func (library) held(string, State) (bool, error)                 { return false, nil }
func (library) holds() []string                                  { return nil }
func (library) setHold(context.Context, []string, bool) error    { return errors.ErrUnsupported }
func (library) suffix() string                                   { return "" }
func (library) inFile(context.Context, string) (string, string, error) {
	return "", "", errors.ErrUnsupported
}
func (library) fresh(context.Context, time.Duration) (bool, error) { return true, nil }
func (library) fetch(context.Context) error                        { return nil }

// manager finds the package manager of a language. within is the range in ensure.
func (l place) manager(h modules.Host, within string) (manager, error) {
	a := library{&access{Commands: h.Commands, files: h.Files, forecast: h.Forecast, program: npmProvider}, l}
	if l.provider == npmProvider {
		found, err := has(h.Files, npmProvider)
		if err == nil && !found {
			err = modules.Refuse("provider npm needs npm in %s", modules.DefaultPath)
		}
		if err == nil && l.directory != "" {
			err = l.trusts(h, l.directory)
		}
		return &npm{a, h.Files}, err
	}
	a.program = l.python
	if a.program == "" {
		a.program = defaultPython
	}
	y := &pip{library: a, base: a.program, within: within}
	if l.virtualenv != "" {
		y.program = path.Join(l.virtualenv, "bin/python")
		switch _, err := modules.Follow(h.Files, y.program); {
		case err == nil:
			return y, l.trusts(h, y.program)
		case !modules.NotThere(err):
			return nil, modules.PermissionRefusal(err)
		}
		y.missing = true
	}
	return y, l.finds(h, y.base)
}

// finds refuses a Python that the host does not have.
func (l place) finds(h modules.Host, python string) error {
	if !path.IsAbs(python) {
		found, err := has(h.Files, python)
		if err == nil && !found {
			err = modules.Refuse("provider pip needs %s in %s", python, modules.DefaultPath)
		}
		return err
	}
	if _, err := modules.Follow(h.Files, python); modules.NotThere(err) {
		return modules.Refuse("no program %s on this host", python)
	} else if err != nil {
		return modules.PermissionRefusal(err)
	}
	return l.trusts(h, python)
}

// trusts refuses to run a program for this user that another user can change.
func (l place) trusts(h modules.Host, name string) error {
	if l.user != "" {
		return nil
	}
	err := modules.OthersMayChange(h.Files, name, os.Geteuid())
	if err == nil || modules.NotThere(err) {
		return nil
	}
	return modules.Refuse("%w, so it is not for this user to run %s there; write user", err, l.provider)
}

// first returns the topmost path that must be created for a path to exist.
func (l library) first(at string) string {
	for path.Dir(at) != at {
		if _, err := l.files.Stat(path.Dir(at)); !modules.NotThere(err) {
			break
		}
		at = path.Dir(at)
	}
	return at
}

// marked are the lines of an output that are marked as errors, without the mark.
func marked(text string, marks ...string) string {
	var kept []string
	for line := range strings.Lines(text) {
		for _, mark := range marks {
			if rest, ok := strings.CutPrefix(strings.TrimSpace(line), mark); ok {
				kept = append(kept, strings.TrimSpace(rest))
				break
			}
		}
	}
	return strings.Join(kept, "\n")
}
