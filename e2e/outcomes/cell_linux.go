package outcomes

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ccm-push/ccm-push/e2e/faultproxy"
)

// Cells are cheap hosts: each has an sshd, a PID namespace, /srv/outcomes, /var/lib/ccm-push and /run/ccm-push of its
// own, and shares everything else with this machine.
type Cells struct {
	Hosts      []*Box
	Controller *Box
	// Inventory is the inventory of the first hosts, so many of them.
	Inventory func(hosts int) string

	cells []*cell
}

// A cell holds two processes of a host: one keeps its mounts, the other is its PID 1.
type cell struct {
	dir    string
	port   int
	holder *exec.Cmd

	reboots sync.Mutex
	mu      sync.Mutex
	boot    *exec.Cmd // unshare, whose child is PID 1; nil while the host is down
}

const holds = `set -e
for folder in /srv/outcomes /var/lib/ccm-push /run/ccm-push; do
	mkdir -p $folder
	mount -t tmpfs -o mode=0755,size=1m outcomes $folder
done
mkdir /srv/outcomes/tree
mount -t tmpfs -o mode=0755,size=256k outcomes /srv/outcomes/tree
echo ready
exec sleep 1000000`

// NewCells starts so many hosts. dir is a folder for their files, with a pair of keys: id, known_hosts is written there.
func NewCells(dir string, hosts int) (*Cells, error) {
	c := &Cells{}
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
		return nil, err
	}
	for _, name := range []string{"id", "host"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, name)).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("ssh-keygen: %w: %s", err, out)
		}
	}
	public, err := os.ReadFile(filepath.Join(dir, "host.pub"))
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "known_hosts"), []byte("* "+string(public)), 0o600); err != nil {
		return nil, err
	}
	for i := range hosts + 1 {
		name := fmt.Sprintf("h%d", i)
		if i == 0 {
			name = Controller
		}
		one, err := newCell(filepath.Join(dir, name))
		if err != nil {
			c.Close()
			return nil, err
		}
		c.cells = append(c.cells, one)
		box := &Box{Name: name, HasRoom: true, Root: func() string { return fmt.Sprintf("/proc/%d/root", one.holder.Process.Pid) }}
		if i == 0 {
			box.Processes = one.inside
			c.Controller = box
			continue
		}
		if err = one.serve(dir); err == nil {
			box.Link, err = faultproxy.Listen(fmt.Sprintf("127.0.0.1:%d", one.port))
		}
		if err != nil {
			c.Close()
			return nil, err
		}
		box.Processes = one.processes
		box.Restart = func(after time.Duration) error {
			one.reboots.Lock()
			defer one.reboots.Unlock()
			one.halt()
			folder := box.path("/run/ccm-push")
			entries, err := os.ReadDir(folder)
			if err != nil {
				return err
			}
			for _, e := range entries {
				if err := os.RemoveAll(filepath.Join(folder, e.Name())); err != nil {
					return err
				}
			}
			time.Sleep(after)
			return one.start()
		}
		c.Hosts = append(c.Hosts, box)
	}
	c.Inventory = func(hosts int) string {
		var b strings.Builder
		b.WriteString("all:\n  hosts:\n")
		for _, h := range c.Hosts[:hosts] {
			fmt.Fprintf(&b, "    %s: {connect: {address: 127.0.0.1, port: %d, user: root, private_key: %s, known_hosts: %s}}\n",
				h.Name, h.Link.Port(), filepath.Join(dir, "id"), filepath.Join(dir, "known_hosts"))
		}
		return b.String()
	}
	return c, nil
}

// Enter returns a command that runs in the mounts of the controller.
func (c *Cells) Enter(dir, program string, args ...string) *exec.Cmd {
	all := []string{"--target", strconv.Itoa(c.cells[0].holder.Process.Pid), "--mount", "--", "/bin/sh", "-c", `cd "$0" && exec "$@"`, dir, program}
	return exec.Command("nsenter", append(all, args...)...)
}

