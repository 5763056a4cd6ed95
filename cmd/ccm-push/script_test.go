package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules/builds"
	"github.com/ccm-push/ccm-push/modules/builds/buildtest"
	"github.com/ccm-push/ccm-push/modules/dsc/schema"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

var update = flag.Bool("update", false, "write the expected output in testdata/script anew")

// e2e/same sets these flags. program is a folder with a ccm-push to test in place of this test program, and its host programs in
// the folder modules.
var (
	program = flag.String("program", "", "`folder` of the ccm-push that scripts call")
	scripts = flag.String("scripts", "testdata/script", "`folder` of the scripts of TestScripts")
)

func TestMain(m *testing.M) {
	testscript.Main(tests{m}, map[string]func(){"ccm-push": scriptMain, "nats": natsCommand})
}

// manyFiles is the folder for temporary files of the caller, which may be in memory: a disk takes much longer for many small
// files. Its name may be long. Empty means the system's.
var manyFiles string

// tests are the tests of this package; scripts call the same binary as the program, which must not see the settings
// made here.
type tests struct{ *testing.M }

// Run implements [testscript.TestingM].
func (t tests) Run() int {
	// Set the umask and the temporary folder, so that they do not depend on the user: the modes of files must be the
	// same, and names short, since reports shorten them and socket names are limited.
	syscall.Umask(0o022)
	manyFiles = os.Getenv("TMPDIR")
	os.Setenv("TMPDIR", "/tmp")
	// Scripts wait for each other's programs more than they compute. Root's wait for one lock.
	if os.Getuid() != 0 {
		flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))) // unless -parallel is given
	}
	var err error
	if programsFolder, err = os.MkdirTemp("", "ccm-push"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(programsFolder)
	return t.M.Run()
}

// scriptMain is the program as scripts call it. All hosts of a script are this
// machine, so that for root there is only one lock: let them wait for each other.
func scriptMain() {
	// Detach from the terminal of the tests, so that there are no prompts on it. With ttyin this fails: the script has
	// its own terminal. A detached process leaves by itself.
	if os.Getenv("CCM_PUSH_DETACHED") == "" {
		_, _ = syscall.Setsid()
	}
	// Scripts do not depend on this machine's ssh_config.
	flags := []string{"--module-dir", os.Getenv("MODULE_DIR"), "--ssh-config", "none"}
	if os.Getuid() == 0 {
		flags = append(flags, "--lock-timeout", "60")
	}
	os.Args = slices.Concat(os.Args[:1], flags, os.Args[1:])
	main()
}

func TestScripts(t *testing.T) {
	t.Parallel()
	params := scriptParams(t)
	params.Dir, params.UpdateScripts = *scripts, *update
	testscript.Run(t, params)
}

// scriptParams returns the parameters of all scripts: the program, host programs for this machine, and the commands of
// scripts.
func scriptParams(t *testing.T) testscript.Params {
	programs := hostPrograms(t)
	documented := eventSchema(t)
	source, err := filepath.Abs("../..")
	require.NoError(t, err)
	return testscript.Params{
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			hosts := &scriptHosts{dir: env.WorkDir, servers: map[string]*sshtest.Server{}}
			env.Defer(hosts.close)
			env.Defer(func() {
				if err := undocumented(documented, env.WorkDir); err != nil {
					env.T().Fatal(err)
				}
			})
			env.Values[hostsKey{}] = hosts
			env.Values[scriptTB{}] = env.T()
			env.Setenv("MODULE_DIR", programs)
			if *program != "" {
				env.Setenv("PATH", *program+":"+env.Getenv("PATH"))
			}
			env.Setenv("SOURCE", source)
			env.Setenv("HOME", filepath.Join(env.WorkDir, "operator"))
			env.Setenv("ME", strconv.Itoa(os.Getuid()))
			env.Setenv("GROUP", strconv.Itoa(os.Getgid()))
			return os.Mkdir(filepath.Join(env.WorkDir, "operator"), 0o700)
		},
		Condition: func(name string) (bool, error) {
			if name != "root" {
				return false, errors.New("there is only root")
			}
			return os.Getuid() == 0, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":      exits,
			"needs":      needsPrograms,
			"normal":     normal,
			"sshhost":    sshhost,
			"sshstats":   sshstats,
			"awaits":     awaits,
			"webserve":   webserve,
			"natsserver": natsserver,
		},
	}
}

