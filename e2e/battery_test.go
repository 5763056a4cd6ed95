//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

const (
	batteryTime = 75 * time.Second // after which a sample starts no further project
	batteryTodo = 15               // percentage of projects that may contain a todo
)

// TestFleetBattery runs the projects of testdata/battery with Ansible on one host, and converted on its twin. The hosts
// must be equal, or the conversion must contain a todo. In a project, OUT is its folder and UNIT its service.
// testdata/battery/known lists the projects that differ, with the reason; the list may only become shorter.
// CCM_BATTERY is all, or names of projects; without it the commit chooses projects on hosts with apt, for as long as batteryTime.
// CCM_BATTERY_STATE is a file with the outcomes of earlier calls; their projects do not run again.
func TestFleetBattery(t *testing.T) {
	needs.Program(t, "ansible-playbook")
	all, known := readBattery(t)
	chosen, sample := slices.Clone(all), os.Getenv("CCM_BATTERY") == ""
	switch names := os.Getenv("CCM_BATTERY"); names {
	case "all":
	case "":
		random := rand.New(rand.NewPCG(seedsOfCommit(t, 1)[0], 0))
		random.Shuffle(len(chosen), func(i, k int) { chosen[i], chosen[k] = chosen[k], chosen[i] })
		chosen = slices.DeleteFunc(chosen, func(p *project) bool { return p.dnf }) // an image of such hosts takes minutes
	default:
		chosen = slices.DeleteFunc(chosen, func(p *project) bool { return !slices.Contains(strings.Split(names, ","), p.name) })
	}
	outcomes := map[string]string{}
	var keep io.Writer = io.Discard
	if path := os.Getenv("CCM_BATTERY_STATE"); path != "" {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		earlier, err := os.ReadFile(path)
		if !os.IsNotExist(err) {
			require.NoError(t, err)
		}
		for line := range strings.Lines(string(earlier)) {
			name, outcome, _ := strings.Cut(strings.TrimSpace(line), " ")
			outcomes[name] = outcome
		}
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		require.NoError(t, err)
		t.Cleanup(func() { file.Close() })
		keep = file
	}
	chosen = slices.DeleteFunc(chosen, func(p *project) bool { return outcomes[p.name] != "" })

	f := leaseFleet(t)
	for _, twins := range []struct{ flag, packages, theirs, ours string }{
		{"", "python3,python3-apt,python3-pip,python3-venv,podman,crun,ufw", "s001", "s002"},
		{"--rpm", "python3,python3-apt,python3-dnf", "rs001", "rs002"},
	} {
		var some []*project
		for _, p := range chosen {
			if p.dnf == (twins.flag == "--rpm") {
				some = append(some, p)
			}
		}
		if len(some) == 0 {
			continue
		}
		up := f.command("up", "2", "--systemd")
		if twins.flag != "" {
			up.Args = append(up.Args, twins.flag)
		}
		up.Env = append(up.Env, "FLEET_PACKAGES="+twins.packages)
		outputOf(t, up)
		t.Cleanup(func() { f.tool("down", twins.theirs, twins.ours) })
		b := &battery{fleet: f, theirs: twins.theirs, ours: twins.ours, dnf: twins.flag == "--rpm"}
		b.begin(some)
		until := time.Now().Add(batteryTime)
		for i, p := range some {
			if sample && time.Now().After(until) {
				t.Logf("NOT TESTED: %d projects; %s are over", len(some)-i, batteryTime)
				break
			}
			outcome, detail := b.compare(p)
			t.Logf("%-22s %s %s", p.name, p.class, outcome)
			if detail != "" && known[p.name] == "" {
				t.Logf("%s:\n%s", p.name, detail)
			}
			outcomes[p.name] = outcome
			if !strings.HasPrefix(outcome, "WRONG") {
				fmt.Fprintln(keep, p.name, outcome)
			}
		}
	}
	judge(t, all, outcomes, known)
}

// judge counts outcomes by class, and fails if a difference is not known or a known one has gone.
func judge(t *testing.T, all []*project, outcomes, known map[string]string) {
	classes, total := map[string]map[string]int{}, map[string]int{}
	for _, p := range all {
		outcome := outcomes[p.name]
		if outcome == "" {
			continue
		}
		kind, _, _ := strings.Cut(outcome, ":")
		if classes[p.class] == nil {
			classes[p.class] = map[string]int{}
		}
		classes[p.class][kind]++
		total[kind]++
		total["all"]++
		switch different := kind != "equal" && kind != "todo"; {
		case different && known[p.name] == "":
			t.Errorf("%s: %s", p.name, outcome)
		case !different && known[p.name] != "":
			t.Errorf("%s is %s; remove it from testdata/battery/known", p.name, kind)
		}
	}
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		t.Logf("%s %v", class, classes[class])
	}
	t.Logf("projects %v", total)
	if total["all"] == len(all) && total["todo"]*100 > batteryTodo*len(all) {
		t.Logf("%d of %d projects contain a todo; the goal is %d%%", total["todo"], len(all), batteryTodo)
	}
}

