package start

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

func TestScriptHasNothingThatAShellWouldChange(t *testing.T) {
	for _, text := range []string{script, takeScript} {
		require.NotRegexp(t, regexp.MustCompile("['\"`\\\\\n!]"), text)
		require.Less(t, len(text), 4096)
	}
	for _, constant := range []string{announce, fresh} { // within single quotes only
		require.NotRegexp(t, regexp.MustCompile("['`\\\\\n!]"), constant)
	}
}

func TestCommandLine(t *testing.T) {
	const hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	start := Request{
		Nonce: "abcdefgh", Facts: "host,mem",
		Builds: []Build{{OS: "linux", Arch: "amd64", SHA256: hash, Size: 12, CompressedSize: 3}},
	}
	line, err := commandLine(start, modePlain)
	require.NoError(t, err)
	require.Equal(t, "/bin/sh -c '"+script+"' sh abcdefgh host,mem plain linux/amd64:"+hash+":12", line)

	args := " sh abcdefgh host,mem begin linux/amd64:" + hash + ":12"
	plain := "/bin/sh -c '" + script + "'" + args
	inner := "/bin/sh -c '" + fresh + "' sh " + plain
	const introduced = `/bin/sh -c '` + announce + `' become- abcdefgh /usr/bin/env LANGUAGE=C `
	secret := transport.NewSecret([]byte("pw"))
	for _, test := range []struct {
		become Become
		want   string
	}{
		{Become{User: "app-1"}, "/usr/bin/env LANGUAGE=C sudo -n -H -u app-1 -- " + plain},
		{Become{Method: "sudo", Password: secret}, "/usr/bin/env LANGUAGE=C sudo -S -p owner=%p:abcdefgh%%: -H -u root -- " + plain},
		{Become{Method: "doas"}, "/usr/bin/env LANGUAGE=C doas -n -u root -- " + inner},
		{Become{Method: "doas", Password: secret}, introduced + "doas -u root -- " + inner},
		{Become{Method: "su", User: "app"}, introduced + "su app -c '" + strings.ReplaceAll(inner, "'", `'\''`) + "'"},
		{Become{Method: "su", User: "app", Password: secret}, introduced + "su app -c '" + strings.ReplaceAll(inner, "'", `'\''`) + "'"},
	} {
		start.Become = &test.become
		line, err = commandLine(start, modeBegin)
		require.NoError(t, err)
		require.Equal(t, test.want, line)
	}
	start.Become = nil

	for _, bad := range []string{"", "a b", "$(id)", "a;b", "a'b", `a\b`, "a\nb", "=ls", "%self", "~", "a*", "é", "a!b", "#0"} {
		start.Facts = bad
		_, err := commandLine(start, modePlain)
		require.EqualError(t, err, fmt.Sprintf("%q cannot be passed to the host: only letters, digits and _.,:/=@%%+- can", bad))
	}
	start.Facts, start.Become = "-", &Become{User: "root; id"}
	_, err = commandLine(start, modePlain)
	require.ErrorContains(t, err, `"root; id" cannot be passed`)
}

func FuzzCommandLine(f *testing.F) {
	f.Add("-", "root")
	f.Add("host,mem", "a b")
	f.Add("$(id)", "'; id; '")
	f.Fuzz(func(t *testing.T, facts, user string) {
		for _, method := range Methods {
			for _, password := range []*transport.Secret{nil, transport.NewSecret([]byte("pw"))} {
				line, err := commandLine(Request{Nonce: "abcdefgh", Facts: facts, Become: &Become{Method: method, User: user, Password: password}}, modePlain)
				if err != nil {
					continue
				}
				rest := strings.NewReplacer(script, "", fresh, "", announce, "", `'\''`, "", "'", "").Replace(line)
				require.NotRegexp(t, regexp.MustCompile("[^A-Za-z0-9_.,:/=@%+ -]"), rest)
				require.NotContains(t, rest, "pw")
			}
		}
	})
}

