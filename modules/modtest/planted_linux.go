package modtest

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A Trap is a resource of root in a directory of an ordinary user, $ROOT/home/conf,
// that this user would rather have be a link to $ROOT/etc, which is root's.
type Trap struct {
	Name       string
	Properties string // in JSON
	Own        []Node // is in $ROOT/home/conf, and belongs to the user
	Roots      []Node // is in $ROOT/etc, and belongs to root
}

// secret is text that only files of root may contain.
const secret = "only root may read this\n"

// Secret is a file that the user must not get to read.
func Secret(path string) Node { return Node{Path: path, Text: secret, Mode: 0o640} }

// raceEnv is the environment variable with the duration of each race.
const raceEnv = "CCM_RACE"

// raceTime is the duration of each race unless raceEnv is set.
const raceTime = 2 * time.Second

// exchangeEnv has the test program exchange two names instead.
const exchangeEnv = "CCM_EXCHANGE"

// Trapped tests a type against an attacker that plants links. A check run refuses existing links with the same message
// as the run that follows. A link that appears and disappears does not divert changes by root. The test must do nothing
// else, and needs root.
func Trapped(t *testing.T, typ modules.Type, traps ...Trap) {
	if dir := os.Getenv(exchangeEnv); dir != "" {
		exchange(t, dir)
		return
	}
	needs.Root(t, "only root acts in the directories of others")
	for _, trap := range traps {
		t.Run(trap.Name, func(t *testing.T) {
			t.Run("planted", func(t *testing.T) { trap.planted(t, typ) })
			t.Run("own", func(t *testing.T) { trap.own(t, typ) })
			t.Run("race", func(t *testing.T) { trap.race(t, typ) })
		})
	}
}

// home makes the directories. The directory that the user calls conf is at $ROOT/home/real.
func (p Trap) home(t *testing.T) (root string) {
	root = Root(t)
	require.NoError(t, os.Chmod(filepath.Dir(root), 0o755)) // the user goes there too
	for _, dir := range []string{"home", "home/real", "etc"} {
		require.NoError(t, os.Mkdir(filepath.Join(root, dir), 0o755))
	}
	Build(t, filepath.Join(root, "etc"), p.Roots)
	p.fill(t, filepath.Join(root, "home/real"))
	for _, dir := range []string{"home", "home/real"} {
		require.NoError(t, os.Chown(filepath.Join(root, dir), nobody, nobody))
	}
	return root
}

// fill restores the first content of a directory.
func (p Trap) fill(t *testing.T, dir string) {
	names, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, n := range names {
		require.NoError(t, os.RemoveAll(filepath.Join(dir, n.Name())))
	}
	Build(t, dir, p.Own)
	for _, n := range p.Own {
		require.NoError(t, os.Lchown(filepath.Join(dir, n.Path), nobody, nobody))
	}
}

func (p Trap) link(t *testing.T, root, target, name string) {
	name = filepath.Join(root, "home", name)
	require.NoError(t, os.Symlink(filepath.Join(root, target), name))
	require.NoError(t, os.Lchown(name, nobody, nobody))
}

// scenario returns a scenario in which the resource follows another one that has something to do, so that a check run
// uses its forecast.
func (p Trap) scenario(typ modules.Type) (modules.Registry, Scenario) {
	return modules.Registry{typ, noteType()}, Scenario{Steps: []Step{
		{Type: typ.Name, Properties: p.Properties}, {Type: "note", Properties: "{}"}, {Type: typ.Name, Properties: p.Properties},
	}}
}

// planted has the link be there.
func (p Trap) planted(t *testing.T, typ modules.Type) {
	root := p.home(t)
	p.link(t, root, "etc", "conf")
	before := Snapshot(t, filepath.Join(root, "etc"))
	types, s := p.scenario(typ)
	predicted, real := s.runOn(t, types, root, true), s.runOn(t, types, root, false)
	require.Equal(t, before, Snapshot(t, filepath.Join(root, "etc")))
	for _, i := range []int{0, 2} {
		require.Equal(t, real[i].Error, predicted[i].Error)
		require.Equal(t, `"`+root+`/home/conf" is a link of user 65534 to "`+root+`/etc", in a directory where others than root may write `+
			`(owner 65534, mode 0755): its target belongs to user 0; `+
			`write the path that it leads to, or put a directory in the place of the link`, real[i].Error)
		require.Equal(t, modules.Certain, predicted[i].Grade)
	}
}

