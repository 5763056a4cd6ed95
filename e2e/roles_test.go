//go:build e2e

package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

const (
	rolesAtOnce   = 3
	rolesBase     = 40 // number of roles that the measurement consists of
	rolesPackages = "python3,python3-apt,ca-certificates,gnupg,less,logrotate,netbase,tzdata"
)

// TestFleetRoles runs public roles with Ansible on a new host, and what from-ansible makes of them on a new twin. The base
// is the first rolesBase roles of testdata/roles/list that Ansible applies without an error. CCM_ROLES is a folder with the
// roles, in subfolders such as owner+name. CCM_ROLES_ONLY is a list of names, CCM_ROLES_STATE a folder with the results.
// CCM_ROLES/ansible keeps the results of Ansible, which does not run again for these roles. The test fails if a role differs silently.
func TestFleetRoles(t *testing.T) {
	from := os.Getenv("CCM_ROLES")
	if from == "" {
		t.Skip(needs.Prefix + "a folder with public roles; run: make roles ROLES=FOLDER")
	}
	needs.Program(t, "ansible-playbook")
	m := &rolesRun{from: from, results: cmp.Or(os.Getenv("CCM_ROLES_STATE"), t.TempDir())}
	archive := startDebian(t, t.TempDir())
	m.fleet = leaseFleet(t)
	if m.tool("status") != "" {
		m.tool("down")
	}
	up := m.command("up", fmt.Sprint(2*rolesAtOnce), "--systemd")
	up.Env = append(up.Env, "FLEET_PACKAGES="+rolesPackages)
	outputOf(t, up)
	t.Cleanup(func() { m.tool("down") })
	m.tool("up", "1") // keeps the bridge and the keys while the others are replaced
	archive.start(m.fleet)
	m.archive = archive
	write(t, m.path("hosts.yaml"), m.tool("inventory"))
	write(t, m.path("ssh"), m.tool("inventory", "--ssh"))

	only := strings.Fields(strings.ReplaceAll(os.Getenv("CCM_ROLES_ONLY"), ",", " "))
	var all []*roleResult
	roles := slices.DeleteFunc(readRoles(t, from), func(r publicRole) bool { return len(only) > 0 && !slices.Contains(only, r.name) })
	results := make([]*roleResult, len(roles))
	var turn, base atomic.Int64
	var wait sync.WaitGroup
	for pair := range rolesAtOnce {
		wait.Go(func() {
			for base.Load() < rolesBase {
				i := int(turn.Add(1)) - 1
				if i >= len(roles) {
					return
				}
				r := m.measure(roles[i], fmt.Sprintf("s%03d", 2*pair+1), fmt.Sprintf("s%03d", 2*pair+2))
				if results[i] = r; r.Ansible == "" {
					base.Add(1)
				}
				t.Logf("%-50s %s", r.Name, firstOf(r.Outcome))
			}
		})
	}
	wait.Wait()
	base.Store(0)
	for _, r := range results {
		if r == nil || r.Ansible == "" && base.Add(1) > rolesBase {
			continue // more roles than needed have run at once
		}
		all = append(all, r)
	}
	t.Logf("\n%s", rolesTable(all))
	for _, r := range all {
		if strings.HasPrefix(r.Outcome, "DIFFERS") || strings.HasPrefix(r.Outcome, "UNSTABLE") {
			t.Errorf("%s: %s", r.Name, r.Outcome)
		}
	}
}

// A publicRole is a line of testdata/roles/list.
type publicRole struct {
	name, short, vars string // such as owner/ansible-role-x, x, {a: 1}
	folder            string
}