// interpreters are the programs that may be /bin/sh on a host.
func interpreters(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	var commands []string
	for _, argv := range [][]string{{"sh"}, {"dash"}, {"bash", "--posix"}, {"busybox", "sh"}, {"ksh93"}, {"zsh", "--emulate", "sh"}} {
		path, err := exec.LookPath(argv[0])
		if err != nil {
			t.Logf("NOT TESTED with %s: it is not installed", argv[0])
			continue
		}
		program, err := filepath.EvalSymlinks(path)
		require.NoError(t, err)
		command := strings.Join(append([]string{program}, argv[1:]...), " ")
		if slices.Contains(commands, command) { // as dash often is sh
			continue
		}
		commands = append(commands, command)
		found[argv[0]] = append([]string{path}, argv[1:]...)
	}
	require.NotEmpty(t, found)
	return found
}

// A place is where the script runs in a test: a home directory, and something
// instead of /var/tmp and /tmp.
type place struct {
	t           *testing.T
	interpreter []string
	home, temps string
	path        string
	script      string
	build       Build
	stderr      string // standard error of the last run
}

func newPlace(t *testing.T, interpreter []string) *place {
	dir := t.TempDir()
	p := &place{t: t, interpreter: interpreter, home: filepath.Join(dir, "ho me"), temps: filepath.Join(dir, "t"), path: os.Getenv("PATH"), script: script, build: hello(t)}
	require.NoError(t, os.MkdirAll(p.home, 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(p.temps, "var/tmp"), 0o700))
	return p
}

func (p *place) cache() string  { return filepath.Join(p.home, ".cache/ccm-push") }
func (p *place) cached() string { return filepath.Join(p.cache(), p.build.SHA256) }
func (p *place) second() string {
	return filepath.Join(p.temps, fmt.Sprintf("var/tmp/ccm-push-%d", os.Getuid()))
}

const testNonce = "NoNcE123"

// run returns the standard output, with the greeting line shortened to "hello".
func (p *place) run(mode string, stdin []byte) string {
	text := strings.NewReplacer(" /var/tmp/", " "+p.temps+"/var/tmp/", " /tmp/", " "+p.temps+"/tmp/").Replace(p.script)
	b := p.build
	args := append(p.interpreter[1:len(p.interpreter):len(p.interpreter)], "-c", text, "sh", testNonce, "-", mode,
		"plan9/mips:"+strings.Repeat("0", 64)+":1",
		fmt.Sprintf("%s/%s:%s:%d", b.OS, b.Arch, b.SHA256, b.Size))
	cmd := exec.Command(p.interpreter[0], args...)
	cmd.Dir = filepath.Dir(p.home)
	cmd.Env = []string{"HOME=" + p.home, "PATH=" + p.path}
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, _ := cmd.Output()
	p.stderr = stderr.String()
	p.t.Logf("stderr: %s", p.stderr)
	lines := strings.SplitAfter(string(out), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, `{"hello":{"nonce":"`+testNonce) {
			lines[i] = "hello\n"
		}
	}
	return strings.Join(lines, "")
}

// brought creates a file, as another user may have put it on the host.
func (p *place) brought(text []byte) string {
	file, err := os.CreateTemp(p.temps, "brought")
	require.NoError(p.t, err)
	defer file.Close()
	_, err = file.Write(text)
	require.NoError(p.t, err)
	return file.Name()
}

// install puts the build where a start finds it.
func (p *place) install() {
	require.Equal(p.t, p.need()+"hello\n", p.run(modePlain, p.build.sent(p.t)))
}

func (p *place) need() string {
	return fmt.Sprintf("need %s %s %s\n", testNonce, p.build.OS, p.build.Arch)
}

// times returns the input of a script that requests the build n times, followed by more.
func (p *place) times(n int, more string) []byte {
	return append(bytes.Repeat(p.build.sent(p.t), n), more...)
}

// gone returns the output of a start that needs the build in the first possible place, and whose input ends.
func (p *place) gone() string { return p.need() + "fail " + testNonce + " unpack " + p.cache() + "\n" }

// requireFiles holds the files of a directory against a list of names.
func (p *place) requireFiles(dir string, names ...string) {
	p.t.Helper()
	var have []string
	entries, err := os.ReadDir(dir)
	require.NoError(p.t, err)
	for _, e := range entries {
		have = append(have, e.Name())
	}
	require.ElementsMatch(p.t, names, have)
}

func TestScript(t *testing.T) {
	for name, interpreter := range interpreters(t) {
		t.Run(name, func(t *testing.T) {
			for _, test := range scriptTests {
				t.Run(test.name, func(t *testing.T) { test.run(newPlace(t, interpreter)) })
			}
		})
	}
}