// Close ends all processes of the hosts.
func (c *Cells) Close() {
	for _, h := range c.Hosts {
		_ = h.Link.Close()
	}
	for _, one := range c.cells {
		one.halt()
		_ = one.holder.Process.Kill()
		_ = one.holder.Wait()
	}
}

func newCell(dir string) (*cell, error) {
	c := &cell{dir: dir}
	if err := os.MkdirAll(filepath.Join(dir, "home"), 0o700); err != nil {
		return nil, err
	}
	c.holder = exec.Command("unshare", "--mount", "/bin/sh", "-c", holds)
	c.holder.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	c.holder.Stderr = os.Stderr
	out, err := c.holder.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.holder.Start(); err != nil {
		return nil, err
	}
	if n, err := out.Read(make([]byte, 6)); err != nil {
		return nil, fmt.Errorf("the mounts of a host were not made: %d %w", n, err)
	}
	return c, nil
}

// serve writes the configuration of sshd and starts it.
func (c *cell) serve(keys string) error {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	c.port = free.Addr().(*net.TCPAddr).Port
	if err := free.Close(); err != nil {
		return err
	}
	text := fmt.Sprintf("ListenAddress 127.0.0.1\nPort %d\nHostKey %s/host\nAuthorizedKeysFile %s/id.pub\nStrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin yes\n"+
		"MaxStartups 100\nSetEnv HOME=%s\nLogLevel ERROR\n", c.port, keys, keys, filepath.Join(c.dir, "home"))
	if err := os.WriteFile(filepath.Join(c.dir, "sshd_config"), []byte(text), 0o600); err != nil {
		return err
	}
	return c.start()
}

// start boots the host: sshd is its PID 1.
func (c *cell) start() error {
	id := make([]byte, 16)
	_, _ = rand.Read(id)
	if err := os.WriteFile(filepath.Join(c.dir, "boot_id"), fmt.Appendf(nil, "%x-%x-%x-%x-%x\n", id[:4], id[4:6], id[6:8], id[8:10], id[10:]), 0o644); err != nil {
		return err
	}
	boot := exec.Command("nsenter", "--target", strconv.Itoa(c.holder.Process.Pid), "--mount", "--",
		"unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "/bin/sh", "-c",
		`mount --bind "$0/boot_id" /proc/sys/kernel/random/boot_id && exec /usr/sbin/sshd -D -e -f "$0/sshd_config"`, c.dir)
	log, err := os.OpenFile(filepath.Join(c.dir, "sshd.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	boot.Stdout, boot.Stderr = log, log
	boot.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := boot.Start(); err != nil {
		return err
	}
	c.mu.Lock()
	c.boot = boot
	c.mu.Unlock()
	for range 500 {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", c.port))
		if err == nil {
			return conn.Close()
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("the sshd of %s does not answer", c.dir)
}

// halt kills all processes of the host.
func (c *cell) halt() {
	c.mu.Lock()
	boot := c.boot
	c.boot = nil
	c.mu.Unlock()
	if boot == nil {
		return
	}
	if all := Descendants(boot.Process.Pid); len(all) > 1 {
		_ = syscall.Kill(all[1], syscall.SIGKILL) // PID 1: the kernel kills the others
	}
	_ = boot.Process.Kill()
	_ = boot.Wait()
}

// processes lists the processes of the host.
func (c *cell) processes() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.boot == nil {
		return nil
	}
	return Descendants(c.boot.Process.Pid)
}

// inside lists the processes in the mounts of the cell.
func (c *cell) inside() []int {
	own, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", c.holder.Process.Pid))
	if err != nil {
		return nil
	}
	links, _ := filepath.Glob("/proc/[0-9]*/ns/mnt")
	var all []int
	for _, link := range links {
		if is, _ := os.Readlink(link); is == own {
			pid, _ := strconv.Atoi(strings.Split(link, "/")[2])
			all = append(all, pid)
		}
	}
	return all
}
