package sshconfig

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "record the answers of ssh -G in testdata/parity anew")

// A question is a line such as "? web1 -l bob -p 22 -o Tag=x" at the head of an archive: arguments of ssh -G. If a line
// begins with ~, releases of ssh answer the question differently: only an ssh with the recorded answer is compared.
type question struct {
	text   string
	args   []string
	varies bool
}

// A dumper answers questions in the form of ssh -G, one option a line, without options that differ between machines.
type dumper struct {
	dir      string // with the files of the archive
	env      Environment
	defaults map[string]string   // defaults of all options
	all      map[string][]string // names of algorithms, by option
}

// compared are the options of ssh -G that are held against ours. The tokens of
// the others are only replaced when they are used, also by ssh.
var compared = slices.DeleteFunc(slices.Collect(func(yield func(Option) bool) {
	for o := range options {
		if !yield(o) {
			return
		}
	}
}), func(o Option) bool { return o == Tag || o == ignoreUnknown })

// TestRecordedParity holds the corpus against recorded answers of ssh -G.
func TestRecordedParity(t *testing.T) {
	defaults, all := readRecorded(t)
	for _, path := range corpus(t) {
		archive, err := txtar.ParseFile(path)
		require.NoError(t, err)
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			d := dumper{dir: t.TempDir(), env: Environment{LocalUser: "operator", Home: "/home/operator", LookupEnv: lookupEnv}, defaults: defaults, all: all}
			d.unpack(t, archive)
			for _, q := range questions(archive) {
				want := recorded(t, archive, q.text, d.dir, d.env)
				require.Equal(t, want, asVague(want, d.ours(t, q)), "ssh -G %s", q.text)
			}
		})
	}
}

// TestParity compares the corpus with the ssh of this machine. Debian patches ssh without changing its version: outside
// of CI, an ssh with another answer than the recorded one is not compared.
func TestParity(t *testing.T) {
	needSSH(t)
	defaults, all := liveDefaults(t), liveAlgorithms(t)
	me, err := user.Current()
	require.NoError(t, err)
	if *update {
		writeRecorded(t, defaults, all)
	}
	for _, path := range corpus(t) {
		archive, err := txtar.ParseFile(path)
		require.NoError(t, err)
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			d := dumper{dir: t.TempDir(), env: Environment{LocalUser: me.Username, Home: me.HomeDir, LookupEnv: lookupEnv}, defaults: defaults, all: all}
			d.unpack(t, archive)
			var answers []txtar.File
			for _, q := range questions(archive) {
				want := d.theirs(t, q)
				if q.varies && want != recorded(t, archive, q.text, d.dir, d.env) {
					t.Logf("NOT COMPARED: this ssh is one of those that answer ssh -G %s differently", q.text)
					for _, f := range archive.Files {
						if f.Name == "answer "+q.text {
							answers = append(answers, f)
						}
					}
					continue
				}
				if !*update && os.Getenv("CI") == "" && want != recorded(t, archive, q.text, d.dir, d.env) {
					t.Skipf("NOT COMPARED: this ssh does not answer ssh -G %s as the recorded one did", q.text)
				}
				require.Equal(t, want, asVague(want, d.ours(t, q)), "ssh -G %s", q.text)
				answers = append(answers, txtar.File{Name: "answer " + q.text, Data: []byte(d.portable(want) + "\n")})
			}
			if *update {
				record(t, path, archive, answers)
			}
		})
	}
}

func needSSH(t testing.TB) {
	out, err := exec.Command("ssh", "-V").CombinedOutput()
	switch {
	case err != nil && os.Getenv("CI") != "":
		t.Fatalf("ssh cannot be run: %v", err)
	case err != nil:
		t.Skipf("NOT COMPARED with ssh -G: %v", err)
	case !strings.HasPrefix(string(out), "OpenSSH_9."):
		t.Skipf("NOT COMPARED: the corpus is for OpenSSH 9, this is %s", out)
	}
}

