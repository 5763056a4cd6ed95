package dsc

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/dsc/manifest"
	"github.com/ccm-push/ccm-push/modules/dsc/schema"
	"github.com/ccm-push/ccm-push/modules/process"
)

// A resource is the resource of an instance, as it was found on the host. It runs operations and reads their output,
// independently of the desired state.
type resource struct {
	h    modules.Host
	run  *manifest.Manifest // its operations are called: the adapter's if it is adapted
	as   *manifest.Manifest // manifest of the instance's type
	own  *builtinResource   // built-in implementation; nil if the resource is a program
	file string             // the manifest of as, on the host
	dir  string             // folder of run's manifest: the working directory
	path string             // search path of its programs, separated by colons

	schema   *schema.Schema // nil if unknown
	timeout  time.Duration  // per call
	discreet bool           // its input must not be shown
	secrets  process.Secrets
	told     map[string]bool // messages
	quirks   []string        // converted values in states
}

// usable reports a resource that cannot be run by itself, or lacks something here.
func (rs *resource) usable() error {
	for _, w := range rs.as.Warnings {
		rs.warn("%s: %s", rs.file, w)
	}
	if rs.as.Deprecation != "" {
		rs.warn("%s is deprecated: %s", rs.as.Type, rs.as.Deprecation)
	}
	switch {
	case rs.own != nil:
		return nil
	case rs.as.Kind == manifest.KindAdapter:
		return modules.Refuse("%s is an adapter, which runs resources and is not a resource itself", rs.as.Type)
	case rs.as.Kind != manifest.KindResource && rs.as.Kind != manifest.KindExporter:
		return modules.Refuse("%s is of the kind %s, and only resources can be run", rs.as.Type, rs.as.Kind)
	case rs.as.Adapted() && rs.run.Adapter.InputKind != "single":
		return modules.Refuse("the adapter %s has the inputKind %q; only %q is supported", rs.run.Type, rs.run.Adapter.InputKind, "single")
	}
	for _, needs := range rs.as.Requires {
		if needs.ResourceType != "executable" {
			continue
		}
		if (answers{rs.h}).which(needs.Resource) == nil {
			return modules.Refuse("%s needs the program %s, which is not on the host", rs.as.Type, needs.Resource)
		}
	}
	return nil
}

// operation returns an operation of the resource, or nil. An adapted resource may list its operations itself.
func (rs *resource) operation(name string) *manifest.Operation {
	has := rs.as.Capabilities
	said := rs.as.Adapted() && has != nil && slices.Contains([]string{"get", "set", "test", "delete", "export"}, name)
	if said && !slices.ContainsFunc(has, func(s string) bool { return strings.EqualFold(s, name) }) {
		return nil
	}
	return rs.run.Operation(name)
}

// loadSchema gets the schema of the instance: from the manifest, or from the command
// that prints it.
func (rs *resource) loadSchema(ctx context.Context) error {
	s := rs.as.Schema
	if s == nil {
		return nil
	}
	doc := s.Embedded
	if s.Command != nil {
		c := call{name: "schema", operation: s.Command}
		exit, err := rs.call(ctx, c)
		if err != nil {
			return err
		}
		err = rs.parse(c, exit, func(p printed) error {
			if len(p.values) != 1 {
				return failed("", "%s has printed %d JSON values where a schema was expected", p.what, len(p.values))
			}
			doc = json.RawMessage(p.text)
			return nil
		})
		if err != nil {
			return err
		}
	}
	compiled, err := schema.Compile(doc)
	if err != nil {
		return modules.Refuse("%s: %w", rs.as.Type, err)
	}
	for _, w := range compiled.Warnings() {
		rs.warn("%s: %s", rs.as.Type, w)
	}
	rs.schema = compiled
	return nil
}

// unknowable reports a resource whose valid properties are unknown; as is the manifest of the instance's type, run the
// manifest whose operations are called. Adapted resources check their properties themselves, and the older dialects
// needed no schema.
func unknowable(as, run *manifest.Manifest) error {
	if as.Adapted() || run.Dialect != manifest.Current || as.Schema != nil || run.Validate != nil {
		return nil
	}
	return modules.Refuse("%s has neither a schema nor validate, so its valid properties are not known", as.Type)
}

// tell reports a message of a program, each text once.
func (rs *resource) tell(level, text string) {
	text = rs.secrets.Hide(text)
	key := level + text
	if rs.told[key] {
		return
	}
	rs.told[key] = true
	rs.h.Report.Message(level, text)
}

func (rs *resource) tellAll(s messages) {
	for _, n := range s.notes {
		rs.tell(n.level, n.text)
	}
	for _, line := range s.plain {
		rs.tell(info, line)
	}
}

// warn reports a warning, once.
func (rs *resource) warn(format string, args ...any) { rs.tell(warning, fmt.Sprintf(format, args...)) }