// unameUnlessKernelSays returns uname if the script has to run it.
func unameUnlessKernelSays() []string {
	if _, err := os.Stat("/proc/sys/kernel/arch"); err == nil {
		return nil
	}
	return []string{"uname"}
}

var scriptTests = []struct {
	name string
	run  func(p *place)
}{
	{"asks, and leaves nothing when nothing comes", func(p *place) {
		require.Equal(p.t, p.gone(), p.run(modePlain, nil))
		p.requireFiles(p.cache())
		info, err := os.Stat(p.cache())
		require.NoError(p.t, err)
		require.Equal(p.t, os.ModeDir|0o700, info.Mode())
	}},
	{"reads the build from stdin", func(p *place) {
		p.install()
		p.requireFiles(p.cache(), p.build.SHA256)
	}},
	{"needs only ls when converged", func(p *place) {
		p.install()
		bin := p.t.TempDir()
		for _, name := range append(unameUnlessKernelSays(), "ls") {
			path, err := exec.LookPath(name)
			require.NoError(p.t, err)
			require.NoError(p.t, os.Symlink(path, filepath.Join(bin, name)))
		}
		p.path = bin
		require.Equal(p.t, "hello\nin", p.run(modePlain, []byte("in")))
	}},
	{"asks uname where the kernel says nothing", func(p *place) {
		p.install()
		p.script = strings.Replace(script, "/proc/sys/kernel/arch", "/nowhere/arch", 1)
		require.NotEqual(p.t, script, p.script)
		require.Equal(p.t, "hello\n", p.run(modePlain, nil))
		require.Equal(p.t, "hello on stderr\n", p.stderr)
	}},
	{"begins by saying so behind an escalation", func(p *place) {
		require.Equal(p.t, p.need()+"hello\n", p.run(modeBegin, p.build.sent(p.t)))
		require.Contains(p.t, p.stderr, begun(testNonce)+"\n")
		require.Equal(p.t, "hello\n", p.run(modePlain, nil))
		require.NotContains(p.t, p.stderr, begun(testNonce))
	}},
	{"starts few processes when it installs", func(p *place) {
		if filepath.Base(p.interpreter[0]) == "busybox" {
			p.t.Skip("busybox has tools of its own")
		}
		bin, log := p.t.TempDir(), filepath.Join(p.home, "log")
		names := append(unameUnlessKernelSays(), "id", "mkdir", "ls", "chmod", "head", "tee", "gzip", "sha256sum", "rm", "mv")
		for _, name := range names {
			path, err := exec.LookPath(name)
			require.NoError(p.t, err)
			text := fmt.Sprintf("#!/bin/sh\necho %s >>'%s'\nexec %s \"$@\"\n", name, log, path)
			require.NoError(p.t, os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755))
		}
		p.path = bin
		p.install()
		said, err := os.ReadFile(log)
		require.NoError(p.t, err)
		require.ElementsMatch(p.t, append(names, "ls"), strings.Fields(string(said)))
	}},
	{"does with a head that cannot count bytes", func(p *place) {
		if filepath.Base(p.interpreter[0]) == "busybox" {
			p.t.Skip("busybox has a head of its own")
		}
		bin := p.t.TempDir()
		old := "#!/bin/sh\necho head: illegal option -- c >&2\nexit 1\n"
		require.NoError(p.t, os.WriteFile(filepath.Join(bin, "head"), []byte(old), 0o755))
		p.path = bin + ":" + p.path
		require.Equal(p.t, p.need()+"hello\nin", p.run(modePlain, append(p.build.sent(p.t), "in"...)))
		p.requireFiles(p.cache(), p.build.SHA256)
	}},
	{"refuses another hash", func(p *place) {
		other, err := packBuild(bytes.Repeat([]byte("x"), int(p.build.Size)))
		require.NoError(p.t, err)
		other.CompressedSHA256 = p.build.CompressedSHA256
		require.Equal(p.t, p.need()+"fail "+testNonce+" hash "+p.cache()+"\n", p.run(modePlain, other.sent(p.t)))
		p.requireFiles(p.cache())
	}},
	{"refuses one changed byte, wherever it is", func(p *place) {
		packed := p.build.compressed(p.t)
		for _, at := range []int{0, 4, len(packed) / 2, len(packed) - 8, len(packed) - 4} { // magic, time, data, checksum, length
			changed := bytes.Clone(packed)
			changed[at] ^= 1
			out := p.run(modePlain, append([]byte(p.build.header()), changed...))
			require.Regexp(p.t, "^"+p.need()+"fail "+testNonce+" (unpack|hash) "+p.cache()+"\n$", out, at)
			p.requireFiles(p.cache())
		}
	}},
	{"refuses another size", func(p *place) {
		p.build.Size++
		require.Equal(p.t, p.need()+"fail "+testNonce+" hash "+p.cache()+"\n", p.run(modePlain, p.build.sent(p.t)))
		p.requireFiles(p.cache())
	}},
	{"refuses what was cut short", func(p *place) {
		sent := p.build.sent(p.t)
		for _, n := range []int{0, 5, len(p.build.header()) - 1, len(p.build.header()), 1000, len(sent) / 2, len(sent) - 1} {
			require.Equal(p.t, p.gone(), p.run(modePlain, sent[:n]), n)
			p.requireFiles(p.cache())
		}
	}},
	{"takes the build from a file", func(p *place) {
		file := p.brought(p.build.compressed(p.t))
		require.Equal(p.t, p.need()+"hello\nin", p.run(modePlain, []byte(p.build.headerOf(file)+"in")))
		p.requireFiles(p.cache(), p.build.SHA256)
		require.FileExists(p.t, file)
	}},
	{"asks again where the file is of no use", func(p *place) {
		packed := p.build.compressed(p.t)
		changed := bytes.Clone(packed)
		changed[len(packed)/2] ^= 1
		link, fifo := filepath.Join(p.temps, "link"), filepath.Join(p.temps, "fifo")
		require.NoError(p.t, os.Symlink(p.brought(packed), link))
		require.NoError(p.t, syscall.Mkfifo(fifo, 0o600))
		for name, file := range map[string]string{
			"changed": p.brought(changed), "cut short": p.brought(packed[:1000]), "empty": p.brought(nil), "longer": p.brought(append(changed, 'x')),
			"no file": "/nonexistent", "a directory": p.temps, "a link": link, "a pipe": fifo, "a device": "/dev/zero",
		} {
			require.NoError(p.t, os.RemoveAll(p.cache()))
			require.Equal(p.t, p.need()+p.need()+"hello\n", p.run(modePlain, append([]byte(p.build.headerOf(file)), p.build.sent(p.t)...)), name)
			p.requireFiles(p.cache(), p.build.SHA256)
			require.NoError(p.t, os.RemoveAll(p.cache()))
			require.Equal(p.t, p.need()+p.gone(), p.run(modePlain, []byte(p.build.headerOf(file))), name)
			p.requireFiles(p.cache())
		}
	}},
	{"sees a truncated cache", func(p *place) {
		p.install()
		require.NoError(p.t, os.Truncate(p.cached(), p.build.Size-1))
		require.Equal(p.t, p.need()+"hello\n", p.run(modePlain, p.build.sent(p.t)))
		require.Equal(p.t, "hello\n", p.run(modePlain, nil))
	}},
	{"replaces a cache of another content when told to", func(p *place) {
		p.install()
		require.NoError(p.t, os.WriteFile(p.cached(), bytes.Repeat([]byte{0}, int(p.build.Size)), 0o700))
		require.NotContains(p.t, p.run(modePlain, nil), "need")
		require.Equal(p.t, p.need()+"hello\n", p.run(modeAgain, p.build.sent(p.t)))
		require.Equal(p.t, "hello\n", p.run(modePlain, nil))
		p.requireFiles(p.cache(), p.build.SHA256)
	}},
	{"sees a cached file of another mode", func(p *place) {
		p.install()
		for _, mode := range []os.FileMode{0o600, 0o755, 0o777, 0o700 | os.ModeSetuid} {
			require.NoError(p.t, os.Chmod(p.cached(), mode))
			require.Equal(p.t, p.gone(), p.run(modePlain, nil), mode)
		}
	}},
	{"sees a cached link", func(p *place) {
		p.install()
		elsewhere := filepath.Join(p.home, "elsewhere")
		require.NoError(p.t, os.Rename(p.cached(), elsewhere))
		require.NoError(p.t, os.Symlink(elsewhere, p.cached()))
		require.Equal(p.t, p.need()+"hello\n", p.run(modePlain, p.build.sent(p.t)))
		info, err := os.Lstat(p.cached())
		require.NoError(p.t, err)
		require.True(p.t, info.Mode().IsRegular())
	}},
	{"goes elsewhere from a directory that others can enter", func(p *place) {
		p.install()
		for _, mode := range []os.FileMode{0o755, 0o770, 0o777, 0o701} {
			require.NoError(p.t, os.Chmod(p.cache(), mode))
			require.NoError(p.t, os.RemoveAll(p.second()))
			require.Equal(p.t, p.need()+"hello\n", p.run(modePlain, p.build.sent(p.t)))
			p.requireFiles(p.second(), p.build.SHA256)
			require.Equal(p.t, "hello\n", p.run(modePlain, nil))
		}
	}},
	{"goes elsewhere from a linked directory", func(p *place) {
		p.install()
		elsewhere := filepath.Join(p.home, "elsewhere")
		require.NoError(p.t, os.Rename(p.cache(), elsewhere))
		require.NoError(p.t, os.Symlink(elsewhere, p.cache()))
		require.Equal(p.t, p.need()+"hello\n", p.run(modePlain, p.build.sent(p.t)))
		p.requireFiles(p.second(), p.build.SHA256)
	}},
	{"goes elsewhere from another user's directory", func(p *place) {
		skipUnlessRoot(p.t)
		p.install()
		require.NoError(p.t, os.Chown(p.cache(), 65534, 65534))
		require.Equal(p.t, p.need()+"hello\n", p.run(modePlain, p.build.sent(p.t)))
		p.requireFiles(p.second(), p.build.SHA256)
	}},
	{"does not make a home", func(p *place) {
		require.NoError(p.t, os.Remove(p.home))
		require.Equal(p.t, p.need()+"hello\n", p.run(modePlain, p.build.sent(p.t)))
		require.NoDirExists(p.t, p.home)
		p.requireFiles(p.second(), p.build.SHA256)
		p.home = ""
		require.NoError(p.t, os.RemoveAll(p.second()))
		require.Equal(p.t, p.need()+"hello\n", p.run(modePlain, p.build.sent(p.t)))
	}},
	{"does not start another user's file", func(p *place) {
		skipUnlessRoot(p.t)
		p.install()
		require.NoError(p.t, os.Chown(p.cached(), 65534, 65534))
		require.Equal(p.t, p.gone(), p.run(modePlain, nil))
	}},
	{"says that no directory will do", func(p *place) {
		require.NoError(p.t, os.WriteFile(filepath.Join(p.home, ".cache"), nil, 0o600))
		require.NoError(p.t, os.RemoveAll(p.temps))
		require.NoError(p.t, os.WriteFile(p.temps, nil, 0o600))
		out := p.run(modePlain, p.build.sent(p.t))
		require.Equal(p.t, fmt.Sprintf("fail %s nodir %s/tmp/ccm-push-%d\n", testNonce, p.temps, os.Getuid()), out)
	}},
	{"says that there is no build", func(p *place) {
		osname, arch := p.build.OS, p.build.Arch
		p.build.OS = "beos"
		require.Equal(p.t, fmt.Sprintf("need %s %s %s\n", testNonce, osname, arch), p.run(modePlain, nil))
	}},
	{"says that gzip is missing, and takes what comes in another way", func(p *place) {
		if filepath.Base(p.interpreter[0]) == "busybox" {
			p.t.Skip("busybox has a gzip of its own")
		}
		bin := p.t.TempDir()
		for _, name := range []string{"uname", "ls", "id", "mkdir", "chmod", "rm"} {
			path, err := exec.LookPath(name)
			require.NoError(p.t, err)
			require.NoError(p.t, os.Symlink(path, filepath.Join(bin, name)))
		}
		p.path = bin
		lacks := strings.TrimSuffix(p.need(), "\n") + " nogzip " + p.cache() + "\n"
		require.Equal(p.t, lacks, p.run(modePlain, nil))
		p.requireFiles(p.cache())
		require.NoError(p.t, os.WriteFile(p.cached(), unpack(p.t, p.build), 0o700))
		require.Equal(p.t, "hello\n", p.run(modeSent, nil))
		require.NoError(p.t, os.Chmod(p.cached(), 0o755))
		require.Equal(p.t, lacks, p.run(modeSent, nil))
		require.NoError(p.t, os.Chmod(p.cache(), 0o755))
		require.Equal(p.t, strings.Replace(lacks, p.cache(), p.second(), 1), p.run(modePlain, nil))
	}},
	{"keeps three other builds, those that were used last", func(p *place) { keepsThree(p, p.install) }},
	{"keeps three other builds when one was put there without it", func(p *place) {
		keepsThree(p, func() {
			require.NoError(p.t, os.WriteFile(p.cached(), unpack(p.t, p.build), 0o700))
			require.Equal(p.t, "hello\n", p.run(modeSent, nil))
		})
	}},
	{"goes elsewhere from a noexec file system", func(p *place) {
		mount(p.t, p.home, "noexec")
		require.Equal(p.t, p.need()+"hello\n", p.run(modePlain, p.build.sent(p.t)))
		p.requireFiles(p.second(), p.build.SHA256)
		require.Equal(p.t, "hello\n", p.run(modePlain, nil))
		mount(p.t, p.temps, "noexec")
		require.Equal(p.t, fmt.Sprintf("fail %s noexec %s/tmp/ccm-push-%d\n", testNonce, p.temps, os.Getuid()), p.run(modePlain, nil))
	}},
	{"says that a file system is read-only", func(p *place) {
		mount(p.t, p.home, "ro")
		require.Equal(p.t, p.need()+"hello\n", p.run(modePlain, p.build.sent(p.t)))
		p.requireFiles(p.second(), p.build.SHA256)
		mount(p.t, p.temps, "ro")
		require.Equal(p.t, fmt.Sprintf("fail %s readonly %s/tmp/ccm-push-%d\n", testNonce, p.temps, os.Getuid()), p.run(modePlain, nil))
	}},
	{"goes elsewhere from a full disk", func(p *place) {
		mount(p.t, p.home, "size=64k")
		require.Equal(p.t, p.need()+p.need()+"hello\nin", p.run(modePlain, p.times(2, "in")))
		p.requireFiles(p.cache())
		p.requireFiles(p.second(), p.build.SHA256)
		require.Equal(p.t, "hello\n", p.run(modePlain, nil), "the next start finds it")
		mount(p.t, p.temps, "size=64k")
		require.Equal(p.t, strings.Repeat(p.need(), directories)+fmt.Sprintf("fail %s nospace %s/tmp/ccm-push-%d\n", testNonce, p.temps, os.Getuid()), p.run(modePlain, p.times(directories, "")))
		p.requireFiles(p.cache())
	}},
	{"goes elsewhere when there is room for a part only", func(p *place) {
		mount(p.t, p.home, fmt.Sprintf("size=%d", p.build.Size))
		require.Equal(p.t, p.need()+p.need()+"hello\nin", p.run(modePlain, p.times(2, "in")))
		p.requireFiles(p.cache())
		p.requireFiles(p.second(), p.build.SHA256)
	}},
	{"does not go where others could write from a full disk", func(p *place) {
		full(p)
		require.NoError(p.t, os.Mkdir(p.second(), 0o777))
		require.NoError(p.t, os.Chmod(p.second(), 0o777))
		require.NoError(p.t, os.MkdirAll(filepath.Join(p.temps, "tmp"), 0o700))
		require.NoError(p.t, os.MkdirAll(filepath.Join(p.temps, "else"), 0o700))
		third := filepath.Join(p.temps, fmt.Sprintf("tmp/ccm-push-%d", os.Getuid()))
		require.NoError(p.t, os.Symlink(filepath.Join(p.temps, "else"), third))
		require.Equal(p.t, p.need()+fmt.Sprintf("fail %s nospace %s\n", testNonce, third), p.run(modePlain, p.times(1, "")))
		p.requireFiles(p.second())
		p.requireFiles(filepath.Join(p.temps, "else"))
	}},
	{"tries its directories one after the other while they are full", func(p *place) {
		full(p)
		require.Equal(p.t, p.need()+p.need()+"hello\nin", p.run(modePlain, p.times(2, "in")))
		p.requireFiles(p.cache())
		p.requireFiles(p.second(), p.build.SHA256)
	}},
	{"goes elsewhere from a disk that takes no file", func(p *place) {
		mount(p.t, p.home, "nr_inodes=1")
		require.Equal(p.t, p.need()+"hello\n", p.run(modePlain, p.build.sent(p.t)))
		p.requireFiles(p.second(), p.build.SHA256)
	}},
}