// readRoles returns the roles of the list whose folders exist.
func readRoles(t *testing.T, from string) (all []publicRole) {
	text, err := os.ReadFile("testdata/roles/list")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if strings.HasPrefix(line, "#") || len(parts) < 2 {
			continue
		}
		_, short, _ := strings.Cut(parts[0], "/ansible-role-")
		r := publicRole{name: parts[0], short: short, folder: filepath.Join(from, strings.ReplaceAll(parts[0], "/", "+"))}
		if len(parts) == 3 {
			r.vars = parts[2]
		}
		if _, err := os.Stat(r.folder); err != nil {
			t.Logf("NOT TESTED: %s is not in %s", r.name, from)
			continue
		}
		all = append(all, r)
	}
	return all
}

// A roleResult is the outcome of a role.
type roleResult struct {
	Name    string
	Ansible string   // why the role is not in the base
	Changed int      // number of differences that Ansible made to the host
	Outcome string   // equal, todo: n, failed, ...; empty if not in the base
	Todos   []string // reasons
	Carried string   // summary of the conversion
	Detail  string
}

// An ansibleResult holds the result of Ansible for a role.
type ansibleResult struct {
	Error         string
	Stable        bool // the second run changed nothing
	Before, After map[string]string
}

// A rolesRun is a measurement of roles.
type rolesRun struct {
	*fleet
	archive       *debian
	from, results string
}

// measure returns the result of a role, or the kept result of an earlier call.
func (m *rolesRun) measure(r publicRole, theirHost, ourHost string) *roleResult {
	m.Helper()
	result := &roleResult{Name: r.name}
	kept := filepath.Join(m.results, strings.ReplaceAll(r.name, "/", "+")+".json")
	if readJSON(kept, result) {
		return result
	}
	dir := m.path(strings.ReplaceAll(r.name, "/", "+"))
	require.NoError(m, os.RemoveAll(dir))
	require.NoError(m, os.CopyFS(filepath.Join(dir, "roles", r.short), os.DirFS(r.folder)))
	site := "- hosts: all\n  become: true\n"
	if r.vars != "" {
		site += "  vars: " + r.vars + "\n"
	}
	write(m, filepath.Join(dir, "site.yml"), site+"  roles:\n    - "+r.short+"\n")
	var wait sync.WaitGroup
	var theirs *ansibleResult
	wait.Go(func() { theirs = m.ansible(r, dir, theirHost) })
	ours, after, stable := m.converted(r, dir, ourHost, result)
	wait.Wait()
	result.Ansible = theirs.Error
	result.Changed = len(changedKeys(theirs.Before, theirs.After))
	switch {
	case theirs.Error != "":
		result.Outcome = "LEFT OUT: " + firstOf(theirs.Error)
	case ours != "":
		result.Outcome = ours
	default:
		result.Outcome = "equal"
		if differences := hostDifferences(theirs.After, after); differences != "" {
			result.Outcome, result.Detail = "DIFFERS: "+firstOf(differences), differences+result.Detail
		} else if !stable && theirs.Stable {
			result.Outcome = "UNSTABLE: the second run changes something"
		}
	}
	writeJSON(m, kept, result)
	return result
}

// renew boots a host with the files of the image, and has it use the archive.
func (m *rolesRun) renew(host string) {
	m.tool("renew", host)
	m.awaits(host, "systemctl is-active multi-user.target")
	m.sh(host, m.archive.setup(m.fleet))
}