// A project is a playbook with its roles, variables and inventory.
type project struct {
	name, class, before, inventory string
	dnf                            bool // dnf hosts, not apt
	alone                          bool // conversion without the inventory
	files                          []txtar.File
}

// readBattery returns the projects, and the reasons of the known differences by project.
func readBattery(t *testing.T) (projects []*project, known map[string]string) {
	paths, err := filepath.Glob("testdata/battery/*.txtar")
	require.NoError(t, err)
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		archive := txtar.Parse(projectWords.ReplaceAllFunc(text, func(word []byte) []byte {
			if string(word) == "OUT" {
				return []byte("/srv/b/" + name)
			}
			return []byte("b-" + name)
		}))
		p := &project{name: name, inventory: "hosts", files: archive.Files}
		for line := range strings.Lines(string(archive.Comment)) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			switch key {
			case "class":
				p.class = value
			case "before":
				p.before = value
			case "inventory":
				p.inventory = value
			case "hosts":
				p.dnf = value == "dnf"
			case "convert":
				p.alone = value == "alone"
			}
		}
		require.NotEmpty(t, p.class, path)
		projects = append(projects, p)
	}
	known = map[string]string{}
	text, err := os.ReadFile("testdata/battery/known")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if name, reason, is := strings.Cut(strings.TrimSpace(line), " "); is && !strings.HasPrefix(line, "#") {
			known[name] = reason
			require.True(t, slices.ContainsFunc(projects, func(p *project) bool { return p.name == name }), "testdata/battery/known: no project %s", name)
		}
	}
	return projects, known
}

var projectWords = regexp.MustCompile(`\b(OUT|UNIT)\b`)

// A battery has two hosts that are the same, and Ansible in a process that stays.
type battery struct {
	*fleet
	theirs, ours string
	dnf          bool
	in           io.Writer
	answers      *bufio.Scanner
	facts        []byte            // cache of Ansible's facts, before any project
	before       map[string]string // state by host
}

// begin makes both hosts ready for the projects.
func (b *battery) begin(projects []*project) {
	var setup strings.Builder
	if b.dnf {
		// Ansible and ccm-push know this distribution, and use dnf.
		setup.WriteString(rpmRepository + dnfSetup + `
printf '%s\n' 'NAME="Rocky Linux"' 'VERSION="9.3 (Blue Onyx)"' 'ID="rocky"' 'ID_LIKE="rhel centos fedora"' 'VERSION_ID="9.3"' 'PRETTY_NAME="Rocky Linux 9.3 (Blue Onyx)"' >/etc/os-release
rm -f /etc/debian_version; echo 'Rocky Linux release 9.3 (Blue Onyx)' | tee /etc/redhat-release >/etc/rocky-release
`)
	} else {
		setup.WriteString(aptSetup + "\n")
	}
	for _, p := range projects {
		fmt.Fprintf(&setup, "mkdir -p /srv/b/%s\n", p.name)
		if p.uses("b-" + p.name) {
			log := fmt.Sprintf("/bin/sh -c 'echo %%s >>/srv/b/%s/unit.log'", p.name)
			fmt.Fprintf(&setup, "cat >/etc/systemd/system/b-%s.service <<'END'\n[Service]\nExecStartPre=%s\nExecStart=/bin/sleep infinity\nExecReload=%s\nExecStop=%s\n[Install]\nWantedBy=multi-user.target\nEND\n",
				p.name, fmt.Sprintf(log, "start"), fmt.Sprintf(log, "reload"), fmt.Sprintf(log, "stop"))
		}
	}
	setup.WriteString("systemctl daemon-reload\ncd /etc/systemd/system; for unit in b-*.service; do [ ! -e $unit ] || systemctl start $unit; done\n")
	for _, host := range []string{b.theirs, b.ours} {
		b.sh(host, setup.String())
	}
	config := b.tool("inventory", "--ssh")
	for _, side := range []string{b.theirs, b.ours} {
		var lines []string
		for _, block := range strings.SplitAfter(config, "known_hosts\n") {
			if strings.HasPrefix(block, "Host "+side+"\n") {
				lines = append(lines, strings.Replace(strings.Replace(block, "Host "+side, "Host target", 1), "  User root\n", "", 1))
			}
		}
		require.Len(b, lines, 1, config)
		write(b, b.path("ssh-"+side), lines[0])
	}
	write(b, b.path("ansible.cfg"), "[defaults]\ngathering = smart\nfact_caching = jsonfile\nfact_caching_connection = "+b.path("facts")+
		"\ninterpreter_python = /usr/bin/python3\nforks = 1\nremote_user = root\n[ssh_connection]\npipelining = true\nssh_args = -F "+b.path("ssh-"+b.theirs)+
		" -o ControlMaster=auto -o ControlPersist=300s -o ControlPath="+b.path(b.theirs+"-%r")+"\n")
	write(b, b.path("target"), "target\n")
	driver, err := filepath.Abs("testdata/ansible/answers.py")
	require.NoError(b, err)
	cmd := exec.CommandContext(b.Context(), pythonOf(b), driver)
	cmd.Dir = b.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.dir, "LC_ALL=C.UTF-8", "ANSIBLE_NOCOLOR=1", "USER=root"}
	in, err := cmd.StdinPipe()
	require.NoError(b, err)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
		for _, user := range []string{"root", "deploy"} { // else they stay for five minutes
			_ = exec.Command("ssh", "-o", "ControlPath="+b.path(b.theirs+"-"+user), "-O", "exit", "target").Run()
		}
	})
	b.in, b.answers = in, bufio.NewScanner(out)
	b.answers.Buffer(nil, 64<<20)
	a := b.ansible("ansible", "-i", "target", "target", "-m", "setup")
	require.Equal(b, 0, a.Code, "%s\n%s", a.Stdout, a.Stderr)
	b.facts, err = os.ReadFile(b.path("facts/target"))
	require.NoError(b, err)
	require.NoError(b, os.RemoveAll(b.path("battery")))
	b.before = b.states("none")
	require.Empty(b, changesOf(b.before[b.theirs], b.before[b.ours]), "the hosts differ before anything is done")
}