// full replaces gzip by one that finds no room in the home directory.
func full(p *place) {
	real, err := exec.LookPath("gzip")
	require.NoError(p.t, err)
	bin := p.t.TempDir()
	text := fmt.Sprintf("#!/bin/sh\ncase $PWD in */.cache/ccm-push) echo gzip: stdout: No space left on device >&2; exit 1;; esac\nexec %s \"$@\"\n", real)
	require.NoError(p.t, os.WriteFile(filepath.Join(bin, "gzip"), []byte(text), 0o755))
	p.path = bin + ":" + p.path
}

// keepsThree checks that an installation removes old files.
func keepsThree(p *place, install func()) {
	require.NoError(p.t, os.MkdirAll(filepath.Join(p.cache(), "sub"), 0o700))
	old := func(name string, days int) {
		path := filepath.Join(p.cache(), name)
		require.NoError(p.t, os.WriteFile(path, nil, 0o700))
		at := time.Now().AddDate(0, 0, -days)
		require.NoError(p.t, os.Chtimes(path, at, at))
	}
	var kept []string
	for days := range 6 {
		name := strings.Repeat(string(rune('a'+days)), 64)
		old(name, days)
		if days < 3 {
			kept = append(kept, name)
		}
	}
	other := strings.Repeat("h", 59) + ".lock" // as long as a hash
	for _, name := range []string{other, "host.refreshes.json", ".new", "sub/.old", "sub/x.gz"} {
		old(name, 0)
	}
	for _, name := range []string{".old", "x.gz", ".old.gz"} {
		old(name, 3)
	}
	install()
	p.requireFiles(p.cache(), append(kept, p.build.SHA256, other, "host.refreshes.json", ".new", "sub")...)
	p.requireFiles(filepath.Join(p.cache(), "sub"), ".old", "x.gz")
}

