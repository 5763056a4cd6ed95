package judge

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/system"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// TestRules judges this machine.
func TestRules(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte("hello\nworld\n"), 0o640))
	require.NoError(t, os.Chmod(filepath.Join(dir, "f"), 0o640))
	require.NoError(t, os.Symlink("f", filepath.Join(dir, "l")))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "dangling")))
	me, err := user.Current()
	require.NoError(t, err)
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	port := listener.Addr().(*net.TCPAddr).Port
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/", http.StatusFound)
			return
		}
		w.Header().Set("X-Test", r.Method)
		fmt.Fprintln(w, "all is well")
	}))
	t.Cleanup(page.Close)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	comm, err := os.ReadFile("/proc/self/comm")
	if runtime.GOOS != "linux" {
		needs.Missing(t, "/proc")
	}
	require.NoError(t, err)
	h := system.New()
	sum := func(program string) string {
		out, err := exec.Command(program, filepath.Join(dir, "f")).Output()
		require.NoError(t, err)
		return strings.Fields(string(out))[0]
	}
	replace := strings.NewReplacer("DIR", dir, "ME", me.Username, "UID", me.Uid, "HOME", me.HomeDir, "PORT", fmt.Sprint(port), "PAGE", page.URL, "CLOSED", closed.URL, "MD5", sum("md5sum"), "SHA512", sum("sha512sum"), "COMM", strings.TrimSpace(string(comm)))
	for _, test := range []struct {
		name, rules string
		status      wire.Health
		text        string
	}{
		{"a file", `{"file":{"DIR/f":{"exists":true,"mode":"0640","size":12,"filetype":"file","contents":["hello","!there"],"uid":UID,"owner":"ME",
			"sha256":"4a1e67f2fe1d1cc7b31d0ca2ec441da4778203a036a77da10344c85e24ff0f92","md5":"MD5","sha512":"SHA512"}}}`, wire.HealthOK, "10 of 10 expectations are met"},
		{"a file that is otherwise", `{"file":{"DIR/f":{"mode":"0600","contents":["bye"]}}}`, wire.HealthCritical,
			"0 of 2 expectations are met\n" + `file "DIR/f": contents is "hello\nworld\n", not lines with ["bye"]` + "\n" + `file "DIR/f": mode is "0640", not "0600"`},
		{"no file", `{"file":{"DIR/x":{"exists":false}}}`, wire.HealthOK, "1 of 1 expectations are met"},
		{"attributes of no file", `{"file":{"DIR/x":{"mode":"0644"}}}`, wire.HealthCritical, `file "DIR/x": mode: no value, expected "0644" (0 of 1 expectations are met)`},
		{"a link", `{"file":{"DIR/l":{"filetype":"symlink","linked-to":"f","contents":["hello"]},"DIR/dangling":{"exists":true,"linked-to":"nowhere"}}}`, wire.HealthOK, "5 of 5 expectations are met"},
		{"a command", `{"command":{"say":{"exec":"sh -c 'echo out; echo err >&2; exit 3'","exit-status":3,"stdout":["out"],"stderr":["/^err$/"]}}}`, wire.HealthOK, "3 of 3 expectations are met"},
		{"a command that is not there", `{"command":{"/no/such":{"exit-status":0}}}`, wire.HealthUnknown, `command "/no/such": exit-status: "/no/such" cannot be started: no such file or directory (0 of 1 expectations are met)`},
		{"a slow command", `{"command":{"sleep 60":{"exit-status":0,"timeout":1}}}`, wire.HealthUnknown, `command "sleep 60": exit-status: "sleep" timed out after 1ms and was killed (0 of 1 expectations are met)`},
		{"a user", `{"user":{"ME":{"exists":true,"uid":UID,"home":"HOME"},"nobody-of-that-name":{"exists":false}}}`, wire.HealthOK, "4 of 4 expectations are met"},
		{"a group", `{"group":{"root":{"exists":true,"gid":0},"nobodies":{"exists":false}}}`, wire.HealthOK, "3 of 3 expectations are met"},
		{"a parameter of the kernel", `{"kernel-param":{"kernel.ostype":{"value":"Linux"}}}`, wire.HealthOK, "1 of 1 expectations are met"},
		{"a process", `{"process":{"COMM":{"running":true},"no-such-program":{"running":false}}}`, wire.HealthOK, "2 of 2 expectations are met"},
		{"a mount behind a link", `{"mount":{"/proc/self/root/proc":{"exists":true,"filesystem":"proc"}}}`, wire.HealthOK, "2 of 2 expectations are met"},
		{"a mount", `{"mount":{"/proc":{"exists":true,"filesystem":"proc","opts":{"contain-element":"rw"}},"DIR":{"exists":false}}}`, wire.HealthOK, "4 of 4 expectations are met"},
		{"a mount, and how full it is", `{"mount":{"/":{"usage":{"and":[{"ge":0},{"le":100}]},"vfs-opts":{"contain-element":{"match-regexp":"^r[ow]$"}},"timeout":5000},"/proc":{"usage":5}}}`, wire.HealthCritical,
			`mount "/proc": usage: no value, expected 5 (2 of 3 expectations are met)`},
		{"a value", `{"matching":{"instances":{"content":[1,2],"matches":{"have-len":2}},"doc":{"content":"{\"a\":{\"b\":1}}","matches":{"gjson":{"a.b":{"gt":1}}}}}}`, wire.HealthCritical,
			`matching "doc": matches is "{\"a\":{\"b\":1}}", not gjson {"a.b":{"gt":1}} (1 of 2 expectations are met)`},
		{"a list that is otherwise", `{"matching":{"list":{"content":["a",{"b":1}],"matches":["c"]}}}`, wire.HealthCritical,
			`matching "list": matches is ["a",{"b":1}], not contains ["c"] (0 of 1 expectations are met)`},
		{"a port", `{"port":{"tcp:PORT":{"listening":true,"ip":["127.0.0.1"]}},"addr":{"tcp://127.0.0.1:PORT":{"reachable":true}}}`, wire.HealthOK, "3 of 3 expectations are met"},
		{"a page", `{"http":{"PAGE":{"status":200,"body":["well"],"headers":["X-Test: GET"]},"PAGE/moved":{"status":302,"no-follow-redirects":true}}}`, wire.HealthOK, "4 of 4 expectations are met"},
		{"an interface", `{"interface":{"lo":{"exists":true,"addrs":["127.0.0.1/8"],"mtu":{"gt":1000}},"nothing0":{"exists":false}}}`, wire.HealthOK, "4 of 4 expectations are met"},
		{"a name", `{"dns":{"localhost":{"resolvable":true,"addrs":{"contain-element":"127.0.0.1"}}}}`, wire.HealthOK, "2 of 2 expectations are met"},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, text, err := Rules(t.Context(), h, json.RawMessage(replace.Replace(test.rules)))
			require.NoError(t, err)
			require.Equal(t, test.text, strings.ReplaceAll(text, dir, "DIR"))
			require.Equal(t, test.status, status)
		})
	}
	for rules, want := range map[string]string{
		`{"http":{"CLOSED":{"status":200}}}`:   `http "CLOSED": status: no answer (connection refused), expected 200 (0 of 1 expectations are met)`,
		`{"http":{"ftp://x/":{"status":200}}}`: `http "ftp://x/": status: no answer (unsupported protocol scheme "ftp"), expected 200 (0 of 1 expectations are met)`,
	} {
		_, text, err := Rules(t.Context(), h, json.RawMessage(replace.Replace(rules)))
		require.NoError(t, err)
		require.Equal(t, replace.Replace(want), text)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = Rules(ctx, h, json.RawMessage(`{"command":{"true":{"exit-status":0}}}`))
	require.ErrorIs(t, err, context.Canceled)
}