// A scriptTB is the test of a script, for [needs.Program].
type scriptTB struct {
	testing.TB
	script testscript.T
}

func (scriptTB) Helper()             {}
func (s scriptTB) Skip(args ...any)  { s.script.Skip(args...) }
func (s scriptTB) Fatal(args ...any) { s.script.Fatal(args...) }

// needsPrograms skips a script if a program is missing: needs PROGRAM...
func needsPrograms(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: needs PROGRAM...")
	}
	needs.Program(scriptTB{script: ts.Value(scriptTB{}).(testscript.T)}, args...)
}

// eventSchema is the schema of events for the product's own reader of schemas. The tests of package events, and of its schema, have
// another reader, whose packages take half of the time in which ccm-push starts: each program of a script is this test program.
func eventSchema(t *testing.T) *schema.Schema {
	t.Helper()
	text, err := events.Schema().Encode()
	require.NoError(t, err)
	compiled, err := schema.Compile(text)
	require.NoError(t, err)
	require.Empty(t, compiled.Warnings())
	return compiled
}

// undocumented finds the first event below a folder that does not match the schema of events: in the records of all
// runs of a script, in logs, and in standard output that scripts keep.
func undocumented(documented *schema.Schema, dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrPermission): // a host may have such a folder
			return fs.SkipDir
		case err != nil || !entry.Type().IsRegular():
			return err
		}
		text, err := readEvents(path)
		if err != nil || text == nil {
			return nil
		}
		recorded := entry.Name() == "events.jsonl"
		for line := range bytes.Lines(text) {
			e, decodeErr := events.Decode(line)
			if !recorded && (decodeErr != nil || !bytes.HasPrefix(line, []byte(`{"event":`))) {
				continue // a script has replaced the values that differ from run to run
			}
			if decodeErr == nil && recorded { // records omit empty values
				var whole bytes.Buffer
				events.NewJSON(&whole).Report(e)
				line = whole.Bytes()
			}
			value, err := schema.Value(line)
			if err := errors.Join(decodeErr, err); err != nil {
				return fmt.Errorf("%s: %s%w", path, line, err)
			}
			if faults := documented.Check(value); len(faults) > 0 {
				return fmt.Errorf("%s: %s%w", path, line, faults[0])
			}
		}
		return nil
	})
}

// readEvents reads a file that begins with an event, and returns nil for other files. Of other files it reads only the begin: each
// host has two programs of eight megabytes.
func readEvents(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	begin := []byte(`{"event":`)
	text := make([]byte, len(begin))
	if _, err := io.ReadFull(file, text); err != nil || !bytes.Equal(text, begin) {
		return nil, nil
	}
	rest, err := io.ReadAll(file)
	return append(text, rest...), err
}

// programsFolder has the host programs of all tests, for --module-dir, once they are written.
var (
	programsFolder string
	writePrograms  sync.Once
)

// hostPrograms returns the folder for --module-dir. It is filled once.
func hostPrograms(t *testing.T) string {
	t.Helper()
	list := programsToTest(t)
	writePrograms.Do(func() {
		var entries []builds.Entry
		for _, b := range list {
			entry, err := b.Write(programsFolder)
			require.NoError(t, err)
			entries = append(entries, entry)
			program, err := b.Program()
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(programsFolder, b.SHA256), program, 0o700))
		}
		require.NoError(t, builds.WriteIndex(programsFolder, entries))
	})
	return programsFolder
}

// programsToTest returns the host programs of -program, or of this tree.
func programsToTest(t *testing.T) []builds.Build {
	t.Helper()
	if *program == "" {
		return buildtest.Both(t)
	}
	list, err := builds.Load(filepath.Join(*program, "modules"))
	require.NoError(t, err)
	return list
}

// exits runs a command that must end with a status: exits 2 ccm-push ...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND...")
	}
	err := ts.Exec(args[1], args[2:]...)
	status := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		status, err = exit.ExitCode(), nil
	}
	ts.Check(err)
	if strconv.Itoa(status) != args[0] {
		ts.Fatalf("exit status %d, want %s", status, args[0])
	}
}