func corpus(t testing.TB) []string {
	paths, err := filepath.Glob("testdata/parity/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	return paths
}

func lookupEnv(name string) (string, bool) {
	if name == "SITE" {
		return "north", true
	}
	return "", false
}

func questions(archive *txtar.Archive) []question {
	var list []question
	for line := range strings.Lines(string(archive.Comment)) {
		mark, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if mark == "?" || mark == "~" {
			list = append(list, question{text, strings.Fields(text), mark == "~"})
		}
	}
	return list
}

// unpack writes the files. In them $DIR, $ME and $HOME_DIR are replaced by local values, and \r is a carriage return.
func (d *dumper) unpack(t testing.TB, archive *txtar.Archive) {
	for _, f := range archive.Files {
		if strings.HasPrefix(f.Name, "answer ") {
			continue
		}
		text := strings.NewReplacer("$DIR", d.dir, "$ME", d.env.LocalUser, "$HOME_DIR", d.env.Home, `\r`, "\r", `\x00`, "\x00").Replace(string(f.Data))
		path := filepath.Join(d.dir, f.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		require.NoError(t, os.Chmod(path, 0o644))
	}
}

// portable replaces what differs between machines.
func (d *dumper) portable(answer string) string {
	answer = strings.ReplaceAll(answer, d.dir, "$DIR")
	answer = strings.ReplaceAll(answer, d.env.Home, "$HOME_DIR")
	return regexp.MustCompile(`(?m)^user `+d.env.LocalUser+`$`).ReplaceAllString(answer, "user $$ME")
}

func recorded(t testing.TB, archive *txtar.Archive, text, dir string, env Environment) string {
	for _, f := range archive.Files {
		if f.Name == "answer "+text {
			answer := strings.ReplaceAll(string(f.Data), "$HOME_DIR", env.Home)
			answer = strings.ReplaceAll(answer, "user $ME\n", "user "+env.LocalUser+"\n")
			return strings.TrimSuffix(strings.ReplaceAll(answer, "$DIR", dir), "\n")
		}
	}
	t.Fatalf("there is no recorded answer for %s: go test ./transport/sshconfig -run TestParity -update", text)
	return ""
}

func record(t testing.TB, path string, archive *txtar.Archive, answers []txtar.File) {
	files := slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return strings.HasPrefix(f.Name, "answer ") })
	archive.Files = append(files, answers...)
	require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o644))
}

