package pkg

import (
	"strings"
)

// zypperOutput collects the important parts of zypper's output, which is XML: an element is on a line of its own, and
// only texts have several lines. So no XML parser is needed, which would be large.
type zypperOutput struct {
	rows    []rpmRow // results of a search
	done    []consequence
	reasons []string
	section string // section of the summary: to-install, to-remove, …
	info    zypperInfo
	text    string // element around this line: message or description; empty means neither
}

// line reads one line.
func (o *zypperOutput) line(line string) {
	if o.info.versions != nil {
		o.info.line(line)
		return
	}
	line = strings.TrimSpace(line)
	element, rest, _ := strings.Cut(strings.TrimPrefix(line, "<"), " ")
	switch {
	case o.text != "":
		o.reason(line)
	case strings.HasPrefix(line, "<to-"):
		o.section = strings.Trim(line, "<>")
	case strings.HasPrefix(line, "</to-"):
		o.section = ""
	case element == "solvable":
		o.solvable(rest)
	case strings.HasPrefix(line, `<message type="error">`):
		o.text = "message"
		o.reason(strings.TrimPrefix(line, `<message type="error">`))
	case o.section == "" && strings.HasPrefix(line, "<description>Problem"): // descriptions of packages are in a section
		o.text = "description"
		o.reason(strings.TrimPrefix(line, "<description>"))
	}
}

// reason notes a line of a text. It omits the solutions, since no prompt is shown to choose one.
func (o *zypperOutput) reason(line string) {
	line, ended := strings.CutSuffix(line, "</"+o.text+">")
	if ended {
		o.text = ""
	}
	line = unescape(strings.TrimSpace(line))
	if line != "" && len(o.reasons) < maxReasons && !strings.HasPrefix(line, "Solution ") {
		o.reasons = append(o.reasons, line)
	}
}

// solvable reads a package, of a search or of the summary.
func (o *zypperOutput) solvable(attributes string) {
	row := rpmRow{attribute(attributes, "name"), attribute(attributes, "edition"), attribute(attributes, "arch")}
	switch {
	case row.name == "" || strings.ContainsAny(row.name+row.version, " \t"):
	case o.section == "to-remove":
		o.add(consequence{row.name, ""})
	case o.section != "":
		o.add(consequence{row.name, row.version})
	case attribute(attributes, "repository") != "(System Packages)" && len(o.rows) < maxVersions: // the pseudo-repository "(System Packages)" lists packages that no repository has
		o.rows = append(o.rows, row)
	}
}

func (o *zypperOutput) add(c consequence) {
	if len(o.done) < maxConsequences && (c.version != "" || o.section == "to-remove") {
		o.done = append(o.done, c)
	}
}

// attribute finds the value of an attribute of an element.
func attribute(attributes, name string) string {
	_, rest, ok := strings.Cut(" "+attributes, " "+name+`="`)
	if !ok {
		return ""
	}
	value, _, ok := strings.Cut(rest, `"`)
	if !ok {
		return ""
	}
	return unescape(value)
}

// unescape puts characters in place of their names in XML.
func unescape(text string) string {
	for _, e := range [][2]string{{"&apos;", "'"}, {"&quot;", `"`}, {"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}} {
		text = strings.ReplaceAll(text, e[0], e[1])
	}
	return text
}

var zypperLocked = lazily(`locked by the application with pid (\d+) \(([^)]*)\)`)

// zypperHolder names the process with the lock that zypper could not get.
func zypperHolder(text string) string {
	if m := zypperLocked().FindStringSubmatch(text); m != nil {
		return "process " + m[1] + " (" + m[2] + ")"
	}
	return "another process"
}

// zypperInfo is the output of `zypper info` for packages.
type zypperInfo struct {
	versions map[string]string // by name
	name     string            // package of the current lines
}

// line reads one line:
//
//	Information for package demo:
//	-----------------------------
//	Repository     : updates
//	Version        : 2.0-1
func (i *zypperInfo) line(line string) {
	if name, ok := strings.CutPrefix(line, "Information for package "); ok {
		i.name = strings.TrimSuffix(name, ":")
		return
	}
	key, value, ok := strings.Cut(line, ":")
	if ok && i.name != "" && strings.TrimSpace(key) == "Version" && len(i.versions) < maxConsequences {
		i.versions[i.name] = strings.TrimSpace(value)
		i.name = ""
	}
}
