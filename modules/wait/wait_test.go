package wait_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/exec"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/wait"
)

// server answers /NUMBER with that status, and /away with a redirection to /200.
func server(t *testing.T) (url, port string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "/200", http.StatusFound)
			return
		}
		code, _ := strconv.Atoi(r.URL.Path[1:])
		w.WriteHeader(code)
	}))
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	require.NoError(t, err)
	return s.URL, port
}

// closed is a port that nothing listens at.
func closed(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return port
}

func TestConverges(t *testing.T) {
	url, port := server(t)
	shut := closed(t)
	f := modtest.Node{Path: "f", Text: "a\nready=1\n"}
	modtest.Converges(t, wait.Type(),
		modtest.Fixture{Name: "a port", Properties: `{"name":"x","port":` + port + `}`},
		modtest.Fixture{Name: "a port by name", Properties: `{"name":"x","host":"localhost","port":` + port + `}`},
		modtest.Fixture{Name: "no port", Properties: `{"name":"x","ensure":"absent","port":` + shut + `}`},
		modtest.Fixture{Name: "a URL", Properties: `{"name":"x","url":"` + url + `/204"}`},
		modtest.Fixture{Name: "a URL that answers otherwise", Properties: `{"name":"x","url":"` + url + `/503","status":[200,503]}`},
		modtest.Fixture{Name: "a redirection", Properties: `{"name":"x","url":"` + url + `/away","status":[302]}`},
		modtest.Fixture{Name: "a path", Tree: []modtest.Node{f}, Properties: `{"name":"x","path":"$ROOT/f"}`},
		modtest.Fixture{Name: "a link", Tree: []modtest.Node{f, {Path: "l", Link: "f"}}, Properties: `{"name":"x","path":"$ROOT/l"}`},
		modtest.Fixture{Name: "no path", Properties: `{"name":"x","ensure":"absent","path":"$ROOT/f"}`},
		modtest.Fixture{Name: "a line", Tree: []modtest.Node{f}, Properties: `{"name":"x","path":"$ROOT/f","line":"^ready=\\d$"}`},
		modtest.Fixture{Name: "no line", Tree: []modtest.Node{f}, Properties: `{"name":"x","ensure":"absent","path":"$ROOT/f","line":"^failed"}`},
		modtest.Fixture{Name: "no line and no file", Properties: `{"name":"x","ensure":"absent","path":"$ROOT/f","line":"^failed"}`},
		modtest.Fixture{Name: "a line of a directory", Properties: `{"name":"x","path":"$ROOT","line":"x"}`, Err: `"$ROOT" is not a regular file`},
		modtest.Fixture{Name: "a command", Properties: `{"name":"x","command":"test 1 = 1"}`},
		modtest.Fixture{Name: "a command that fails", Properties: `{"name":"x","ensure":"absent","command":"sh -c 'exit 3'"}`},
		modtest.Fixture{
			Name: "a command that is not there", Properties: `{"name":"x","command":"no-such-program"}`,
			Err: `"no-such-program" is not found in /usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin:/usr/local/sbin`,
		},
	)
}

// TestApply meets the condition after the check.
func TestApply(t *testing.T) {
	url, port := server(t)
	for _, test := range []struct {
		name, properties, action string
		come                     func(t *testing.T, root string)
	}{
		{"a path", `"path":"$ROOT/d/f"`, "waited for $ROOT/d/f", func(t *testing.T, root string) {
			modtest.Build(t, root, []modtest.Node{{Path: "d", Dir: true}, {Path: "d/f"}})
		}},
		{"a line", `"path":"$ROOT/f","line":"^b$"`, "waited for a line like ^b$ in $ROOT/f", func(t *testing.T, root string) {
			modtest.Build(t, root, []modtest.Node{{Path: "f", Text: "a\nb"}})
		}},
		{"no path", `"path":"$ROOT/gone","ensure":"absent"`, "waited for the end of $ROOT/gone", func(t *testing.T, root string) {
			require.NoError(t, os.Remove(filepath.Join(root, "gone")))
		}},
		{"a command", `"command":"test -e $ROOT/f"`, "waited for the command test -e $ROOT/f", func(t *testing.T, root string) {
			modtest.Build(t, root, []modtest.Node{{Path: "f"}})
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			modtest.Build(t, root, []modtest.Node{{Path: "gone"}})
			res := modtest.Decode(t, modules.Registry{wait.Type()}, "wait", `{"name":"x","interval":"10ms",`+test.properties+`}`, root)
			h := modtest.Host()
			plan, err := res.Check(t.Context(), modules.ReadOnly(h))
			require.NoError(t, err)
			require.Equal(t, test.action, strings.ReplaceAll(plan.Action, root, "$ROOT"))
			require.True(t, plan.MayFail && plan.Idle)
			later := time.AfterFunc(50*time.Millisecond, func() { test.come(t, root) })
			defer later.Stop()
			require.NoError(t, res.Apply(t.Context(), h, plan))
			plan, err = res.Check(t.Context(), modules.ReadOnly(h))
			require.NoError(t, err)
			require.Equal(t, modules.Plan{}, plan)
		})
	}

	shut := closed(t)
	for name, test := range map[string]struct{ properties, err string }{
		"a port":      {`"port":` + shut, "timed out after 60ms: waited for port " + shut + " of 127.0.0.1: dial tcp 127.0.0.1:" + shut + ": connect: connection refused"},
		"no port":     {`"ensure":"absent","port":` + port, "timed out after 60ms: waited for the end of port " + port + " of 127.0.0.1: it is still so"},
		"a URL":       {`"url":"` + strings.Replace(url, "//", "//me:hunter2@", 1) + `/503?key=hunter2"`, "timed out after 60ms: waited for " + url + "/503: it answers 503 Service Unavailable"},
		"no answer":   {`"url":"http://127.0.0.1:` + shut + `/x?key=hunter2"`, "timed out after 60ms: waited for http://127.0.0.1:" + shut + "/x: dial tcp 127.0.0.1:" + shut + ": connect: connection refused"},
		"redirection": {`"url":"` + url + `/away"`, "timed out after 60ms: waited for " + url + "/away: it answers 302 Found"},
		"a path":      {`"path":"/no/such/path"`, "timed out after 60ms: waited for /no/such/path: it does not exist"},
		"a line":      {`"path":"/etc/passwd","line":"^no such line$"`, "timed out after 60ms: waited for a line like ^no such line$ in /etc/passwd: no line matches"},
		"a hung one":  {`"command":"sleep 60"`, "timed out after 60ms: waited for the command sleep 60: it does not end in time"},
		"a command":   {`"command":"sh -c 'echo not yet >&2; exit 3'"`, "timed out after 60ms: waited for the command sh -c 'echo not yet >&2; exit 3': it ends with 3: not yet"},
	} {
		t.Run(name+" in vain", func(t *testing.T) {
			res := modtest.Decode(t, modules.Registry{wait.Type()}, "wait", `{"name":"x","timeout":"60ms","interval":"10ms",`+test.properties+`}`, "")
			plan, err := res.Check(t.Context(), modules.ReadOnly(modtest.Host()))
			require.NoError(t, err)
			require.True(t, plan.Pending())
			require.EqualError(t, res.Apply(t.Context(), modtest.Host(), plan), test.err)
		})
	}
}