// theirs returns the answer of ssh without defaults: an option a line, or "error" with the places that ssh names.
func (d *dumper) theirs(t testing.TB, q question) string {
	stdout, stderr, err := d.ssh(q)
	switch {
	case strings.HasPrefix(stderr, "jumphost loop"):
		return circle
	case err != nil:
		return errorLines(stderr)
	}
	lines := parseDump(stdout)
	var b strings.Builder
	for _, o := range compared {
		value := normal(o, lines[strings.ToLower(o.String())])
		if o == HostName || o == User || o == Port || value != d.defaults[o.String()] {
			fmt.Fprintf(&b, "%s %s\n", strings.ToLower(o.String()), value)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (d *dumper) ssh(q question) (stdout, stderr string, err error) {
	cmd := exec.Command("ssh", append([]string{"-T", "-G", "-F", filepath.Join(d.dir, "config")}, q.args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "SITE=north", "SHELL=/bin/sh"}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

var placeOfError = regexp.MustCompile(`(?m)^([^\s:]+):? line (\d+): `)

// errorLines returns the places in ssh's error messages.
func errorLines(stderr string) string {
	places := []string{}
	for _, m := range placeOfError.FindAllStringSubmatch(stderr, -1) {
		places = append(places, m[1]+":"+m[2])
	}
	slices.Sort(places)
	return noPlace + strings.Join(slices.Compact(places), " ")
}

// asVague removes the place of a mistake if ssh does not print it.
func asVague(theirs, ours string) string {
	if theirs == noPlace && strings.HasPrefix(ours, noPlace) {
		return theirs
	}
	return ours
}

const (
	noPlace = "error "
	circle  = "circle"
)

func parseDump(text string) map[string]string {
	lines := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if lines[key] != "" {
			value = lines[key] + " | " + value
		}
		lines[key] = value
	}
	return lines
}

// normal converts a value of ssh -G to our form.
func normal(o Option, value string) string {
	switch o {
	case ProxyJump:
		if value == "" || value == "none" { // a comment after none makes it a host in 9.2
			return ""
		}
		values, _, err := parseJump(value)
		if err != nil {
			return err.Error()
		}
		return strings.Join(values, ",")
	case StrictHostKeyChecking, PubkeyAuthentication, CanonicalizeHostname:
		switch value {
		case "true", "unbound", "host-bound":
			return "yes"
		case "false":
			return "no"
		}
	}
	return value
}

// ours is our answer in the same form.
func (d *dumper) ours(t testing.TB, q question) string {
	c, err := Load(d.env, File{Path: filepath.Join(d.dir, "config"), User: true, Named: true})
	if err != nil {
		return ourErrors(err)
	}
	query := queryOf(t, q.args)
	raw, err := c.collect(query)
	if err != nil {
		return ourErrors(err)
	}
	if _, err := c.Resolve(query); err != nil && strings.Contains(err.Error(), "form a loop") {
		return circle
	}
	// ssh -G replaces the tokens in these alone.
	known := *raw
	expander := &tokens{env: d.env, host: raw.host, original: query.Host, login: raw.login, port: raw.port, alias: query.Host}
	if err := c.expandFiles(expander, &known, UserKnownHostsFile); err != nil {
		return noPlace
	}
	if agent := raw.Text(IdentityAgent); !strings.HasPrefix(agent, "$") || strings.HasPrefix(agent, "${") {
		if err := c.expandFiles(expander, &known, IdentityAgent); err != nil {
			return noPlace
		}
	}
	if known.set[HostKeyAlias] != nil {
		known.set[HostKeyAlias] = &Setting{HostKeyAlias, []string{lower(known.Text(HostKeyAlias))}, nil}
	}
	var b strings.Builder
	for _, o := range compared {
		value := d.dump(&known, o)
		if o == HostName || o == User || o == Port || value != d.defaults[o.String()] {
			fmt.Fprintf(&b, "%s %s\n", strings.ToLower(o.String()), value)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func ourErrors(err error) string {
	places := []string{}
	for line := range strings.Lines(err.Error()) {
		if m := regexp.MustCompile(`^(\S+:\d+): `).FindStringSubmatch(line); m != nil {
			places = append(places, m[1])
		}
	}
	slices.Sort(places)
	return noPlace + strings.Join(slices.Compact(places), " ")
}

func (d *dumper) dump(s *Settings, o Option) string {
	values := s.Values(o)
	switch o {
	case HostName:
		return s.host
	case User:
		return s.login
	case Port:
		return s.port
	case ProxyJump:
		if slices.Equal(values, []string{"none"}) {
			return ""
		}
		return strings.Join(values, ",")
	case ProxyCommand, RevokedHostKeys:
		if s.Text(o) == "none" {
			return ""
		}
	case IdentityFile, CertificateFile:
		if values != nil {
			return strings.Join(values, " | ")
		}
	case Ciphers, KexAlgorithms, MACs, HostKeyAlgorithms, PubkeyAcceptedAlgorithms:
		if values != nil {
			names, _ := Assemble(values[0], strings.Split(d.defaults[o.String()], ","), d.all[o.String()])
			return strings.Join(names, ",")
		}
	}
	if values == nil {
		return d.defaults[o.String()]
	}
	return strings.Join(values, " ")
}

func queryOf(t testing.TB, args []string) Query {
	q := Query{}
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "-l":
			i++
			q.User = args[i]
		case "-p":
			i++
			port, err := strconv.Atoi(args[i])
			require.NoError(t, err)
			q.Port = port
		case "-o":
			i++
			name, value, _ := strings.Cut(args[i], "=")
			q.Given = append(q.Given, Given{Name: name, Value: value, At: "command-line:0"})
		default:
			q.Host = args[i]
		}
	}
	return q
}

// defaultsName is the file with the output of ssh -G without a configuration, and the algorithms that it knows.
const defaultsName = "testdata/defaults.txt"

func liveDefaults(t testing.TB) map[string]string {
	stdout, _, err := (&dumper{dir: t.TempDir()}).bare()
	require.NoError(t, err)
	lines := parseDump(stdout)
	defaults := map[string]string{}
	for _, o := range compared {
		defaults[o.String()] = normal(o, lines[strings.ToLower(o.String())])
	}
	return defaults
}

func (d *dumper) bare() (stdout, stderr string, err error) {
	if err := os.WriteFile(filepath.Join(d.dir, "config"), nil, 0o600); err != nil {
		return "", "", err
	}
	return d.ssh(question{args: []string{"web1"}})
}

func liveAlgorithms(t testing.TB) map[string][]string {
	all := map[string][]string{}
	for o, query := range map[Option]string{
		Ciphers: "cipher", KexAlgorithms: "kex", MACs: "mac",
		HostKeyAlgorithms: "HostKeyAlgorithms", PubkeyAcceptedAlgorithms: "PubkeyAcceptedAlgorithms",
	} {
		out, err := exec.Command("ssh", "-Q", query).Output()
		require.NoError(t, err)
		all[o.String()] = strings.Fields(string(out))
	}
	return all
}

func writeRecorded(t testing.TB, defaults map[string]string, all map[string][]string) {
	me, err := user.Current()
	require.NoError(t, err)
	var b strings.Builder
	for _, o := range compared {
		fmt.Fprintf(&b, "default %s %s\n", o, strings.ReplaceAll(defaults[o.String()], me.HomeDir, "$HOME_DIR"))
		if names := all[o.String()]; names != nil {
			fmt.Fprintf(&b, "all %s %s\n", o, strings.Join(names, " "))
		}
	}
	require.NoError(t, os.WriteFile(defaultsName, []byte(b.String()), 0o644))
}

func readRecorded(t testing.TB) (defaults map[string]string, all map[string][]string) {
	text, err := os.ReadFile(defaultsName)
	require.NoError(t, err)
	defaults, all = map[string]string{}, map[string][]string{}
	for line := range strings.Lines(string(text)) {
		words := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if words[0] == "default" {
			defaults[words[1]] = strings.ReplaceAll(words[2], "$HOME_DIR", "/home/operator")
		} else {
			all[words[1]] = strings.Fields(words[2])
		}
	}
	return defaults, all
}

func liveUser(t testing.TB) *user.User {
	me, err := user.Current()
	require.NoError(t, err)
	return me
}