// uses reports whether a file of the project has a text.
func (p *project) uses(text string) bool {
	return slices.ContainsFunc(p.files, func(file txtar.File) bool { return bytes.Contains(file.Data, []byte(text)) })
}

// ansible runs a command of Ansible.
func (b *battery) ansible(argv ...string) (a answer) {
	b.Helper()
	require.NoError(b, json.NewEncoder(b.in).Encode(argv))
	require.True(b, b.answers.Scan(), "Ansible's process has ended: %v", b.answers.Err())
	require.NoError(b, json.Unmarshal(b.answers.Bytes(), &a))
	return a
}

// compare runs a project on both hosts, twice, and returns its outcome, and what differs.
func (b *battery) compare(p *project) (outcome, detail string) {
	dir := filepath.Join("battery", p.name)
	for _, file := range p.files {
		path := b.path(filepath.Join(dir, file.Name))
		require.NoError(b, os.MkdirAll(filepath.Dir(path), 0o755))
		write(b, path, string(file.Data))
	}
	inventory := filepath.Join(dir, p.inventory)
	if _, err := os.Stat(b.path(inventory)); err != nil {
		write(b, b.path(inventory), "target\n")
	}
	args := func(more ...string) []string {
		return append([]string{"--ssh-config", b.path("ssh-" + b.ours), "-u", "root", "-i", inventory}, more...)
	}
	if p.uses("ansible_user=deploy") {
		args = func(more ...string) []string {
			return append([]string{"--ssh-config", b.path("ssh-" + b.ours), "-i", inventory}, more...)
		}
	}
	out := filepath.Join("converted", p.name)
	require.NoError(b, os.MkdirAll(b.path("converted"), 0o755))
	convert := args("from-ansible", filepath.Join(dir, "site.yml"), "--out", out)
	if p.alone {
		convert = convert[slices.Index(convert, "from-ansible"):]
	}
	converted := b.push(convert...)
	if converted.code != 0 {
		return "refused: " + firstLine(converted.stderr), converted.stderr
	}
	said := b.written(out)
	if todos := projectTodos.FindAllString(said, -1); len(todos) > 0 {
		return "todo: " + strings.Join(todos, "; "), ""
	}
	site := filepath.Join(out, "site.yaml")
	if valid := b.push(args("validate", site)...); valid.code != 0 {
		return "invalid: " + firstLine(valid.stderr), valid.stderr + said
	}
	if p.before != "" {
		both(func() { b.sh(b.theirs, p.before+"\ntrue") }, func() { b.sh(b.ours, p.before+"\ntrue") })
	}
	start := b.states(p.name)
	var failed, second []string
	var after map[string]string
	for i := range 2 {
		require.NoError(b, os.WriteFile(b.path("facts/target"), b.facts, 0o644))
		if p.uses("ansible_user=deploy") {
			require.NoError(b, os.Remove(b.path("facts/target")))
		}
		var theirs answer
		var ours run
		both(func() { theirs = b.ansible("ansible-playbook", "-i", inventory, filepath.Join(dir, "site.yml")) },
			func() { ours = b.push(args(site)...) })
		if theirs.Code != 0 {
			return "WRONG PROJECT: Ansible fails", theirs.Stdout + theirs.Stderr
		}
		if ours.code != 0 {
			failed = append(failed, ours.stdout+ours.stderr)
		}
		state := b.states(p.name)
		wanted, got := changesOf(start[b.theirs], state[b.theirs]), changesOf(start[b.ours], state[b.ours])
		if diff := linesOnly("only Ansible ", wanted, got) + linesOnly("only ccm-push ", got, wanted); len(failed) == 0 && diff != "" {
			detail := diff + said + theirs.Stdout + ours.stdout
			if i == 0 {
				return "SILENTLY DIFFERENT: " + firstLine(diff), detail
			}
			return "SILENTLY DIFFERENT: in the second run " + firstLine(diff), detail
		}
		if i == 1 && !strings.Contains(ours.stdout, " 0 changed") && ansibleStable.MatchString(theirs.Stdout) {
			second = append(second, ours.stdout)
		}
		start, after = state, state
	}
	b.before = after
	switch {
	case len(failed) > 0:
		return "failed: " + firstLine(failed[0]), failed[0] + said
	case len(second) > 0:
		return "UNSTABLE: the second run changes something", second[0] + said
	}
	return "equal", ""
}

