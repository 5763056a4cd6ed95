// Command demo shows ccm-push on three SSH hosts that it starts in its own process: it needs no root, no sshd and no
// network. Everything else is as in a real run: TCP, SSH, and a ccm-module process on each host.
//
//	demo [-stay] PATH-OF-CCM-PUSH
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"path/filepath"
	"syscall"

	shellquote "github.com/kballard/go-shellquote"

	"github.com/ccm-push/ccm-push/transport/sshtest"
)

//go:embed site
var site embed.FS

func main() {
	stay := flag.Bool("stay", false, "keep the hosts up until Ctrl-C")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, flag.Arg(0), *stay); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, program string, stay bool) error {
	program, err := filepath.Abs(program)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "ccm-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	stop, err := startHosts(ctx, dir)
	if err != nil {
		return err
	}
	defer stop()
	if err := copySite(dir); err != nil {
		return err
	}
	if err := show(ctx, program, dir); err != nil {
		return err
	}
	return farewell(ctx, dir, stay)
}

// hosts are the names of the demo's hosts, by group.
var hosts = []struct{ name, group string }{{"web1", "web"}, {"web2", "web"}, {"db1", "db"}}

// startHosts starts a server per host and writes the inventory that leads to
// them.
func startHosts(ctx context.Context, dir string) (stop func(), err error) {
	me, err := user.Current()
	if err != nil {
		return nil, err
	}
	var servers []*sshtest.Server
	stop = func() {
		for _, s := range servers {
			s.Close()
		}
	}
	groups := map[string]string{}
	for _, h := range hosts {
		root, keys := filepath.Join(dir, h.name), filepath.Join(dir, ".ssh", h.name)
		if err := errors.Join(os.MkdirAll(filepath.Join(root, "etc"), 0o755), os.MkdirAll(keys, 0o700)); err != nil {
			return stop, err
		}
		s, err := sshtest.Serve(ctx, sshtest.Config{Dir: keys, Home: filepath.Join(root, "home")})
		if err != nil {
			return stop, err
		}
		servers = append(servers, s)
		groups[h.group] += fmt.Sprintf(`        %s:
          connect: {address: %s, port: %d, user: %s, private_key: %s, known_hosts: %s}
          name: %s
          root: %s
`, h.name, s.Host, s.Port, s.User, s.KeyFile, s.KnownHosts, h.name, root)
	}
	inventory := fmt.Sprintf("all:\n  vars: {me: %q, my_group: %q}\n  children:\n", me.Uid, me.Gid)
	for _, group := range []string{"web", "db"} {
		inventory += "    " + group + ":\n      hosts:\n" + groups[group]
	}
	return stop, os.WriteFile(filepath.Join(dir, "hosts.yaml"), []byte(inventory), 0o644)
}

func copySite(dir string) error {
	files, err := fs.Sub(site, "site")
	if err != nil {
		return err
	}
	return os.CopyFS(dir, files)
}

// show runs the commands of the demo and explains them.
func show(ctx context.Context, program, dir string) error {
	flags := append(lockFlags(), "--ssh-config=none") // the hosts are local, whatever ssh_config contains
	for _, step := range []struct{ why, command string }{
		{"What would change? --check reads the hosts and changes nothing. --diff prints the changed texts.", "ccm-push -i hosts.yaml --check --diff site.yaml"},
		{"Do it.", "ccm-push -i hosts.yaml site.yaml"},
		{"Run again: every resource is stable, so nothing changes.", "ccm-push -i hosts.yaml site.yaml"},
		{"Run a command on some of the hosts.", "ccm-push -i hosts.yaml 'web*' exec 'uname -sr; uptime'"},
	} {
		fmt.Printf("\n# %s\n$ %s\n", step.why, step.command)
		words, err := shellquote.Split(step.command)
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, program, append(flags, words[1:]...)...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stdout, os.Stderr
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", step.command, err)
		}
	}
	return nil
}

// lockFlags lets the hosts wait for each other if they are root's: then they
// share the one lock of this machine, which they really are.
func lockFlags() []string {
	if os.Getuid() != 0 {
		return nil
	}
	return []string{"--lock-timeout=1m"}
}

func farewell(ctx context.Context, dir string, stay bool) error {
	if !stay {
		fmt.Print(`
# That was TCP, SSH and a real host program, three times. Next:
#   e2e/demo/site/site.yaml   the manifest of the demo
#   README.md                 how to point ccm-push at your own hosts
#   go run ./e2e/demo -stay bin/ccm-push   the same, and the hosts stay up
`)
		return nil
	}
	fmt.Printf("\n# The hosts stay up until Ctrl-C. In another terminal:\n$ cd %s\n$ ccm-push -i hosts.yaml facts web1 host.info\n", dir)
	<-ctx.Done()
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	return ctx.Err()
}