func skipUnlessRoot(t *testing.T) {
	needs.Root(t, "only root can set this up")
}

// mount puts a tmpfs on dir for the rest of the test.
func mount(t *testing.T, dir, options string) {
	skipUnlessRoot(t)
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: cannot mount: %s", out)
	}
	t.Cleanup(func() {
		out, err := exec.Command("umount", dir).CombinedOutput()
		require.NoError(t, err, string(out))
	})
}

// TestOnlyBusybox starts where every tool of the script is a busybox applet.
func TestOnlyBusybox(t *testing.T) {
	busybox := needs.Program(t, "busybox")
	bin := t.TempDir()
	for _, name := range []string{"uname", "ls", "id", "mkdir", "chmod", "rm", "mv", "head", "tee", "gzip", "sha256sum"} {
		require.NoError(t, os.Symlink(busybox, filepath.Join(bin, name)))
	}
	c := connect(t, sshtest.Start(t, sshtest.Env("PATH="+bin)))
	for _, uploaded := range []bool{true, false} {
		p, err := Program(t.Context(), c, newStart(hello(t)))
		require.NoError(t, err)
		require.Equal(t, uploaded, p.Uploaded)
		requireEcho(t, p)
	}
}

// TestLoginShells starts the module through every login shell there is.
func TestLoginShells(t *testing.T) {
	for _, argv := range [][]string{{"sh"}, {"dash"}, {"bash"}, {"busybox", "sh"}, {"ksh93"}, {"zsh"}, {"tcsh"}, {"csh"}, {"fish"}} {
		t.Run(argv[0], func(t *testing.T) {
			if argv[0] == "ksh93" {
				needs.Extra(t, argv[0])
			}
			path := needs.Program(t, argv[0])
			shell := append(append([]string{path}, argv[1:]...), "-c")
			srv := sshtest.Start(t, sshtest.Shell(shell...))
			c := connect(t, srv)
			for _, uploaded := range []bool{true, false} {
				p, err := Program(t.Context(), c, newStart(hello(t)))
				require.NoError(t, err)
				require.Equal(t, uploaded, p.Uploaded)
				requireEcho(t, p)
			}
		})
	}
}