// ansible runs a role with Ansible, twice; or returns what an earlier call has done.
func (m *rolesRun) ansible(r publicRole, dir, host string) *ansibleResult {
	a := &ansibleResult{}
	kept := filepath.Join(m.from, "ansible", strings.ReplaceAll(r.name, "/", "+")+".json")
	if readJSON(kept, a) {
		return a
	}
	m.renew(host)
	a.Before = m.hostState(host)
	for i := range 2 {
		cmd := exec.CommandContext(m.Context(), "timeout", "600", "ansible-playbook", "-i", host+",", "site.yml")
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.dir, "LC_ALL=C.UTF-8", "ANSIBLE_NOCOLOR=1", "USER=root", "ANSIBLE_PIPELINING=1",
			"ANSIBLE_PYTHON_INTERPRETER=/usr/bin/python3", "ANSIBLE_SSH_ARGS=-F " + m.path("ssh") + " -o ControlMaster=auto -o ControlPersist=15s",
			"ANSIBLE_LOCAL_TEMP=" + m.path("tmp"), "ANSIBLE_SSH_CONTROL_PATH=" + m.path(host+"-ssh"), "ANSIBLE_DEPRECATION_WARNINGS=0"}
		out, err := cmd.CombinedOutput()
		write(m, filepath.Join(m.from, "ansible", strings.ReplaceAll(r.name, "/", "+")+fmt.Sprintf(".%d.log", i+1)), string(out))
		if err != nil {
			a.Error = cmp.Or(ansibleFatal.FindString(string(out)), firstOf(string(out)))
			if i == 1 {
				a.Error = "in the second run: " + a.Error
			}
			break
		}
		if i == 0 {
			a.After = m.hostState(host)
		} else {
			a.Stable = ansibleUnchanged.MatchString(string(out))
		}
	}
	writeJSON(m, kept, a)
	return a
}

var (
	ansibleFatal     = regexp.MustCompile(`(?s)(fatal:|ERROR!).{0,400}`)
	ansibleUnchanged = regexp.MustCompile(`changed=0 `)
	placeOfTodo      = regexp.MustCompile(`(?m)^(\S+:\d+): (.*)$`)
)

// converted converts a role, and applies it twice. It returns why that was not possible, and the state after the first run.
func (m *rolesRun) converted(r publicRole, dir, host string, result *roleResult) (outcome string, after map[string]string, stable bool) {
	c := m.push("from-ansible", filepath.Join(dir, "site.yml"), "--out", filepath.Join(dir, "out"), "--report", filepath.Join(dir, "report.md"))
	result.Detail = c.stdout + c.stderr
	if c.code != 0 {
		return "refused: " + firstOf(c.stderr), nil, false
	}
	keep := filepath.Join(m.results, "converted", strings.ReplaceAll(r.name, "/", "+"))
	require.NoError(m, os.RemoveAll(keep))
	require.NoError(m, os.CopyFS(keep, os.DirFS(filepath.Join(dir, "out"))))
	for _, found := range placeOfTodo.FindAllStringSubmatch(c.stdout+c.stderr, -1) {
		result.Todos = append(result.Todos, found[2])
	}
	for line := range strings.Lines(c.stdout + c.stderr) {
		if strings.Contains(line, " tasks carried over") {
			result.Carried = strings.TrimSpace(line)
		}
	}
	inventory := strings.ReplaceAll(m.tool("inventory"), "    "+host+":", "    twin:")
	write(m, filepath.Join(dir, "hosts.yaml"), "all:\n  hosts:\n"+regexp.MustCompile(`(?m)^    twin:.*$`).FindString(inventory)+"\n")
	arguments := []string{"-i", filepath.Join(dir, "hosts.yaml"), filepath.Join(dir, "out", "site.yaml")}
	valid := m.push(append([]string{"validate"}, arguments...)...)
	result.Detail += valid.stdout + valid.stderr
	if todos := max(len(result.Todos), todosWritten(m, filepath.Join(dir, "out"))); todos > 0 {
		return fmt.Sprintf("todo: %d", todos), nil, false
	}
	if valid.code != 0 {
		return "invalid: " + firstOf(valid.stderr), nil, false
	}
	m.renew(host)
	run := m.push(arguments...)
	result.Detail += run.stdout + run.stderr
	if run.code != 0 {
		return "failed: " + firstOf(run.stderr+run.stdout), nil, false
	}
	after = m.hostState(host)
	again := m.push(arguments...)
	result.Detail += again.stdout + again.stderr
	return "", after, again.code == 0 && strings.Contains(again.stdout, " 0 changed")
}