// Values that differ from run to run, and their replacements.
var volatile = []struct{ pattern, text string }{
	{`"time":"[^"]*"`, `"time":"TIME"`},
	{`"run":"[^"]*"`, `"run":"RUN"`},
	{`"duration_ms":[0-9.]+`, `"duration_ms":0`},
	{`"(connect|start|compile|apply)":[0-9.]+`, `"$1":0`},
	{`127\.0\.0\.1:[0-9]+`, `ADDRESS`},
	{`\[127\.0\.0\.1\]:[0-9]+`, `KNOWN_NAME`},
	{`resume [0-9A-Z]{26}`, `resume RUN`},
	{`ssh -p [0-9]+`, `ssh -p PORT`},
	{`SHA256:[A-Za-z0-9+/]+`, `FINGERPRINT`},
	{`\b[0-9.]+m?s\b`, `0s`},
}

// normal writes a file or stdout to a new file, with replacements for values that differ from run to run: normal stdout
// NEW.
func normal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: normal FILE NEW")
	}
	text := strings.ReplaceAll(ts.ReadFile(args[0]), ts.Getenv("WORK"), "WORK")
	for _, v := range volatile {
		text = regexp.MustCompile(v.pattern).ReplaceAllString(text, v.text)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o644))
}

// awaits waits until a file exists.
func awaits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: awaits FILE")
	}
	ts.Check(ts.Exec("sh", "-c", `until test -e "$0"; do sleep 0.02; done`, ts.MkAbs(args[0])))
}

type hostsKey struct{}

// scriptHosts are the SSH servers of a script.
type scriptHosts struct {
	dir     string // folder of the script
	names   []string
	servers map[string]*sshtest.Server
}

func hostsOf(ts *testscript.TestScript) *scriptHosts {
	return ts.Value(hostsKey{}).(*scriptHosts)
}

func (h *scriptHosts) close() {
	for _, s := range h.servers {
		s.Close()
	}
}

// connection returns the connect settings of a host for the inventory.
func (h *scriptHosts) connection(name string) string {
	s := h.servers[name]
	return fmt.Sprintf("{address: %s, port: %d, user: %s, private_key: %s, known_hosts: %s}", s.Host, s.Port, s.User, s.KeyFile, s.KnownHosts)
}

// writeInventory writes hosts.yaml: root is the host's own folder, me and group own the files made in it.
func (h *scriptHosts) writeInventory() error {
	text := fmt.Sprintf("all:\n  vars: {me: \"%d\", group: \"%d\"}\n  hosts:\n", os.Getuid(), os.Getgid())
	for _, name := range h.names {
		text += fmt.Sprintf("    %s: {connect: %s, root: %s}\n", name, h.connection(name), filepath.Join(h.dir, name))
	}
	return os.WriteFile(filepath.Join(h.dir, "hosts.yaml"), []byte(text), 0o644)
}

