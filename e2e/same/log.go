package main

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// logs are the runs of scripts, by the name of their test.
type logs map[string][]scriptLog

// A scriptLog is the log of one run of a script.
type scriptLog []record

// A record is a command of a script, and what followed in the log until the next one.
type record struct {
	command string
	output  []string // sorted, since hosts print in any order
}

func (l logs) add(more logs) {
	for name, list := range more {
		l[name] = append(l[name], list...)
	}
}

// calls matches a command of a script that calls ccm-push.
var calls = regexp.MustCompile(`^(! |exits \d+ |shows \S+ \d+ |prints .*|exec .*)?\bccm-push |^exec sh call `)

// commands returns the number of commands that call ccm-push, in plays or in other scripts.
func (l logs) commands(ofPlays bool) (n int) {
	for name, list := range l {
		if strings.HasPrefix(name, playsOf+"/") != ofPlays {
			continue
		}
		for _, r := range list[0] {
			if calls.MatchString(r.command) {
				n++
			}
		}
	}
	return n
}

// marker matches a line of test2json that names the test of the following lines, or ends one.
var marker = regexp.MustCompile(`^\x16(?:=== \w+ |--- \w+:) *(\S*)`)

// ends matches the line that ends a test.
var ends = regexp.MustCompile(`^\x16?--- (PASS|FAIL|SKIP): (\S+)`)

// parseLog returns the logs of scripts in what a test program printed.
func parseLog(text string) logs {
	raw, order := map[string][]string{}, []string{}
	current := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		// A test may print the marker in the middle of a line.
		if i := strings.LastIndexByte(line, 0x16); i > 0 {
			line = line[i:]
		}
		if m := marker.FindStringSubmatch(line); m != nil {
			current = m[1]
			if m := ends.FindStringSubmatch(line); m != nil && raw[m[2]] != nil {
				raw[m[2]] = append(raw[m[2]], "> "+m[1]) // the end is a command as well
			}
			continue
		}
		if raw[current] == nil {
			order = append(order, current)
		}
		raw[current] = append(raw[current], strings.TrimPrefix(line, "        "))
	}
	all := logs{}
	for _, name := range order {
		if list := commandsOf(raw[name]); len(list) > 1 {
			all[name] = []scriptLog{list}
		}
	}
	return all
}

// occasional matches lines that ccm-push prints only if hosts are slow, and comments of scripts, which have times.
var occasional = regexp.MustCompile(`^# .* \(\d+\.\d+s\)$|^ccm-push: (\d+/\d+ hosts done|hosts: |\S+( and \d+ more)? (done|failed|unreachable)\b)`)

// commandsOf takes the lines of a script's log apart.
func commandsOf(lines []string) (all scriptLog) {
	stream := ""
	for _, line := range lines {
		command, is := strings.CutPrefix(line, "> ")
		switch {
		case is:
			all, stream = append(all, record{command: command}), ""
		case line == "[stdout]" || line == "[stderr]":
			stream = line + " "
		case len(all) > 0 && !occasional.MatchString(line): // the environment comes first
			last := &all[len(all)-1]
			last.output = append(last.output, stream+masked(line))
		}
	}
	for i := range all {
		slices.Sort(all[i].output)
		all[i].output = collapsed(all[i].output)
	}
	return all
}

// collapsed returns sorted lines with one line for many equal ones: the output of a command that prints faster than it is read.
func collapsed(lines []string) (all []string) {
	const many = 20
	for i, line := range lines {
		if i < many || line != lines[i-many] {
			all = append(all, line)
		}
	}
	return all
}

// masks are texts that differ from run to run, and their replacements.
var masks = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(` {2,}`), " "}, // columns are as wide as masked values
	{regexp.MustCompile(`/tmp/same-\d+/(old|new)`), "/tmp/same"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?`), "TIME"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d(\.\d+)?\b`), "TIME"},
	{regexp.MustCompile(`\b01[0-9A-Z]{24}\b`), "ID"},
	{regexp.MustCompile(`\b(\d+(\.\d+)?(ns|µs|ms|s|m|h|d))+\b`), "0s"},
	{regexp.MustCompile(`\bPT[0-9.]+S\b`), "PT0S"},
	{regexp.MustCompile(`\btime="[0-9.]+"`), `time="0"`},
	{regexp.MustCompile(`<svg .*?</svg>`), "<svg/>"},
	{regexp.MustCompile(`"(\w*_ms|\w*_seconds|connect|start|compile|apply|port|pid|size|bytes)": ?[0-9.e+-]+`), `"$1":0`},
	// Facts of this machine.
	{regexp.MustCompile(`^( *"(procs|uptime|active|available|buffers|cached|committedAS|dirty|free|inactive|inodes\w+|mapped|pageTables|pg\w+|` +
		`slab|sreclaimable|sunreclaim|used|usedPercent|vmallocUsed|writeBack|load\d+|swap\w+)": )[0-9.e+-]+`), "${1}0"},
	{regexp.MustCompile(`\[?127\.0\.0\.1\]?:\d+`), "ADDRESS"},
	{regexp.MustCompile(`(-p|pid|process|kill|\bport\b\W{1,4}?) ?\d+`), "$1 0"},
	{regexp.MustCompile(`\bhosts\.yaml:\d+:\d+`), "hosts.yaml:0:0"}, // a line has ports and folders
	{regexp.MustCompile(`SHA256:[A-Za-z0-9+/]+`), "FINGERPRINT"},
	{regexp.MustCompile(`\b[0-9a-f]{12,}\b`), "HASH"},
	{regexp.MustCompile(`/tmp/[\w.-]*\d{2,}`), "/tmp/0"},
	{regexp.MustCompile(`[A-Za-z0-9+/_-]{40,}=*`), "BASE64"},
	{regexp.MustCompile(`\d+(\.\d+)? ?([kKMG]i?B|bytes|B)\b`), "0 B"},
	{regexp.MustCompile(`\[… \d+ lines`), "[… 0 lines"}, // which a slow reader did not get
	{regexp.MustCompile(`^slowest: .*`), "slowest: HOSTS"},
}

// masked returns a line without what differs from run to run.
func masked(line string) string {
	for _, m := range masks {
		line = m.pattern.ReplaceAllString(line, m.text)
	}
	return line
}

// names returns the names of all scripts of two logs, in order.
func names(one, two logs) []string {
	all := maps.Clone(one)
	maps.Copy(all, two)
	return slices.SortedFunc(maps.Keys(all), func(a, b string) int { return cmp.Compare(a, b) })
}
