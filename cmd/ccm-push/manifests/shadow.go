package manifests

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/inventories"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/playbooks/fromansible"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/shadow"
)

// A shadowRun runs check runs of ansible-playbook and of ccm-push on the same hosts.
type shadowRun struct {
	app                     *app.App
	playbook                string
	manifest                string
	ansibleFlags, pushFlags []string
}

// shared lists the flags that ansible-playbook and ccm-push have in common.
var shared = []string{
	"inventory", "limit", "extra-vars", "tags", "skip-tags", "user", "private-key", "ask-pass", "become", "become-user", "become-method",
	"ask-become-pass", "become-password-file", "forks", "vault-id", "vault-password-file", "ask-vault-pass",
}

// flagsOfBoth returns the flags that are set, except own: those for ansible-playbook and those for ccm-push.
func flagsOfBoth(given *pflag.FlagSet, own ...string) (ansible, push []string) {
	given.Visit(func(f *pflag.Flag) {
		if slices.Contains(own, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if list, is := f.Value.(pflag.SliceValue); is {
			values = list.GetSlice()
		}
		for _, value := range values {
			word := "--" + f.Name
			if f.NoOptDefVal == "" {
				word += "=" + value
			}
			if push = append(push, word); slices.Contains(shared, f.Name) {
				ansible = append(ansible, word)
			}
		}
	})
	return ansible, push
}

// convertForShadow converts a playbook into a folder, and returns the path of its manifest.
func convertForShadow(ctx context.Context, playbook, folder string, o fromansible.Options) (string, error) {
	if info, err := os.Stat(playbook); err != nil {
		return "", err
	} else if info.IsDir() {
		return "", fmt.Errorf("--shadow runs a playbook, and %s is a folder", playbook)
	}
	done, err := fromansible.Convert(ctx, playbook, o)
	if err != nil {
		return "", err
	}
	if n := len(done.Report.Left); n > 0 {
		return "", fmt.Errorf("%s: %d tasks are not carried over: run ccm-push from-ansible %[1]s --out manifests, replace each todo, then run ccm-push from-ansible --shadow %[1]s MANIFEST", playbook, n)
	}
	if err := writeConversion(folder, done.Files, false); err != nil {
		return "", err
	}
	base := strings.TrimSuffix(filepath.Base(playbook), filepath.Ext(playbook)) + ".yaml"
	for name := range done.Files {
		if filepath.Base(name) == base {
			return filepath.Join(folder, name), nil
		}
	}
	return "", fmt.Errorf("%s: the conversion has no %s", playbook, base)
}

// shadowed compares a playbook with the manifest in args, or with a temporary conversion.
func shadowed(cmd *cobra.Command, f *inventories.Reader, p *output.Printer, args []string, o fromansible.Options) error {
	ctx, end := f.App.UntilStop(cmd.Context())
	defer end()
	s := shadowRun{app: f.App, playbook: args[0]}
	s.ansibleFlags, s.pushFlags = flagsOfBoth(cmd.Flags(), "shadow", "out", "report")
	if len(args) == 2 {
		s.manifest = args[1]
		return s.run(ctx, p)
	}
	folder, err := os.MkdirTemp("", "ccm-push-shadow-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if s.manifest, err = convertForShadow(ctx, s.playbook, folder, o); err != nil {
		return err
	}
	return s.run(ctx, p)
}

// run prints the differences. The exit status is 8 if there are any.
func (s *shadowRun) run(ctx context.Context, p *output.Printer) error {
	tasks, err := s.ansible(ctx)
	if err != nil {
		return err
	}
	resources, err := s.push(ctx)
	if err != nil {
		return err
	}
	if here, err := os.Getwd(); err == nil {
		for i := range tasks {
			tasks[i].At = strings.TrimPrefix(tasks[i].At, here+"/")
		}
	}
	c := shadow.Compare(tasks, resources)
	if err := p.Print(c.Text()); err != nil || len(c.Differences) == 0 {
		return err
	}
	return exit.Status(exit.Changed)
}

// ansible returns the results of ansible-playbook --check.
func (s *shadowRun) ansible(ctx context.Context) ([]shadow.Task, error) {
	program, err := exec.LookPath("ansible-playbook")
	if err != nil {
		return nil, errors.New("--shadow needs the program ansible-playbook in PATH")
	}
	plugins, err := os.MkdirTemp("", "ccm-push-shadow-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(plugins)
	if err := os.WriteFile(filepath.Join(plugins, "ccm_push.py"), shadow.Plugin, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, append([]string{"--check", s.playbook}, s.ansibleFlags...)...)
	cmd.Env = append(s.app.Environment(), "ANSIBLE_CALLBACK_PLUGINS="+plugins, "ANSIBLE_STDOUT_CALLBACK=ccm_push", "ANSIBLE_FORCE_COLOR=0")
	out, err := s.output(cmd)
	tasks, readErr := shadow.Tasks(bytes.NewReader(out))
	if readErr != nil {
		return nil, readErr
	}
	if err != nil && len(tasks) == 0 { // else hosts have failed, which the results contain
		return nil, fmt.Errorf("ansible-playbook: %w", err)
	}
	return tasks, nil
}

// push returns the results of ccm-push --check.
func (s *shadowRun) push(ctx context.Context) ([]shadow.Resource, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, append(slices.Clone(s.pushFlags), "--check", "--no-record", "--output=json", s.manifest)...)
	cmd.Env = s.app.Environment()
	out, err := s.output(cmd)
	if ended, isExit := errors.AsType[*exec.ExitError](err); isExit && ended.ExitCode() != exit.Usage {
		err = nil // hosts have failed, which the events contain
	}
	if err != nil {
		return nil, fmt.Errorf("ccm-push --check %s: %w", s.manifest, err)
	}
	var resources []shadow.Resource
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, len(out)+1)
	for lines.Scan() {
		var e struct {
			Event, Host, Type, Name, Status, Grade, Error string
			WouldFail                                     bool `json:"would_fail"`
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("events of ccm-push --check: %w", err)
		}
		if e.Event == "result" {
			resources = append(resources, shadow.Resource{Host: e.Host, Type: e.Type, Name: e.Name, Status: predicted(e.Status, e.Grade, e.WouldFail), Message: e.Error})
		}
	}
	return resources, lines.Err()
}

// predicted returns the result of a resource of a check run.
func predicted(status, grade string, wouldFail bool) shadow.Status {
	switch {
	case grade == "unknown":
		return shadow.Unknown
	case wouldFail || status == "failed":
		return shadow.Failed
	case status == "stable":
		return shadow.OK
	}
	return cmp.Or(map[string]shadow.Status{"changed": shadow.Changed, "skipped": shadow.Skipped}[status], shadow.Unknown)
}

// output runs a program, and returns its standard output. The program has the terminal for its prompts.
func (s *shadowRun) output(cmd *exec.Cmd) ([]byte, error) {
	cmd.Stdin, cmd.Stderr = s.app.In, s.app.Err
	return cmd.Output()
}
