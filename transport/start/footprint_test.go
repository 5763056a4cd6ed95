package start

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

func TestTracesHasNothingThatAShellWouldChange(t *testing.T) {
	require.NotRegexp(t, regexp.MustCompile("['\"`\\\\\n!]"), footprintScript)
	require.Less(t, len(footprintScript), 4096)
}

func footprint(t *testing.T, c *transport.Client, remove bool) Footprint {
	t.Helper()
	f, err := FootprintOf(t.Context(), c, FootprintRequest{Nonce: testNonce, Remove: remove})
	require.NoError(t, err)
	return f
}

func pathsOf(f Footprint) []string {
	var paths []string
	for _, one := range f.Traces {
		paths = append(paths, one.Path)
	}
	return paths
}

func TestFootprint(t *testing.T) {
	for name, start := range map[string]func(*testing.T) (*transport.Client, string){
		"over SSH": func(t *testing.T) (*transport.Client, string) {
			srv := sshtest.Start(t)
			return connect(t, srv), srv.Home
		},
		"locally": func(t *testing.T) (*transport.Client, string) { return local(t) },
	} {
		t.Run(name, func(t *testing.T) {
			c, home := start(t)
			cache := filepath.Join(home, ".cache/ccm-push")
			elsewhere := pathsOf(footprint(t, c, false)) // in /var/tmp and the like, of others than this test
			for _, path := range elsewhere {
				require.False(t, strings.HasPrefix(path, home))
			}
			if len(elsewhere) > 0 {
				t.Skipf("NOT TESTED: this machine has %v, which removing would remove", elsewhere)
			}
			p, err := Program(t.Context(), c, newStart(hello(t)))
			require.NoError(t, err)
			requireEcho(t, p)
			outside := filepath.Join(home, "outside")
			require.NoError(t, os.Mkdir(outside, 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(outside, "f"), nil, 0o600))
			require.NoError(t, os.Symlink(outside, filepath.Join(cache, "link")))
			require.NoError(t, os.MkdirAll(filepath.Join(cache, "scaffold/a b"), 0o700))
			brought := filepath.Join(cache, "resources", strings.Repeat("0", 64))
			require.NoError(t, os.MkdirAll(filepath.Join(brought, "files/sub"), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(brought, "files/sub/large"), make([]byte, 100_000), 0o400))
			require.NoError(t, os.WriteFile(filepath.Join(brought, "tree.json"), nil, 0o400))
			strange := filepath.Join(cache, "x\nitem:y:\033[2J")
			require.NoError(t, os.WriteFile(strange, []byte("four"), 0o640))

			f := footprint(t, c, false)
			me, err := user.Current()
			require.NoError(t, err)
			require.Equal(t, me.Username, f.User)
			require.WithinDuration(t, time.Now(), f.Now, time.Hour)
			require.ElementsMatch(t, []string{cache + "/", cache + "/link", cache + "/scaffold", cache + "/scaffold/a b", filepath.Join(cache, hello(t).SHA256), cache + "/x",
				cache + "/resources", brought, brought + "/files", brought + "/tree.json"}, pathsOf(f))
			for _, one := range f.Traces {
				require.Equal(t, me.Username, one.Owner)
				switch filepath.Base(one.Path) {
				case hello(t).SHA256:
					require.Equal(t, hello(t).Size, one.Size)
					require.Equal(t, os.FileMode(0o700), one.Mode)
					require.WithinDuration(t, time.Now(), one.Modified, time.Hour)
				case "x":
					require.EqualValues(t, 4, one.Size)
				case "link":
					require.Equal(t, os.ModeSymlink, one.Mode.Type())
				case "files":
					require.True(t, one.Whole)
					require.Greater(t, one.Size, int64(100_000))
				case "scaffold":
					require.True(t, one.Mode.IsDir())
				}
			}

			require.Equal(t, f.Traces, footprint(t, c, true).Traces)
			require.NoDirExists(t, cache)
			require.FileExists(t, filepath.Join(outside, "f"), "a link was followed")
			require.Empty(t, footprint(t, c, true).Traces)
		})
	}
}

