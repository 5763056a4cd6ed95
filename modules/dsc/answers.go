package dsc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/dsc/schema"
	"github.com/ccm-push/ccm-push/modules/process"
)

// answers implements [expr.Environment]: the functions in expressions that query the host.
type answers struct{ h modules.Host }

// Ask implements [expr.Environment].
func (a answers) Ask(ctx context.Context, function string, args []any) (any, error) {
	text := func(i int) string {
		if i >= len(args) {
			return ""
		}
		s, _ := args[i].(string)
		return s
	}
	switch function {
	case "reference":
		return a.reference(text(0))
	case "stateChanged":
		return a.stateChanged(text(0))
	case "restartRequired":
		var refs []string
		for i := 2; i < len(args); i++ {
			refs = append(refs, text(i))
		}
		return a.restartRequired(text(0), text(1), refs), nil
	case "envvar":
		value, ok := os.LookupEnv(text(0))
		if !ok {
			return nil, fmt.Errorf("the host has no environment variable %q", text(0))
		}
		return value, nil
	case "tryWhich":
		return a.which(text(0)), nil
	case "context":
		return machine(), nil
	}
	return nil, errors.New("it is not known here")
}

// state returns the known state of an earlier resource.
func (a answers) state(ref string) (modules.State, error) {
	if a.h.State != nil {
		if s, ok := a.h.State(ref); ok {
			return s, nil
		}
	}
	return modules.State{}, modules.StateUnknownError(ref)
}

// reference returns the last known state of an earlier resource.
func (a answers) reference(ref string) (any, error) {
	s, err := a.state(ref)
	if err != nil {
		return nil, err
	}
	return schema.Value(s.Last())
}

// stateChanged reports whether an earlier resource was changed in this run.
func (a answers) stateChanged(ref string) (any, error) {
	s, err := a.state(ref)
	if err != nil {
		return nil, err
	}
	return s.After != nil && len(changedProperties(s.Before, s.After)) > 0, nil
}

// changedProperties names the properties in which two states differ.
func changedProperties(before, after json.RawMessage) []string {
	object := func(raw json.RawMessage) map[string]any {
		v, err := schema.Value(raw)
		if err != nil {
			return nil
		}
		m, _ := v.(map[string]any)
		return m
	}
	return changed(object(before), object(after))
}

// restartRequired reports whether one of the resources requires a restart of that kind; a name of "" matches any.
func (a answers) restartRequired(kind, name string, refs []string) bool {
	for _, ref := range refs {
		s, err := a.state(ref)
		if err != nil {
			continue
		}
		for _, raw := range s.Restart {
			v, err := schema.Value(raw)
			if err != nil {
				continue
			}
			entry, _ := v.(map[string]any)
			what, ok := entry[kind]
			if process, isObject := what.(map[string]any); isObject {
				what = process["name"]
			}
			if ok && (name == "" || what == name) {
				return true
			}
		}
	}
	return false
}

// which returns the path of a program; nil if the host does not have it.
func (a answers) which(name string) any {
	if strings.Contains(name, "/") || name == "" {
		return nil
	}
	if file := process.Find(a.h.Files, safePath(a.h), name); file != "" {
		return file
	}
	return nil
}

// machine returns the result of context(): the DSC members that a host knows.
func machine() map[string]any {
	security := "restricted"
	if os.Geteuid() == 0 {
		security = "elevated"
	}
	family := map[string]string{"linux": "Linux", "darwin": "macOS"}[runtime.GOOS]
	return map[string]any{
		"security": security,
		"os":       map[string]any{"family": family},
	}
}