// todosWritten counts the todos in manifests and templates.
func todosWritten(m *rolesRun, dir string) (n int) {
	require.NoError(m, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		n += len(todoWritten.FindAllString(string(text), -1))
		return err
	}))
	return n
}

var todoWritten = regexp.MustCompile(`\btodo(: "|\(['"])`)

// hostState returns the things of a host that a role may change, with their values, in which its name and address are
// HOST and ADDRESS.
func (m *rolesRun) hostState(host string) map[string]string {
	m.Helper()
	script, err := os.ReadFile("testdata/roles/state.py")
	require.NoError(m, err)
	cmd := m.command("exec", host, "python3", "-")
	cmd.Stdin = strings.NewReader(string(script))
	out, err := cmd.Output()
	require.NoError(m, err)
	state := map[string]string{}
	require.NoError(m, json.Unmarshal(out, &state))
	return state
}

// changedKeys returns the keys whose values differ.
func changedKeys(one, other map[string]string) (keys []string) {
	for key := range one {
		if one[key] != other[key] {
			keys = append(keys, key)
		}
	}
	for key := range other {
		if _, is := one[key]; !is {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// hostDifferences describes where the host of Ansible and the twin differ; - is Ansible's.
func hostDifferences(theirs, ours map[string]string) string {
	var text strings.Builder
	for _, key := range changedKeys(theirs, ours) {
		if key == "file /etc/ssh/fleet_keys" {
			continue // another fleet
		}
		fmt.Fprintf(&text, "%s\n", key)
		one, other := strings.Split(theirs[key], "\n"), strings.Split(ours[key], "\n")
		for _, line := range one {
			if !slices.Contains(other, line) {
				fmt.Fprintf(&text, "  - %.200s\n", line)
			}
		}
		for _, line := range other {
			if !slices.Contains(one, line) {
				fmt.Fprintf(&text, "  + %.200s\n", line)
			}
		}
	}
	return text.String()
}

// rolesTable summarises results: outcomes, and the reasons of todos with the number of roles that have them.
func rolesTable(all []*roleResult) string {
	outcomes, mentions, roles := map[string]int{}, map[string]int{}, map[string]int{}
	base, idle := 0, 0
	for _, r := range all {
		kind, _, _ := strings.Cut(r.Outcome, ":")
		outcomes[kind]++
		if r.Ansible != "" {
			continue
		}
		base++
		if r.Changed == 0 {
			idle++
		}
		seen := map[string]bool{}
		for _, todo := range r.Todos {
			for reason := range strings.SplitSeq(todo, "; ") {
				reason = anyWord.ReplaceAllString(reason, "…")
				mentions[reason]++
				if !seen[reason] {
					roles[reason]++
				}
				seen[reason] = true
			}
		}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%d roles in the base, %d of them change nothing: %v\n| reason | mentions | roles |\n|---|---|---|\n", base, idle, outcomes)
	reasons := slices.Collect(maps.Keys(mentions))
	slices.SortFunc(reasons, func(a, b string) int {
		return cmp.Or(roles[b]-roles[a], mentions[b]-mentions[a], strings.Compare(a, b))
	})
	for _, reason := range reasons {
		fmt.Fprintf(&text, "| %s | %d | %d |\n", reason, mentions[reason], roles[reason])
	}
	return text.String()
}

// anyWord matches what differs between reasons that are the same.
var anyWord = regexp.MustCompile(`"[^"]*"|'[^']*'|\{\{.*|\(\S+:\d+\)|\S+\.(yml|yaml|j2)\b|\b\d+\b|\bData\.\w+`)

func firstOf(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// readJSON reports whether a file was there and has been read.
func readJSON(path string, to any) bool {
	text, err := os.ReadFile(path)
	return err == nil && json.Unmarshal(text, to) == nil
}

func writeJSON(m *rolesRun, path string, value any) {
	text, err := json.MarshalIndent(value, "", " ")
	require.NoError(m, err)
	write(m, path, string(text))
}