func TestValidate(t *testing.T) {
	modtest.Decodes(t, wait.Type(), map[string]string{
		`{"name":"x","port":80}`:                                   "",
		`{"name":"x","url":"https://example.net/","status":[200]}`: "",
		`{"name":"x","ensure":"absent"}`:                           `nothing is waited for (write "port", "path", "url" or "command")`,
		`{"name":"x","port":80,"path":"/x"}`:                       "path: port and path are two conditions (write a resource for each)",
		`{"name":"x","port":70000}`:                                `port: "port" must be from 1 to 65535, not 70000`,
		`{"name":"x","port":80,"host":"a b"}`:                      `host: "a b" is not a host name or address`,
		`{"name":"x","path":"x"}`:                                  "path: file path must be absolute (write a path that begins with /)",
		`{"name":"x","path":"/x","line":"("}`:                      "line: error parsing regexp: missing closing ): `(`",
		`{"name":"x","url":"ftp://x"}`:                             "url: this is not an http or https URL (write one such as http://127.0.0.1:8080/health)",
		`{"name":"x","url":"http://x","status":[99]}`:              "status[0]: 99 is outside 100-599",
		`{"name":"x","command":"echo 'x"}`:                         `command: "echo 'x" is not a command (close the quote, or put a backslash before the quote)`,
		`{"name":"x","port":80,"timeout":"1ms"}`:                   `timeout: invalid duration "1ms" (write a duration from 10ms to 24h, such as 500ms, 10s or 5m)`,
	})
}

// TestPredicts checks that paths of earlier resources count, and that ports are likely open after them.
func TestPredicts(t *testing.T) {
	_, port := server(t)
	types := modules.Registry{file.Type(), exec.Type(), wait.Type()}
	modtest.Predicts(t, types, modtest.Scenario{
		Steps: []modtest.Step{
			{Type: "wait", Properties: `{"name":"a","port":` + port + `}`},
			{Type: "file", Properties: `{"name":"$ROOT/f","content":"x\n"}`},
			{Type: "wait", Properties: `{"name":"b","path":"$ROOT/f"}`},
			{Type: "wait", Properties: `{"name":"c","path":"$ROOT/f","line":"^x$"}`},
			{Type: "wait", Properties: `{"name":"d","port":` + port + `}`},
			{Type: "exec", Properties: `{"name":"touch $ROOT/g"}`},
			{Type: "wait", Properties: `{"name":"e","path":"$ROOT/g"}`},
			{Type: "wait", Properties: `{"name":"f","path":"$ROOT/g"}`},
		},
		Want: []string{"stable", "changed", "stable", "stable", "stable likely", "changed likely", "stable unknown", "stable unknown"},
	})
}

func TestDescribe(t *testing.T) {
	shut := closed(t)
	for properties, want := range map[string]string{
		`"path":"/"`:     `{"ensure":"present","name":"x","for":"/"}`,
		`"port":` + shut: fmt.Sprintf(`{"ensure":"absent","name":"x","for":"port %s of 127.0.0.1","why":"dial tcp 127.0.0.1:%s: connect: connection refused"}`, shut, shut),
	} {
		res := modtest.Decode(t, modules.Registry{wait.Type()}, "wait", `{"name":"x",`+properties+`}`, "")
		modtest.Describes(t, modtest.Host(), res, want)
	}
	back, err := modtest.Decode(t, modules.Registry{wait.Type()}, "wait", `{"name":"x","port":1}`, "").(modules.Reverser).Reversal(t.Context(), modtest.Host(), nil)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"path": "/"}, back)
}