// sshhost starts SSH servers and adds them to hosts.yaml: sshhost [-OPTION] NAME... The options are silent, closes (at
// the banner), reject, greets (as a login shell may), exits (as a profile may), unknown (known_hosts is empty), empty
// (no earlier run has sent the host program), outlives (programs do not end with their connection), path=FOLDER (its
// programs precede the programs of this machine) and certified=FILE (a login needs a certificate of that public key).
func sshhost(ts *testscript.TestScript, neg bool, args []string) {
	config, unknown, empty := sshtest.Config{}, false, false
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		option, value, _ := strings.Cut(args[0], "=")
		switch option {
		case "-password":
			config.Auth = takesPassword(value)
		case "-keyboard":
			config.Auth = asksForPassword(value)
		case "-certified":
			config.Auth = wantsCertificate(ts, value)
		case "-silent":
			config.Fault = sshtest.FaultSilent
		case "-closes":
			config.Fault = sshtest.FaultCloseEarly
		case "-path":
			config.Env = append(config.Env, "PATH="+ts.MkAbs(value)+":"+os.Getenv("PATH"))
		case "-greets":
			config.Noise = "Welcome to \x1b[1mweb\x1b[0m\nneed nothing"
		case "-exits":
			config.Shell = []string{"/bin/sh", "-c", "echo 'come back later'; exit 3"}
		case "-reject":
			config.RejectAuth = true
		case "-outlives":
			config.Outlive = true
		case "-unknown":
			unknown = true
		case "-empty":
			empty = true
		default:
			ts.Fatalf("sshhost has no option %s", args[0])
		}
		args = args[1:]
	}
	if neg || len(args) == 0 {
		ts.Fatalf("usage: sshhost [-OPTION] NAME...")
	}
	hosts := hostsOf(ts)
	for _, name := range args {
		config.Dir = filepath.Join(hosts.dir, ".ssh", name)
		config.Home = filepath.Join(hosts.dir, name, "home")
		ts.Check(os.MkdirAll(config.Dir, 0o700))
		s, err := sshtest.Serve(context.Background(), config)
		ts.Check(err)
		if !empty {
			ts.Check(installPrograms(filepath.Join(config.Home, ".cache", "ccm-push")))
		}
		hosts.servers[name] = s
		hosts.names = append(hosts.names, name)
		if unknown {
			ts.Check(os.Truncate(s.KnownHosts, 0))
		}
	}
	ts.Check(hosts.writeInventory())
}

// installPrograms puts the host programs where earlier runs of a login user leave them: to send and unpack them was a third of
// the time of the scripts. Scripts about that have hosts with the option -empty.
func installPrograms(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	list, err := builds.Load(programsFolder)
	if err != nil {
		return err
	}
	for _, b := range list {
		if err := os.Link(filepath.Join(programsFolder, b.SHA256), filepath.Join(dir, b.SHA256)); err != nil {
			return err
		}
	}
	return nil
}

// wantsCertificate makes a server that takes certificates of an authority and no keys.
func wantsCertificate(ts *testscript.TestScript, file string) func(*ssh.ServerConfig) {
	authority, _, _, _, err := ssh.ParseAuthorizedKey([]byte(ts.ReadFile(file)))
	ts.Check(err)
	checker := &ssh.CertChecker{IsUserAuthority: func(key ssh.PublicKey) bool { return bytes.Equal(key.Marshal(), authority.Marshal()) }}
	return func(c *ssh.ServerConfig) {
		c.PublicKeyCallback = func(m ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if cert, is := key.(*ssh.Certificate); is && checker.IsUserAuthority(cert.SignatureKey) { // as AuthorizedPrincipalsFile has it
				for _, name := range cert.ValidPrincipals {
					if strings.HasPrefix(name, m.User()+"@") {
						return &cert.Permissions, checker.CheckCert(name, cert)
					}
				}
			}
			return checker.Authenticate(m, key)
		}
	}
}

// takesPassword makes a server that takes a password and no keys.
func takesPassword(want string) func(*ssh.ServerConfig) {
	return func(c *ssh.ServerConfig) {
		c.PublicKeyCallback = nil
		c.PasswordCallback = func(_ ssh.ConnMetadata, b []byte) (*ssh.Permissions, error) {
			if string(b) != want {
				return nil, errors.New("wrong password")
			}
			return nil, nil
		}
	}
}

// asksForPassword is the same by keyboard-interactive.
func asksForPassword(want string) func(*ssh.ServerConfig) {
	return func(c *ssh.ServerConfig) {
		c.PublicKeyCallback = nil
		c.KeyboardInteractiveCallback = func(_ ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
			answers, err := ask("", "", []string{"Password: "}, []bool{false})
			if err == nil && answers[0] != want {
				err = errors.New("wrong password")
			}
			return nil, err
		}
	}
}

// sshstats checks one number of sshtest.Stats: sshstats web1 Connections 0.
func sshstats(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: sshstats NAME FIELD NUMBER")
	}
	server := hostsOf(ts).servers[args[0]]
	if server == nil {
		ts.Fatalf("there is no host %s", args[0])
	}
	got := reflect.ValueOf(server.Stats()).FieldByName(args[1]).Int()
	if strconv.FormatInt(got, 10) != args[2] {
		ts.Fatalf("%s: %s is %d, not %s", args[0], args[1], got, args[2])
	}
}
