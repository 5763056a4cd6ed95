package source

import (
	"bytes"
	"context"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A Script is a program that prints an inventory.
type Script struct {
	Path string // relative to the working directory; never looked for in PATH
	// Timeout and MaxBytes bound each call: how long it takes, and how much it
	// prints. 0 means 30s and 64 MiB.
	Timeout  time.Duration
	MaxBytes int
}

// scriptCalls is how many calls with --host run at once.
const scriptCalls = 8

// List asks for the groups: a map. Nodes stand in "PATH --list".
func (s Script) List(ctx context.Context) (*yamlpos.Node, error) {
	list, err := s.json(ctx, "--list")
	if err != nil {
		return nil, err
	}
	if list == nil || list.Kind != yamlpos.Map {
		return nil, &yamlpos.Error{File: s.Path + " --list", Msg: "does not print a JSON object", Hint: `print {"GROUP": {"hosts": ["web1"]}, "_meta": {"hostvars": {"web1": {}}}}`}
	}
	return list, nil
}

// An ScriptAnswer is what a script prints for one host, which may be nothing, or why it
// did not.
type ScriptAnswer struct {
	Vars *yamlpos.Node
	Err  error
}

// Hosts asks for the variables of each host, several at once. The answers are in
// the order of the hosts.
func (s Script) Hosts(ctx context.Context, hosts []string) []ScriptAnswer {
	answers := make([]ScriptAnswer, len(hosts))
	var g errgroup.Group
	g.SetLimit(scriptCalls)
	for i, host := range hosts {
		g.Go(func() error {
			answers[i].Vars, answers[i].Err = s.json(ctx, "--host", host)
			return nil
		})
	}
	_ = g.Wait() // each error is in its answer
	return answers
}

// json runs the script and reads what it prints; it is nil if that is nothing.
func (s Script) json(ctx context.Context, args ...string) (*yamlpos.Node, error) {
	out, err := s.run(ctx, args)
	call := s.Path + " " + strings.Join(args, " ")
	if err != nil {
		return nil, &yamlpos.Error{File: call, Msg: err.Error()}
	}
	if len(bytes.TrimSpace(out)) == 0 {
		return nil, nil
	}
	return yamlpos.ParseJSON(call, out)
}
