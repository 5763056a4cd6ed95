package main

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
)

// The folder, user and group of the examples. Scripts replace them with the host's folder and the user and group of the
// test.
const (
	docFolder = "/srv/demo"
	docOwner  = "app"
)

// docData are the files that the tables of results of a page are worked out with:
// the first ones of these names.
var docData = map[string]string{"data.yaml": " -e @data.yaml", "facts.yaml": " --facts facts.yaml"}

// A docScript is the script of one section, while it is written:
//
//   - A block with a label that is a relative path is a file of the folder. A block whose label is a path on the
//     host is the expected content of that file.
//   - YAML without a label is site.yaml, or its resources. It is validated and applied; if a block without a
//     language follows, it is refused with that text. A site.yaml with a label is run in the same way unless the
//     section has commands.
//   - Commands are run unchanged; a block without a language after them is their expected output. "exit status N"
//     in a comment after a command is its expected status.
type docScript struct {
	t       *testing.T
	page    string
	files   []txtar.File
	script  strings.Builder
	pending bool // a site.yaml has not been run yet
	n       int  // names files
}

// write returns the script of a section; nil if the section has no commands or files to run.
func (s *docScript) write(section docSection, data []docBlock) []byte {
	s.line("sshhost web1")
	if s.page == "guide/nats.md" {
		s.line("natsserver")
	}
	s.line("inventory %s", s.add("inventory.yaml", "all: {hosts: {web1: {}}}\n"))
	commands := false
	for i, b := range section.blocks {
		commands = commands || b.lang == "sh"
		if i+1 < len(section.blocks) && section.blocks[i+1].isOutput() {
			s.block(b, &section.blocks[i+1])
		} else if !b.isOutput() {
			s.block(b, nil)
		}
	}
	if s.pending && !commands {
		s.run("site.yaml")
	}
	for _, table := range section.tables {
		s.table(table, data)
	}
	if len(section.blocks)+len(section.tables) == 0 {
		return nil
	}
	return txtar.Format(&txtar.Archive{Comment: []byte(s.script.String()), Files: s.files})
}

func (b docBlock) isOutput() bool { return b.lang == "" && b.label == "" }

func (s *docScript) add(name, text string) string {
	s.files = append(s.files, txtar.File{Name: name, Data: []byte(text)})
	return name
}

// wanted adds a file that something is compared with.
func (s *docScript) wanted(text string) string {
	s.n++
	return s.add(fmt.Sprintf("want/%d", s.n), text)
}

func (s *docScript) line(format string, args ...any) { fmt.Fprintf(&s.script, format+"\n", args...) }

// block adds what a block means; output is the block that it prints, or nil.
func (s *docScript) block(b docBlock, output *docBlock) {
	switch {
	case b.lang == "sh":
		s.commands(b, output)
	case b.label == "" && b.lang == "yaml":
		s.example(b, output)
	case output != nil:
		require.Fail(s.t, "a block without a language follows what prints nothing", "%s:%d", s.page, output.line)
	case path.IsAbs(b.label):
		if s.pending {
			s.run("site.yaml")
		}
		s.line("cmp $WORK/web1%s %s", strings.TrimPrefix(b.label, docFolder), s.wanted(b.text))
	case b.label == "hosts.yaml":
		s.line("inventory %s", s.wanted(b.text))
	case b.label != "":
		s.add(b.label, b.text)
		s.pending = s.pending || b.label == "site.yaml"
	default:
		require.Fail(s.t, "a block needs a label or a language", "%s:%d", s.page, b.line)
	}
}

// aList matches the resources of a manifest without the rest of it.
var aList = regexp.MustCompile(`^(#.*\n)*- (file|exec):`)

// example adds a manifest that is valid and runs, or is refused.
func (s *docScript) example(b docBlock, output *docBlock) {
	text := b.text
	if aList.MatchString(text) {
		text = "ccm:\n  resources:\n    " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    ") + "\n"
	}
	s.n++
	s.line("cp %s site.yaml", s.add(fmt.Sprintf("example/%d", s.n), text))
	if output == nil {
		s.run("site.yaml")
		return
	}
	s.line("prints 1 %s 'ccm-push validate site.yaml'", s.wanted(output.text))
}

// run validates and applies a manifest.
func (s *docScript) run(name string) {
	s.line("ccm-push validate %s", name)
	s.line("ccm-push -i hosts.yaml %s", name)
	s.pending = false
}

// extraProgram matches a program in an example that a small system lacks.
var extraProgram = regexp.MustCompile(`\b(ssh-keygen|uptime)\b`)

var exitComment = regexp.MustCompile(`# exit status (\d+)$`)

// commands adds the lines of a block.
func (s *docScript) commands(b docBlock, output *docBlock) {
	want := ""
	lines := strings.Split(strings.TrimSpace(b.text), "\n")
	for i, line := range lines {
		status := "0"
		if m := exitComment.FindStringSubmatch(line); m != nil {
			status = m[1]
		}
		if output != nil && i == len(lines)-1 {
			want = s.wanted(output.text)
		}
		for _, program := range extraProgram.FindAllString(line, -1) {
			s.line("needs %s", program)
		}
		line = strings.ReplaceAll(line, docFolder, "$WORK/web1") // for the shell, which knows it
		s.line("prints %s '%s' '%s'", status, want, strings.ReplaceAll(line, "'", "''"))
	}
	s.pending = false
}

// table adds a manifest that writes one file for each row.
func (s *docScript) table(table docTable, data []docBlock) {
	require.NotEmpty(s.t, table.rows, "%s:%d", s.page, table.line)
	flags := ""
	for _, b := range data {
		flags += docData[b.label]
		s.add(b.label, b.text)
	}
	manifest := "ccm:\n  resources:\n    - file:\n        - defaults: {owner: app, group: app, mode: \"0644\"}\n"
	var compare strings.Builder
	for i, row := range table.rows {
		content := row[0]
		switch table.language {
		case "expression":
			content = "{{ " + content + " }}"
		case "text":
		case "Jet":
			content = fmt.Sprintf(`{{ jet("%s") }}`, s.add(fmt.Sprintf("%d.jet", i), row[0]+"\n"))
		case "Go template":
			content = fmt.Sprintf(`{{ template("%s") }}`, s.add(fmt.Sprintf("%d.gotmpl", i), row[0]+"\n"))
		case "Jinja":
			content = fmt.Sprintf(`{{ template("%s") }}`, s.add(fmt.Sprintf("%d.j2", i), row[0]+"\n"))
		default:
			require.Fail(s.t, "no such language", "%s:%d: %s", s.page, table.line, table.language)
		}
		manifest += fmt.Sprintf("        - %s/%d:\n            content: |\n              %s\n", docFolder, i, content)
		want := row[1] + "\n"
		if table.language != "expression" && table.language != "text" {
			want += "\n" // of the template file and of the text around
		}
		fmt.Fprintf(&compare, "cmp web1/%d %s\n", i, s.wanted(want))
	}
	s.line("ccm-push -i hosts.yaml%s %s", flags, s.add(fmt.Sprintf("table%d.yaml", table.line), manifest))
	s.script.WriteString(compare.String())
}