// TestRunlevels uses the folders of OpenRC and of System V.
func TestRunlevels(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"etc/runlevels/default/web", "etc/runlevels/boot/disk", "etc/rc3.d/S02web", "etc/rc5.d/S02web", "etc/rc6.d/K01web", "etc/rc2.d/S02web-old"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), nil, 0o755))
	}
	for name, want := range map[string][]string{"web": {"default", "3", "5"}, "disk": {"boot"}, "none": {}} {
		l := looker{ctx: t.Context(), host: modules.Host{Files: modules.Files{FileReader: under{system.New().Files.FileReader, root}}}}
		levels, err := l.runlevels(name, false)
		require.NoError(t, err)
		require.Equal(t, want, levels)
		levels, err = l.runlevels(name, true)
		require.NoError(t, err)
		require.Empty(t, levels, "systemd has none")
	}
}

// under lists the folders of a host that has its files below a folder.
type under struct {
	modules.FileReader
	root string
}

func (u under) List(name string) ([]string, error) { return u.FileReader.List(u.root + name) }

func TestListening(t *testing.T) {
	const table = `  sl  local_address                         remote_address                        st tx_queue
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000
   1: 00000000:1F90 00000000:0000 0A 00000000:00000000
   2: 0100007F:1F90 0100007F:C350 01 00000000:00000000
   3: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A 00000000:00000000
   4: garbage:1F90 x 0A
`
	require.Equal(t, []string{"0.0.0.0", "127.0.0.1", "::1"}, listening(table, true, 8080))
	require.Empty(t, listening(table, true, 80))
	require.Empty(t, listening(table, false, 8080))
}

// FuzzListening reads tables of any kind.
func FuzzListening(f *testing.F) {
	f.Add("0: 0100007F:1F90 00000000:0000 0A 0", uint16(8080))
	f.Fuzz(func(t *testing.T, table string, port uint16) {
		for _, tcp := range []bool{true, false} {
			for _, ip := range listening(table, tcp, uint64(port)) {
				require.NotNil(t, net.ParseIP(ip))
			}
		}
	})
}