var projectTodos = regexp.MustCompile(`\btodo(: ['"]|\(['"]).*`)

var ansibleStable = regexp.MustCompile(`changed=0 `)

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// both runs two functions at the same time.
func both(one, other func()) {
	var wait sync.WaitGroup
	wait.Go(one)
	other()
	wait.Wait()
}

// written returns what a conversion has written, as text.
func (b *battery) written(folder string) string {
	var text strings.Builder
	require.NoError(b, filepath.WalkDir(b.path(folder), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(b.path(folder), path)
		fmt.Fprintf(&text, "== %s\n%s", name, data)
		return err
	}))
	return text.String()
}

// states returns the state of both hosts, with the contents below the folder of a project.
func (b *battery) states(project string) map[string]string {
	script := "cd /; export LC_ALL=C; dir=srv/b/" + project + batteryState
	var theirs, ours string
	both(func() { theirs = b.sh(b.theirs, script) }, func() { ours = b.sh(b.ours, script) })
	return map[string]string{b.theirs: strings.ReplaceAll(theirs, b.theirs, "HOST"), b.ours: strings.ReplaceAll(ours, b.ours, "HOST")}
}

// batteryState prints a line for each thing of a host that a project may change.
const batteryState = `
mkdir -p $dir
find $dir etc home usr/local opt root var/spool/cron -not -path '*/.ansible*' -not -path '*/.cache*' -not -path 'etc/ssh/*' \
	-not -name '*-' -not -path '*/.ssh*' -not -path 'etc/.pwd.lock' -not -path 'etc/ssl/*' -printf '%y %m %u:%g %p %l\n' 2>/dev/null
find etc home usr/local opt root -type f -not -path '*/.ansible*' -not -path '*/.cache*' -not -path 'etc/ssh/*' -not -name '*-' -not -path '*/.ssh*' -not -path 'etc/ssl/*' |
	grep -v -E '^etc/(hostname|hosts|machine-id|passwd|group|g?shadow|sub[ug]id|ld.so.cache|resolv.conf|.pwd.lock)$' | xargs -d '\n' sha256sum
find $dir -type f | sort | while read -r file; do sed "s|^|$file: |; \$a\\" "$file"; [ -z "$(tail -c1 "$file")" ] || echo "$file: (no line break)"; done
cat etc/passwd etc/group; cut -d: -f1,2 etc/shadow
[ ! -e usr/bin/dpkg-query ] || dpkg-query -W
[ ! -e /var/lib/rpm ] || rpm -qa | sort
for file in var/spool/cron/crontabs/*; do [ ! -f $file ] || grep -v '^#' $file | sed "s|^|$file: |"; done
systemctl list-unit-files --no-legend --no-pager | grep -v ' transient '
systemctl list-units --type=service --all --no-legend --no-pager --plain | grep -v -E '^(ssh|session|user|podman|systemd-|rc-local|auth|display)' | awk '{ print $1, $2, $3, $4 }'`

// changesOf returns the lines that only one of two states has, with + or - before them.
func changesOf(before, after string) string {
	return linesOnly("- ", before, after) + linesOnly("+ ", after, before)
}

// linesOnly returns the lines of a text that another one lacks, with a word before them.
func linesOnly(word, text, other string) string {
	count := map[string]int{}
	for line := range strings.Lines(other) {
		count[line]++
	}
	var lines strings.Builder
	for line := range strings.Lines(text) {
		if count[line]--; count[line] < 0 {
			lines.WriteString(word + line)
		}
	}
	return lines.String()
}