// own has the link lead to a directory of the user's own.
func (p Trap) own(t *testing.T, typ modules.Type) {
	root := p.home(t)
	p.link(t, root, "home/real", "conf")
	types, s := p.scenario(typ)
	for _, r := range s.runOn(t, types, root, false)[:1] {
		require.Equal(t, wire.Changed, r.Status, r.Error)
	}
}

// race has the user exchange the directory and the link all the time.
func (p Trap) race(t *testing.T, typ modules.Type) {
	root := p.home(t)
	p.link(t, root, "etc", "evil")
	require.NoError(t, os.Rename(filepath.Join(root, "home/real"), filepath.Join(root, "home/conf")))
	real, err := os.OpenRoot(filepath.Join(root, "home/conf"))
	require.NoError(t, err)
	defer real.Close()
	opened, err := real.Open(".")
	require.NoError(t, err)
	defer opened.Close()
	inside := filepath.Join("/proc/self/fd", decimal(opened.Fd()))
	before := State(t, filepath.Join(root, "etc"))
	end := startExchange(t, filepath.Join(root, "home"))
	duration := raceTime
	if text := os.Getenv(raceEnv); text != "" {
		duration, err = time.ParseDuration(text)
		require.NoError(t, err)
	}
	res := Decode(t, modules.Registry{typ}, typ.Name, p.Properties, root)
	done, refused := 0, 0
	for began := time.Now(); time.Since(began) < duration; {
		p.fill(t, inside)
		if err := once(t, res); err != nil {
			refused++
		} else {
			done++
		}
		p.noSecret(t, inside)
		if done+refused&31 == 0 {
			require.Equal(t, before, State(t, filepath.Join(root, "etc")))
		}
	}
	end()
	require.Equal(t, before, State(t, filepath.Join(root, "etc")))
	require.NotZero(t, done, "the attack has only hindered")
	require.NotZero(t, refused, "nobody has attacked")
	t.Logf("%d done, %d refused", done, refused)
}

// noSecret makes sure that what root alone may read is in no file of the user.
func (p Trap) noSecret(t *testing.T, dir string) {
	top, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer top.Close()
	for _, n := range p.Own {
		if text, err := top.ReadFile(n.Path); err == nil {
			require.NotContains(t, string(text), secret)
		}
	}
}

// once applies a resource, if that is allowed.
func once(t *testing.T, res modules.Resource) error {
	h := Host()
	plan, err := modules.Compare(t.Context(), res, looking(h))
	if r, ok := res.(modules.Reverser); ok && err == nil {
		if back, err := r.Reversal(t.Context(), looking(h), nil); err == nil {
			if content, ok := back["content"].(map[string]any); ok {
				require.NotContains(t, string(content["data"].([]byte)), secret, "notes for the way back")
			}
		}
	}
	if err == nil && plan.Action != "" {
		err = res.Apply(t.Context(), h, plan)
	}
	return err
}

// startExchange starts the user, until end is called.
func startExchange(t *testing.T, home string) (end func()) {
	t.Helper()
	dir, err := os.MkdirTemp("", "exchange")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	self, err := os.Executable()
	require.NoError(t, err)
	text, err := os.ReadFile(self)
	require.NoError(t, err)
	program := filepath.Join(dir, "tests")
	require.NoError(t, os.WriteFile(program, text, 0o755))
	top := t.Name()
	for filepath.Dir(top) != "." {
		top = filepath.Dir(top)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^"+top+"$", "-test.count=1")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), exchangeEnv+"="+home, "TMPDIR=/tmp")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	require.NoError(t, cmd.Start())
	return func() {
		stdin.Close()
		require.NoError(t, cmd.Wait())
	}
}

// exchange runs the attack of the user until the standard input ends.
func exchange(t *testing.T, home string) {
	ended := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	for n := 0; ; n++ {
		select {
		case <-ended:
			return
		default:
		}
		err := unix.Renameat2(unix.AT_FDCWD, home+"/conf", unix.AT_FDCWD, home+"/evil", unix.RENAME_EXCHANGE)
		require.NoError(t, err)
		if n%63 == 0 { // so that root gets through now and then, one way or the other
			time.Sleep(time.Millisecond)
		}
	}
}