func TestFootprintOfALockedHost(t *testing.T) {
	needs.Program(t, "flock")
	c, home := local(t)
	if found := pathsOf(footprint(t, c, false)); len(found) > 0 {
		t.Skipf("NOT TESTED: this machine has %v, which removing would remove", found)
	}
	cache := filepath.Join(home, ".cache/ccm-push")
	require.NoError(t, os.MkdirAll(cache, 0o700))
	lock, err := os.Create(filepath.Join(cache, "host.lock"))
	require.NoError(t, err)
	defer lock.Close()
	_, err = lock.WriteString(`{"holder":"ann \u0041 %s\\","run":"r1","since":"2026-01-02T03:04:05Z"}` + "\n")
	require.NoError(t, err)
	require.Empty(t, footprint(t, c, false).Held, "what stands in the file is not what holds it")
	require.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	for _, remove := range []bool{false, true} {
		require.Equal(t, []Holder{{`ann A %s\`, "r1"}}, footprint(t, c, remove).Held)
		require.FileExists(t, lock.Name())
	}
	require.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_UN))

	if _, err := os.Stat("/proc/self/stat"); err == nil {
		// modules/system writes this line for a command. The script must not take the name for something else.
		program, err := exec.LookPath("sleep")
		require.NoError(t, err)
		text, err := os.ReadFile(program)
		require.NoError(t, err)
		program = filepath.Join(home, "a ) R (b")
		require.NoError(t, os.WriteFile(program, text, 0o700))
		command := exec.Command(program, "60")
		require.NoError(t, command.Start())
		t.Cleanup(func() {
			command.Process.Kill()
			command.Wait()
		})
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", command.Process.Pid))
		require.NoError(t, err)
		began, err := strconv.Atoi(strings.Fields(string(stat[bytes.LastIndexByte(stat, ')'):]))[20])
		require.NoError(t, err)
		end, err := lock.Seek(0, io.SeekEnd)
		require.NoError(t, err)
		for _, test := range []struct {
			name        string
			from, until int
			held        int
		}{
			{"it was started then", began, began, 1},
			{"it was started later", began - 9, began - 1, 0},
			{"it was started before", began + 1, began + 9, 0},
		} {
			_, err = lock.WriteAt(fmt.Appendf(nil, "%-63s\n%-63s\n%-63s\n", "0 1 0", "", fmt.Sprintf("%d %d %d", command.Process.Pid, test.from, test.until)), end)
			require.NoError(t, err)
			require.Len(t, footprint(t, c, false).Held, test.held, test.name)
			if test.held > 0 {
				require.Equal(t, []Holder{{`ann A %s\`, "r1"}}, footprint(t, c, true).Held)
				require.FileExists(t, lock.Name())
			}
		}
	}
	require.NoError(t, lock.Close())
	require.Empty(t, footprint(t, c, true).Held)
	require.NoDirExists(t, cache)
}

// TestFootprintOfWhatIsToBeConfirmed keeps the state without which nothing would be taken back.
func TestFootprintOfWhatIsToBeConfirmed(t *testing.T) {
	c, home := local(t)
	if found := pathsOf(footprint(t, c, false)); len(found) > 0 {
		t.Skipf("NOT TESTED: this machine has %v, which removing would remove", found)
	}
	cache := filepath.Join(home, ".cache/ccm-push")
	for phase, held := range map[string][]Holder{"armed": {{"ann", "r1"}}, "reverting": {{"ann", "r1"}}, "confirmed": nil} {
		require.NoError(t, os.MkdirAll(cache, 0o700))
		name := filepath.Join(cache, "host.confirm-abc."+phase)
		require.NoError(t, os.WriteFile(name, []byte(`{"holder":"ann","run":"r1","play":1,"id":"abc"}`+"\n"), 0o600))
		require.Equal(t, held, footprint(t, c, false).Held, phase)
		require.Equal(t, held, footprint(t, c, true).Held, phase)
		if held != nil {
			require.NoError(t, os.Remove(name), "it was removed while "+phase)
			require.Empty(t, footprint(t, c, true).Held)
		}
		require.NoDirExists(t, cache)
	}
}

// TestFootprintDescribesWhatIsNotConfirmed: whose change it is, its resources, its deadline, and its watchdog.
func TestFootprintDescribesWhatIsNotConfirmed(t *testing.T) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Skip("NOT TESTED: there is no boot_id")
	}
	needs.Program(t, "flock")
	c, home := local(t)
	cache := filepath.Join(home, ".cache/ccm-push")
	require.NoError(t, os.MkdirAll(filepath.Join(cache, "host.history"), 0o700))
	put := func(name, text string) string {
		t.Helper()
		path := filepath.Join(cache, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	require.NoError(t, err)
	uptime, err := os.ReadFile("/proc/uptime")
	require.NoError(t, err)
	since, err := strconv.ParseFloat(strings.Fields(string(uptime))[0], 64)
	require.NoError(t, err)
	until := time.Duration((since + 600) * float64(time.Second))
	state := func(boot string) {
		t.Helper()
		put("host.confirm-abc.armed", fmt.Sprintf(`{"holder":"ann, \"A\" *","run":"r1","play":1,"id":"abc","first":2,"at":"2026-01-02T03:04:05Z","start":"%s %s","until":%d,"within":%d}`+"\n", boot, namespace, until, time.Hour))
	}
	state(strings.TrimSpace(string(id)))
	put("host.history/r1.jsonl", `{"begin":{}} 0
{"change":{"n":1,"play":1,"type":"file","name":"/before"}} 0
{"change":{"n":2,"play":1,"type":"file","name":"/etc/a \\n* \"b\"","alias":"","properties":{"content":"`+strings.Repeat("x", 1000)+`"}}} 0
{"paths":{}} 0
{"change":{"n":3,"play":1,"type":"exec","name":"long","alias":"short"}} 0
{"change":{"n":4,"play":1,"type":"file","name":"/secret","sensitive":true}} 0
`)
	lock := put("host.confirm.watch", "")
	u := footprint(t, c, true).Unconfirmed
	require.Len(t, u, 1)
	require.Equal(t, Holder{`ann, "A" *`, "r1"}, u[0].Holder)
	require.Equal(t, "no", u[0].Watched)
	require.Equal(t, []string{`file#/etc/a \n* "b"`, "exec#short"}, u[0].Resources)
	require.True(t, u[0].More)
	require.False(t, u[0].Reverting)
	require.Equal(t, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), u[0].At)
	require.InDelta(t, 600, u[0].Left.Seconds(), 120)

	file, err := os.Open(lock)
	require.NoError(t, err)
	defer file.Close()
	require.NoError(t, syscall.Flock(int(file.Fd()), syscall.LOCK_EX))
	put("host.confirm.deadline", fmt.Sprintf("abc %d\n", until+600*time.Second))
	u = footprint(t, c, false).Unconfirmed
	require.Equal(t, "yes", u[0].Watched)
	require.InDelta(t, 1200, u[0].Left.Seconds(), 120)
	state("another start of the host")
	require.Zero(t, footprint(t, c, false).Unconfirmed[0].Left)
}

func TestFootprintLeavesAloneWhatIsNotOurs(t *testing.T) {
	c, home := local(t)
	if found := pathsOf(footprint(t, c, false)); len(found) > 0 {
		t.Skipf("NOT TESTED: this machine has %v, which removing would remove", found)
	}
	cache := filepath.Join(home, ".cache/ccm-push")
	target := filepath.Join(home, "target")
	require.NoError(t, os.MkdirAll(filepath.Join(target, "precious"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Dir(cache), 0o700))
	require.NoError(t, os.Symlink(target, cache))
	f := footprint(t, c, true)
	require.Empty(t, f.Traces)
	require.Equal(t, []Skipped{{cache, "link"}}, f.Skipped)
	require.DirExists(t, filepath.Join(target, "precious"))

	require.NoError(t, os.Remove(cache))
	require.NoError(t, os.WriteFile(cache, nil, 0o600))
	require.Equal(t, []Skipped{{cache, "owner"}}, footprint(t, c, true).Skipped)
	require.FileExists(t, cache)

	skipUnlessRoot(t)
	require.NoError(t, os.Remove(cache))
	require.NoError(t, os.Mkdir(cache, 0o777))
	require.NoError(t, os.Chown(cache, 65534, 65534))
	require.Equal(t, []Skipped{{cache, "owner"}}, footprint(t, c, true).Skipped)
	require.DirExists(t, cache)
}

func TestParseFootprint(t *testing.T) {
	for _, test := range []struct{ name, text, err string }{
		{"cut short", "user:N:ann:1\ndir:N:/a\n", "the list of files on the host is incomplete"},
		{"another's", "done:M\n", "the list of files on the host is incomplete"},
		{"no time", "user:N:ann:now\ndone:N\n", `the host sent an invalid list of files, "user:N:ann:now\n": strconv.ParseInt: parsing "now": invalid syntax`},
		{"few words", "item:N:81c0:1\ndone:N\n", `the host sent an invalid list of files, "item:N:81c0:1\n": words are missing`},
		{"no mode", "item:N:xyz:1:1:ann:./a\ndone:N\n", `the host sent an invalid list of files, "item:N:xyz:1:1:ann:./a\n": strconv.ParseUint: parsing "xyz": invalid syntax`},
		{"no size of a tree", "tree:N:-1\t./a\ndone:N\n", `the host sent an invalid list of files, "tree:N:-1\t./a\n": the size "-1" is not a number`},
		{"no size", "item:N:81c0:-1:1:ann:./a\ndone:N\n", `the host sent an invalid list of files, "item:N:81c0:-1:1:ann:./a\n": the size "-1" is not a number`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := parseFootprint("N", []byte(test.text))
			require.EqualError(t, err, test.err)
		})
	}
	f, err := parseFootprint("N", []byte("noise\nuser:N:ann:100\r\ndir:N:/d\nitem:N:41c0:4096:90:ann:.\nitem:N:81c0:5:80:root:./a:b\nitem:N:41c0:4096:80:ann:./t\ntree:N:12\t./t\ntree:N:1\t./a:b\nheld:N:nonsense\nskip:N:link:/e:f\nleft:N:/d\ndone:N\n"))
	require.NoError(t, err)
	require.Equal(t, Footprint{
		User: "ann", Now: time.Unix(100, 0), Held: []Holder{{}}, Skipped: []Skipped{{"/e:f", "link"}}, Left: []string{"/d"},
		Traces: []Trace{
			{"/d/", os.ModeDir | 0o700, 4096, time.Unix(90, 0), "ann", false}, {"/d/a:b", 0o700, 5, time.Unix(80, 0), "root", false},
			{"/d/t", os.ModeDir | 0o700, 12 << 10, time.Unix(80, 0), "ann", true},
		},
	}, f)
}

func FuzzParseFootprint(f *testing.F) {
	f.Add("user:N:ann:100\ndir:N:/d\nitem:N:81c0:5:80:root:./a:b\ndone:N\n")
	f.Add("dir:N:/d\nitem:N:41c0:5:80:root:./a\ntree:N:5\t./a\ndone:N\n")
	f.Add("held:N:{\"holder\":\"a\"}\nskip:N:link:/e\nleft:N:/d\ndone:N\n")
	f.Fuzz(func(t *testing.T, text string) {
		print, err := parseFootprint("N", []byte(text))
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(print.Traces)+len(print.Held)+len(print.Skipped)+len(print.Left), strings.Count(text, "\n")+1)
		for _, one := range print.Traces {
			require.GreaterOrEqual(t, one.Size, int64(0))
		}
	})
}

func TestEndlessFootprint(t *testing.T) {
	srv := sshtest.Start(t, shell(`echo begin $n; while echo left:$n:/x; do :; done`))
	_, err := FootprintOf(t.Context(), connect(t, srv), FootprintRequest{Nonce: fixedNonce})
	require.EqualError(t, err, fmt.Sprintf("web1: start %s: the host sent a list of more than 1 MiB", srv.Addr))
}
